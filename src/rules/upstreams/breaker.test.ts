import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  CLOSED,
  afterBeginning,
  afterCompletion,
  afterFailure,
  afterLeaving,
  passThrough,
  stateOf,
  waitOf,
  type Breaker,
  type Pass,
} from './breaker.ts'

/** One attempt from its start to its end, all at one moment. */
type Happening = 'complete' | 'fails' | 'breaks' | 'left'

function enter(breaker: Breaker, nowMs: number, isOnly = false): [Breaker, Pass] {
  const entered = passThrough(breaker, nowMs, isOnly)
  assert.ok(entered, 'it lets nobody through')
  return entered
}

function attempt(breaker: Breaker, happening: Happening, nowMs: number, isOnly = false): Breaker {
  const [entered, pass] = enter(breaker, nowMs, isOnly)
  if (happening === 'fails') return afterFailure(entered, pass, false, nowMs)
  if (happening === 'left') return afterLeaving(entered, pass, false)
  const begun = afterBeginning(entered, pass, nowMs)
  return happening === 'complete' ? afterCompletion(begun, pass) : afterFailure(begun, pass, true, nowMs)
}

function after(happenings: readonly Happening[], everyMs = 1_000, breaker = CLOSED): Breaker {
  return happenings.reduce((current, happening, n) => attempt(current, happening, n * everyMs), breaker)
}

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)
const BROKEN = after(times(5, 'fails'), 0)

test('it opens at the fifth failure in a row, and not at the fourth', () => {
  assert.equal(stateOf(after(times(4, 'fails'), 0), 0), 'closed')
  assert.equal(stateOf(BROKEN, 0), 'open')
  assert.equal(passThrough(BROKEN, 0, false), undefined)
})

test('one answer in between starts the count anew', () => {
  const happenings: Happening[] = [...times(4, 'fails' as const), 'complete', ...times(4, 'fails' as const)]
  assert.equal(stateOf(after(happenings), 9_000), 'closed')
})

test('answers that break midway open it as well, although each of them began', () => {
  assert.equal(stateOf(after(times(4, 'breaks')), 4_000), 'closed')
  assert.equal(stateOf(after(times(5, 'breaks')), 4_000), 'open')
})

test('a few failures among long answers that have begun and not ended do not open it', () => {
  let breaker: Breaker = CLOSED
  for (let n = 0; n < 30; n++) {
    const [entered, pass] = enter(breaker, n)
    breaker = n % 5 === 0 ? afterFailure(entered, pass, false, n) : afterBeginning(entered, pass, n)
  }
  assert.equal(stateOf(breaker, 30), 'closed')
})

test('it opens when more than half of at least 20 attempts of the last 10 seconds have failed', () => {
  const half = Array.from({ length: 20 }, (_, n): Happening => (n % 2 === 0 ? 'complete' : 'fails'))
  assert.equal(stateOf(after(half, 400), 8_000), 'closed', 'a half is not more than a half')
  assert.equal(stateOf(after([...half, 'fails'], 400), 8_000), 'open')
  assert.equal(stateOf(after([...half.slice(2), 'fails'], 400), 8_000), 'closed', '19 are too few to judge by')
})

test('what is older than 10 seconds is forgotten', () => {
  const half = Array.from({ length: 20 }, (_, n): Happening => (n % 2 === 0 ? 'complete' : 'fails'))
  const before = after(half, 0)
  assert.equal(stateOf(attempt(before, 'fails', 9_999), 9_999), 'open')
  assert.equal(stateOf(attempt(before, 'fails', 10_000), 10_000), 'closed')
})

test('callers who leave count neither way', () => {
  assert.equal(stateOf(after(times(50, 'left')), 0), 'closed')
  assert.equal(stateOf(after([...times(4, 'fails' as const), 'left', 'fails'], 0), 0), 'open')
})

test('after 15 seconds one probe is let through, and nobody else while it is under way', () => {
  assert.equal(passThrough(BROKEN, 14_999, false), undefined)
  assert.equal(waitOf(BROKEN, 5_000), 10_000)
  assert.equal(stateOf(BROKEN, 15_000), 'half_open')
  const [probed, pass] = enter(BROKEN, 15_000)
  assert.equal(pass.isProbe, true)
  assert.equal(passThrough(probed, 15_000, false), undefined)
  assert.equal(passThrough(probed, 99_000, false), undefined)
  assert.ok(waitOf(probed, 15_000) > 0)
})

test('a probe that answers closes it, and what was counted before is forgotten', () => {
  const closed = attempt(BROKEN, 'complete', 15_000)
  assert.equal(stateOf(closed, 15_000), 'closed')
  assert.equal(stateOf(after(times(4, 'fails'), 0, closed), 0), 'closed')
})

test('a probe lets the next one in when its answer begins, and closes only when an answer is complete', () => {
  const [probed, first] = enter(BROKEN, 15_000)
  const begun = afterBeginning(probed, first, 15_100)
  assert.equal(stateOf(begun, 15_100), 'half_open')
  const [again, second] = enter(begun, 15_100)
  assert.equal(stateOf(afterCompletion(again, first), 16_000), 'closed')
  assert.equal(stateOf(afterFailure(again, second, false, 16_000), 16_000), 'open')
  // The first has given its place to the second, and must not give it away once more.
  assert.equal(passThrough(afterLeaving(again, first, true), 16_000, false), undefined)
})

test('a caller who hangs up while probing makes room for the next probe', () => {
  const left = attempt(BROKEN, 'left', 15_000)
  assert.equal(stateOf(left, 15_000), 'half_open')
  assert.ok(passThrough(left, 15_000, false))
})

test('each failed probe keeps it open 15 seconds longer than the last, up to 5 minutes', () => {
  let breaker = BROKEN
  let nowMs = 0
  const waits: number[] = []
  for (let n = 0; n < 25; n++) {
    waits.push(waitOf(breaker, nowMs))
    nowMs += waitOf(breaker, nowMs)
    breaker = attempt(breaker, n % 2 === 0 ? 'fails' : 'breaks', nowMs)
  }
  assert.deepEqual(waits.slice(0, 3), [15_000, 30_000, 45_000])
  assert.deepEqual(waits.slice(19, 22), [300_000, 300_000, 300_000])
  const closed = attempt(breaker, 'complete', nowMs + 300_000)
  assert.equal(waitOf(after(times(5, 'fails'), 0, closed), 0), 15_000, 'closing forgets how often it had opened')
})

test('calls from before it opened or closed change nothing', () => {
  const [, pass] = enter(CLOSED, 0)
  for (const late of [
    afterFailure(BROKEN, pass, false, 20_000),
    afterFailure(BROKEN, pass, true, 20_000),
    afterCompletion(BROKEN, pass),
    afterBeginning(BROKEN, pass, 20_000),
    afterLeaving(BROKEN, pass, false),
  ])
    assert.equal(late, BROKEN)
  const closed = attempt(BROKEN, 'complete', 15_000)
  assert.equal(
    times(9, 0).reduce((breaker) => afterFailure(breaker, pass, false, 15_000), closed),
    closed,
  )
})

test('an only deployment is probed at any time, by one call after another', () => {
  const [probed, pass] = enter(BROKEN, 1, true)
  assert.equal(passThrough(probed, 1, true), undefined)
  const failed = afterFailure(probed, pass, false, 1_000)
  assert.equal(waitOf(failed, 1_000), 14_000, 'others wait no longer because of it')
  assert.ok(passThrough(failed, 1_000, true))
  assert.equal(stateOf(attempt(failed, 'complete', 1_000, true), 1_000), 'closed')
})
