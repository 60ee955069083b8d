import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR_MS } from '../durations.ts'
import { NANOS_PER_CREDIT } from '../money.ts'
import {
  afterChange,
  afterDecline,
  declineInWords,
  fitsInMonth,
  isResting,
  leftOfMonth,
  NO_DECLINES,
  problemOf,
  type SettingsChange,
} from './auto-top-ups.ts'

const dollars = (amount: number) => BigInt(amount) * NANOS_PER_CREDIT

test('a top-up fits in its month up to the last cent of the cap, and not one cent beyond', () => {
  const settings = { amount: dollars(25), monthMax: dollars(100) }
  assert.equal(fitsInMonth(settings, 0n), true)
  assert.equal(fitsInMonth(settings, dollars(75)), true)
  assert.equal(fitsInMonth(settings, dollars(75) + 10_000_000n), false)
  assert.equal(fitsInMonth(settings, dollars(100)), false)
})

test('what is left of a month is never below nothing', () => {
  assert.equal(leftOfMonth(dollars(100), dollars(75)), dollars(25))
  assert.equal(leftOfMonth(dollars(50), dollars(75)), 0n)
})

test('after a decline the next try waits an hour, then twelve; after the third in a row there is none', () => {
  const now = new Date('2026-03-01T00:00:00Z')
  const later = (hours: number) => new Date(now.getTime() + hours * HOUR_MS)
  assert.deepEqual(afterDecline(0, now), { declines: 1, nextTryAt: later(1), pausedAt: null })
  assert.deepEqual(afterDecline(1, now), { declines: 2, nextTryAt: later(12), pausedAt: null })
  assert.deepEqual(afterDecline(2, now), { declines: 3, nextTryAt: null, pausedAt: now })
  assert.deepEqual(afterDecline(3, now), { declines: 4, nextTryAt: null, pausedAt: now })
})

test('after a decline, changed settings and resuming bring a try five times a day, the same settings none, another card always', () => {
  const chosen = { threshold: dollars(10), amount: dollars(25), monthMax: dollars(100) }
  const now = new Date('2026-03-01T00:00:00Z')
  const resting = { ...chosen, ...afterDecline(0, now) }
  const paused = { ...chosen, ...afterDecline(2, now) }
  const more = { ...chosen, monthMax: dollars(200) }
  const after = (change: Partial<SettingsChange>) =>
    afterChange({ before: resting, chosen, wasDeclined: true, freshStarts: 0, ...change })
  const anew = { standing: NO_DECLINES, isFreshStart: true }
  assert.deepEqual(after({}), { standing: resting, isFreshStart: false })
  assert.deepEqual(after({ wasDeclined: false, freshStarts: 5 }), { standing: NO_DECLINES, isFreshStart: false })
  assert.deepEqual(after({ chosen: more, freshStarts: 4 }), anew)
  assert.deepEqual(after({ chosen: more, freshStarts: 5 }), { standing: resting, isFreshStart: false })
  assert.partialDeepStrictEqual(after({ before: paused }), {
    standing: { declines: 3, nextTryAt: null, pausedAt: null },
    isFreshStart: true,
  })
  assert.equal(after({ before: paused, freshStarts: 5 }), undefined)
  assert.deepEqual(after({ before: undefined, freshStarts: 4 }), anew)
  assert.equal(after({ before: undefined, freshStarts: 5 }), undefined)
})

test('nothing is charged before the next try, and nothing at all while it is paused', () => {
  const now = new Date('2026-03-01T00:00:00Z')
  const standing = { declines: 1, nextTryAt: null, pausedAt: null }
  assert.equal(isResting(standing, now), false)
  assert.equal(isResting({ ...standing, nextTryAt: now }, now), false)
  assert.equal(isResting({ ...standing, nextTryAt: new Date(now.getTime() + 1) }, now), true)
  assert.equal(isResting({ ...standing, pausedAt: now }, now), true)
})

test('settings are what can be paid: whole cents within the limits of a top-up, and a cap that has room for one', () => {
  const settings = { threshold: dollars(10), amount: dollars(25), monthMax: dollars(100) }
  assert.equal(problemOf(settings), undefined)
  assert.equal(problemOf({ ...settings, monthMax: dollars(25) }), undefined)
  for (const [change, field] of [
    [{ threshold: 0n }, 'threshold'],
    [{ threshold: dollars(10_001) }, 'threshold'],
    [{ amount: dollars(5) - 10_000_000n }, 'amount'],
    [{ amount: dollars(25) + 1n }, 'amount'],
    [{ amount: dollars(10_001) }, 'amount'],
    [{ monthMax: dollars(25) - 10_000_000n }, 'monthMax'],
    [{ monthMax: dollars(100_001) }, 'monthMax'],
  ] as const)
    assert.equal(problemOf({ ...settings, ...change })?.field, field)
})

test('a decline is told in words: the narrower code first, and nothing of why a bank distrusts a card', () => {
  assert.equal(declineInWords('insufficient_funds', 'card_declined'), 'The card has insufficient funds.')
  assert.equal(declineInWords(undefined, 'expired_card'), 'The card has expired.')
  assert.match(declineInWords('authentication_required', 'card_declined'), /^Your bank wants you to confirm/)
  for (const code of ['stolen_card', 'fraudulent', 'generic_decline', 'toString', null])
    assert.equal(declineInWords(code, 'card_declined'), 'The bank declined the card.')
})
