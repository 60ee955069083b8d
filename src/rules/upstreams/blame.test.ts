import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BLAME, countsForAll, isSilenceAskedFor } from './blame.ts'

function kindsOf(blame: string): string[] {
  return Object.entries(BLAME).flatMap(([kind, of]) => (of === blame ? [kind] : []))
}

test('only what fails before anything was sent is nobody’s doing, and counts for everybody at once', () => {
  assert.deepEqual(kindsOf('everybody'), ['refused', 'dns', 'connect_timeout', 'tls'])
})

test('a key, a request, what a model did, a slow reader and an answer as large as it was asked for say nothing of a provider', () => {
  const harmless = ['rate_limited', 'key_rejected', 'rejected', 'model_failed', 'event_too_big', 'reader_stalled']
  assert.deepEqual(kindsOf('nobody'), harmless)
})

test('what one publisher may have caused counts for everybody only as a probe, after another publisher’s has failed', () => {
  assert.equal(countsForAll('everybody', undefined), true)
  assert.equal(countsForAll('nobody', { publisherId: 'a', lastFailedOf: 'b' }), false)
  assert.equal(countsForAll('one', undefined), false)
  assert.equal(countsForAll('one', { publisherId: 'a', lastFailedOf: undefined }), false)
  assert.equal(countsForAll('one', { publisherId: 'a', lastFailedOf: 'a' }), false)
  assert.equal(countsForAll('one', { publisherId: 'a', lastFailedOf: 'b' }), true)
})

test('silence is asked for by an effort, and nothing else is', () => {
  for (const kind of ['first_token_timeout', 'total_timeout'] as const) {
    assert.equal(isSilenceAskedFor(kind, 'low'), true)
    assert.equal(isSilenceAskedFor(kind, 'none'), false)
    assert.equal(isSilenceAskedFor(kind), false)
  }
  for (const kind of ['connect_timeout', 'idle_timeout', 'server_error'] as const)
    assert.equal(isSilenceAskedFor(kind, 'max'), false)
})
