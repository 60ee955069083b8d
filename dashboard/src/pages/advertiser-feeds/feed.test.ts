import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standingOf, type Feed } from './feed.ts'

const SOURCE = { isPaused: false, nextFetchAt: '2026-11-19T05:00:00.000Z', lastFetch: 'published', problem: null }

function standing(feed: object, source?: object): string {
  const whole = { publishedAt: '2026-11-19T04:00:00.000Z', isOutdated: false, ...feed }
  return standingOf({ ...whole, source: source ? { ...SOURCE, ...source } : null } as unknown as Feed).word
}

test('a feed stands as its last file does, and what keeps it from being fetched comes first', () => {
  assert.equal(standing({}, {}), 'Up to date')
  assert.equal(standing({}, { lastFetch: 'unchanged' }), 'Up to date')
  assert.equal(standing({}, { lastFetch: 'failed' }), 'Failed')
  assert.equal(standing({}, { lastFetch: 'refused' }), 'Not published')
  assert.equal(standing({}, { lastFetch: 'failed', isPaused: true }), 'Paused')
  assert.equal(standing({ publishedAt: null, isOutdated: true }, { lastFetch: null }), 'Waiting')
  assert.equal(standing({ publishedAt: null, isOutdated: true }, { lastFetch: null, nextFetchAt: null }), 'Waiting')
  assert.equal(standing({ isOutdated: true }, {}), 'Too old')
})

test('a feed whose files are uploaded is published, too old, or neither', () => {
  assert.equal(standing({}), 'Published')
  assert.equal(standing({ isOutdated: true }), 'Too old')
  assert.equal(standing({ publishedAt: null, isOutdated: true }), 'Nothing published')
})

test('what went wrong is said in words', () => {
  const source = { ...SOURCE, lastFetch: 'failed', problem: 'Its server answered with status 404.' }
  const feed = { publishedAt: null, isOutdated: true, source } as unknown as Feed
  assert.equal(standingOf(feed).more, 'Its server answered with status 404.')
})
