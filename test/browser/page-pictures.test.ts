import assert from 'node:assert/strict'
import { after, before, describe, test, type TestContext } from 'node:test'
import { placed, registeredPages, routedPages } from './support/every-page.ts'
import { openCamera, picturesBeside, STANDS, type Camera } from './support/page-picture.ts'
import { VARIANTS } from './support/page-refusals.ts'
import { ADVERTISER_OF_MINE, CALL, CONVERSATION, FEED, PROJECT, PUBLISHER, UPLOAD } from './support/replies/ids.ts'

/**
 * Pictures of everything that each page shows and asks for, as it was read and found right once. When a change is meant, look
 * at what `--test-update-snapshots` makes of the file beside this one.
 */

let camera: Camera
before(async () => {
  camera = await openCamera()
})
after(() => camera.close())

const PLACES = {
  project: PROJECT,
  publisher: PUBLISHER,
  advertiser: ADVERTISER_OF_MINE,
  feed: FEED,
  upload: UPLOAD,
  call: CALL,
  conversation: CONVERSATION,
}
const PAGES = [
  ...(await registeredPages()),
  ...(await routedPages('signPages')),
  ...(await routedPages('focusedPages')),
]

describe('the picture of', { concurrency: STANDS }, () => {
  for (const pattern of PAGES) {
    test(`the page ${pattern}`, (t: TestContext) =>
      camera.take(t, {
        path: placed(pattern, PLACES),
        isWhole: ['/projects/$project', '/advertisers/$advertiser'].includes(pattern),
      }))
  }
  for (const [title, scene] of Object.entries(VARIANTS)) test(title, (t: TestContext) => camera.take(t, scene))
})

test('there is no picture that is not looked at', () =>
  assert.equal(picturesBeside(import.meta.filename), PAGES.length + Object.keys(VARIANTS).length))
