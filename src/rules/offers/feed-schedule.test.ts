import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../durations.ts'
import { feedUrlOf, fetchWaitMs } from './feed-schedule.ts'

test('a feed is fetched as often as was chosen, and after failures sooner at first and then ever less often, up to a day', () => {
  assert.deepEqual(
    [fetchWaitMs('hourly', 0), fetchWaitMs('6h', 0), fetchWaitMs('daily', 0)],
    [HOUR_MS, 6 * HOUR_MS, DAY_MS],
  )
  const minutes = [1, 2, 3, 4].map((failures) => fetchWaitMs('hourly', failures) / MINUTE_MS)
  assert.deepEqual(minutes, [5, 10, 20, 40])
  assert.equal(fetchWaitMs('hourly', 9), 5 * 256 * MINUTE_MS)
  assert.equal(fetchWaitMs('hourly', 10), DAY_MS)
  assert.equal(fetchWaitMs('daily', 100_000), DAY_MS)
})

test('a feed has an https address without a password in it', () => {
  assert.deepEqual(feedUrlOf(' https://Shop.example/feed.xml?key=1#top '), {
    url: 'https://shop.example/feed.xml?key=1',
  })
  for (const odd of [
    'http://shop.example/feed.xml',
    'ftp://shop.example/feed',
    'file:///etc/passwd',
    'https://me@shop.example/feed',
    'https://me:secret@shop.example/feed',
    'feed.xml',
    '',
    `https://shop.example/${'x'.repeat(2_000)}`,
    `https://${'x.'.repeat(50_000)}example/`,
  ])
    assert.ok('problem' in feedUrlOf(odd), odd.slice(0, 40))
})
