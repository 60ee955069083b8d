import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rateHeadersOf, ratesOf, renewalOf, sentenceOfLimit } from './limits.ts'

const TUESDAY = new Date('2026-11-17T10:20:30.500Z')

test('a budget resets at midnight of UTC: tomorrow, on Monday, on the first, or never', () => {
  const at = (iso: string) => new Date(`${iso}T00:00:00.000Z`)
  assert.deepEqual(renewalOf('day', TUESDAY), at('2026-11-18'))
  assert.deepEqual(renewalOf('week', TUESDAY), at('2026-11-23'))
  assert.deepEqual(renewalOf('month', TUESDAY), at('2026-12-01'))
  assert.equal(renewalOf('total', TUESDAY), undefined)
  assert.deepEqual(renewalOf('week', at('2026-11-23')), at('2026-11-30'), 'a Monday is the first day of its week')
  assert.deepEqual(renewalOf('week', new Date('2026-11-22T23:59:59.999Z')), at('2026-11-23'), 'a Sunday is the last')
  assert.deepEqual(renewalOf('month', new Date('2026-12-31T23:59:59.999Z')), at('2027-01-01'))
  assert.deepEqual(renewalOf('day', new Date('2028-02-28T12:00:00.000Z')), at('2028-02-29'))
})

test('a refusal names the limit, whose it is, and when to try again', () => {
  const said = (code: Parameters<typeof sentenceOfLimit>[0], by: string) => sentenceOfLimit(code, by, TUESDAY)
  assert.equal(
    said('budget_used_up', 'key_pair:month'),
    'The monthly budget of this key pair is used up. It resets on 1 December 2026 at 00:00 UTC. Raise it under Limits in the console to continue before then.',
  )
  assert.equal(
    said('budget_used_up', 'end_user:total'),
    'The total budget of this end user is used up. Raise it under Limits in the console to continue.',
  )
  assert.equal(
    said('budget_held', 'project:day'),
    'The rest of the daily budget of the project is held by calls in flight. Retry when they have ended, or raise the budget.',
  )
  assert.equal(
    said('rate_limited', 'publisher:tokens'),
    'The account has reached its limit of tokens per minute. Retry after the stated time.',
  )
  assert.equal(
    said('concurrency_limited', 'end_user:calls'),
    'This end user has reached its limit of concurrent calls. Retry shortly.',
  )
  for (const by of ['', 'moon:day', 'key_pair:year', 'key_pair'])
    assert.equal(said('budget_used_up', by), undefined, by)
})

test('headers tell what the tightest limit leaves, and only where there is one', () => {
  assert.deepEqual(rateHeadersOf(ratesOf(['600', '12', null, null]), TUESDAY), {
    'x-ratelimit-limit-requests': '600',
    'x-ratelimit-remaining-requests': '12',
    'x-ratelimit-reset-requests': '30s',
  })
  assert.deepEqual(Object.keys(rateHeadersOf(ratesOf([null, null, '5000', '0']), TUESDAY)), [
    'x-ratelimit-limit-tokens',
    'x-ratelimit-remaining-tokens',
    'x-ratelimit-reset-tokens',
  ])
  assert.deepEqual(rateHeadersOf(ratesOf(null), TUESDAY), {})
})
