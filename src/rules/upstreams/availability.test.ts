import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LATENCY_COUNTS } from '../billing/usage-counts.ts'
import {
  availabilityNow,
  availabilityOfDay,
  failureRateOf,
  incidentsIn,
  overallOf,
  ratesOf,
  SLOT_MS,
  spansAt,
  type Measured,
  type Slot,
} from './availability.ts'

const NOW = new Date('2026-11-14T09:47:00Z')

/** With several publishers, unless told otherwise. */
function measured(calls: number, failures: number, more: Partial<Measured> = {}): Measured {
  return { calls, failures, callers: 0b111n, failedFor: failures > 0 ? 0b11n : 0n, ...more }
}

test('a rate is told from 20 calls on', () => {
  assert.equal(failureRateOf(measured(19, 19)), null)
  assert.equal(failureRateOf(measured(20, 5)), 0.25)
})

test('failures that one of several publishers saw are not told: they may come from what it asks for', () => {
  assert.equal(failureRateOf(measured(100, 90, { failedFor: 0b100n })), null)
  assert.equal(availabilityNow(measured(100, 90, { failedFor: 0b100n }), measured(0, 0)), 'up')
  assert.equal(failureRateOf(measured(100, 90, { failedFor: 0b110n })), 0.9)
  assert.equal(failureRateOf(measured(100, 90, { callers: 0b100n, failedFor: 0b100n })), 0.9, 'nobody else called')
  assert.equal(
    failureRateOf(measured(100, 90, { callers: -1n, failedFor: -(2n ** 63n) })),
    null,
    'the highest bit is one',
  )
})

test('times are told from 20 timed calls on', () => {
  const histogram = (count: number) => Array.from({ length: LATENCY_COUNTS }, (_, n) => (n === 10 ? count : 0))
  assert.equal(ratesOf(measured(100, 0), histogram(19)).firstTokenMs, null)
  const { firstTokenMs } = ratesOf(measured(100, 0), histogram(20))
  assert.ok(firstTokenMs && firstTokenMs.p50 > 150 && firstTokenMs.p50 < firstTokenMs.p95 && firstTokenMs.p95 < 260)
})

test('what a model does now is judged by the newest calls, and by the last hour when those are too few', () => {
  const fine = measured(500, 0)
  assert.equal(availabilityNow(measured(40, 30), fine), 'down')
  assert.equal(availabilityNow(measured(40, 4), fine), 'degraded')
  assert.equal(availabilityNow(measured(40, 3), fine), 'up')
  assert.equal(availabilityNow(measured(19, 19), fine), 'up')
  assert.equal(availabilityNow(measured(5, 5), measured(19, 5)), 'few')
})

test('a day is judged more strictly: an hour without answers is 4% of it', () => {
  assert.deepEqual(
    [measured(1_000, 29), measured(1_000, 30), measured(1_000, 250), measured(19, 19)].map(availabilityOfDay),
    ['up', 'degraded', 'down', 'few'],
  )
})

test('all together is as bad as the worst, and unknown when nobody has counted lately', () => {
  assert.equal(overallOf(['up', 'few', 'degraded', 'down'], true), 'down')
  assert.equal(overallOf(['up', 'few', 'degraded'], true), 'degraded')
  assert.equal(overallOf(['up', 'few'], true), 'up')
  assert.equal(overallOf(['few'], true), 'few')
  assert.equal(overallOf(['up'], false), 'unknown')
})

test('the last hour begins with a slot and is an hour at least', () => {
  assert.deepEqual(spansAt(NOW), {
    newest: new Date('2026-11-14T09:30:00Z'),
    hour: new Date('2026-11-14T08:40:00Z'),
    day: new Date('2026-11-13T09:40:00Z'),
  })
})

function slot(name: string, slotsAgo: number, calls: number, failures: number, more: Partial<Measured> = {}): Slot {
  const startsAt = new Date(Math.floor(NOW.getTime() / SLOT_MS) * SLOT_MS - slotsAgo * SLOT_MS)
  return { kind: 'model', name, startsAt, ...measured(calls, failures, more) }
}

test('neighbouring slots in trouble are one incident, with at most one quiet slot in between', () => {
  const slots = [slot('a', 30, 100, 20), slot('a', 28, 100, 60), slot('a', 27, 100, 10), slot('a', 24, 100, 10)]
  const [second, first, ...others] = incidentsIn(slots, NOW)
  assert.deepEqual(others, [])
  assert.deepEqual(first, {
    kind: 'model',
    name: 'a',
    from: slots[0]?.startsAt,
    to: slot('a', 26, 0, 0).startsAt,
    availability: 'down',
    failureRate: 0.3,
  })
  assert.equal(second?.availability, 'degraded')
})

test('an incident goes on while its last slot is the current one or the one before', () => {
  assert.equal(incidentsIn([slot('a', 1, 100, 20)], NOW)[0]?.to, null)
  assert.notEqual(incidentsIn([slot('a', 2, 100, 20)], NOW)[0]?.to, null)
})

test('no incident comes from few calls, from few failures, or from what one of several publishers saw', () => {
  const own = { failedFor: 0b1n }
  assert.deepEqual(incidentsIn([slot('a', 5, 19, 19), slot('a', 9, 100, 9), slot('a', 14, 100, 90, own)], NOW), [])
})
