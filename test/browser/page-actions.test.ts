import assert from 'node:assert/strict'
import { after, before, describe, test, type TestContext } from 'node:test'
import { openCamera, picturesBeside, STANDS, type Camera } from './support/page-picture.ts'
import { ADVERTISER_STORIES } from './support/stories/advertiser.ts'
import { ALERT_STORIES } from './support/stories/alerts.ts'
import { ENTRANCE } from './support/stories/entrance.ts'
import { FEED_STORIES } from './support/stories/feeds.ts'
import { LIMIT_STORIES } from './support/stories/limits.ts'
import { MONEY_STORIES } from './support/stories/money.ts'
import { OBSERVING } from './support/stories/observing.ts'
import { PEOPLE } from './support/stories/people.ts'
import { PLAYGROUND } from './support/stories/playground.ts'
import { PROJECT_STORIES } from './support/stories/project.ts'
import { SHELL_STORIES } from './support/stories/shell.ts'

/**
 * Pictures of every form, button, menu and filter: the request that it sends, what is read again afterwards, and what is shown
 * then that was not shown before. When a change is meant, look at what `--test-update-snapshots` makes of the file beside this
 * one.
 */

let camera: Camera
before(async () => {
  camera = await openCamera()
})
after(() => camera.close())

const FILES = [
  ENTRANCE,
  PEOPLE,
  PROJECT_STORIES,
  MONEY_STORIES,
  LIMIT_STORIES,
  OBSERVING,
  SHELL_STORIES,
  PLAYGROUND,
  ALERT_STORIES,
  ADVERTISER_STORIES,
  FEED_STORIES,
]
const STORIES = FILES.flatMap((stories) => Object.entries(stories))

describe('after', { concurrency: STANDS }, () => {
  for (const [title, scene] of STORIES) test(title, (t: TestContext) => camera.take(t, scene))
})

test('no story is lost to another of the same name, and there is no picture that is not looked at', () => {
  assert.equal(new Set(STORIES.map(([title]) => title)).size, STORIES.length)
  assert.equal(picturesBeside(import.meta.filename), STORIES.length)
})
