import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createBrowserWorld, type BrowserWorld } from './support/browser-world.ts'
import { as, checkAll, placed, registeredPages } from './support/every-page.ts'
import { furnish, type Furnished } from './support/furnish.ts'

let world: BrowserWorld
let busy: Furnished
before(async () => {
  world = await createBrowserWorld()
  busy = await furnish(world)
})
after(() => world.close())

test('every page with weeks of data in it is accessible in both themes, wide and on a phone, and nothing moves while it loads', async () => {
  const { person, projectId, conversationId, advertiserId, feedId, uploadId, callId, failedCallId } = busy
  const { publisherId: publisher } = person
  const places = {
    project: projectId,
    publisher,
    advertiser: advertiserId,
    feed: feedId,
    upload: uploadId,
    conversation: conversationId,
    call: callId,
  }
  const pages = await registeredPages()
  assert.equal(pages.length, 35)
  const failed = placed('/projects/$project/calls/$call', { ...places, call: failedCallId })
  await checkAll(world, [...pages.map((page) => placed(page, places)), failed], as(world, person))
})
