import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEPT_MS } from '../retention.ts'
import { momentsOf, spanBefore, spanOf, type Span } from './usage-spans.ts'

const now = new Date('2026-11-15T10:30:00Z')
const spanAt = (asked: Parameters<typeof spanOf>[0]): Span => {
  const span = spanOf(asked, now)
  assert.ok(typeof span !== 'string')
  return span
}

test('a span is full days or hours, and a last date is part of it', () => {
  const days = spanAt({ from: '2026-11-01', to: '2026-11-14' })
  assert.deepEqual(
    [days.from.toISOString(), days.to.toISOString()],
    ['2026-11-01T00:00:00.000Z', '2026-11-15T00:00:00.000Z'],
  )
  const hours = spanAt({ from: '2026-11-14T10:30:00Z', every: 'hour' })
  assert.equal(hours.from.toISOString(), '2026-11-14T10:00:00.000Z')
  assert.equal(hours.to.toISOString(), '2026-11-15T11:00:00.000Z')
  assert.equal(momentsOf(hours).length, 25)
})

test('the span before has the same length and ends where it begins', () => {
  const span = spanAt({ from: '2026-11-08', to: '2026-11-14' })
  const before = spanBefore(span)
  assert.equal(before.from.toISOString(), '2026-11-01T00:00:00.000Z')
  assert.deepEqual(before.to, span.from)
})

test('a span that is turned around or too long is refused with a sentence', () => {
  assert.match(refusalOf({ from: '2026-11-15', to: '2026-11-01' }), /before the end/)
  assert.match(refusalOf({ from: '2025-01-01' }), /400 days/)
  assert.match(refusalOf({ from: '2026-10-01', every: 'hour' }), /14 days/)
})

test('what is older than the hours that are kept is shown by day, and is refused by hour', () => {
  const [young, old] = ['2026-08-17T10:30:00Z', '2026-08-17T10:29:59Z']
  assert.equal(spanAt({ from: young, to: '2026-08-18' }).every, 'hour')
  assert.equal(spanAt({ from: old, to: '2026-08-18' }).every, 'day')
  assert.match(refusalOf({ from: old, to: '2026-08-18', every: 'hour' }), /the last 90 days/)
  const before = spanBefore(spanAt({ from: young, to: '2026-08-30', every: 'hour' }))
  assert.ok(now.getTime() - before.from.getTime() < KEPT_MS.usageHours, 'what it is compared with is kept, too')
})

function refusalOf(asked: Parameters<typeof spanOf>[0]): string {
  const refusal = spanOf(asked, now)
  assert.ok(typeof refusal === 'string')
  return refusal
}
