import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { UNLIMITED, hasRoom, withOneLess, withOneMore, type Concurrency } from './concurrency.ts'

function withMore(count: number, concurrency: Concurrency = UNLIMITED): Concurrency {
  return count === 0 ? concurrency : withMore(count - 1, withOneMore(concurrency))
}

/** `count` calls, one after the other, with `busy` others under way. */
function successes(count: number, concurrency: Concurrency): Concurrency {
  return Array.from({ length: count }).reduce<Concurrency>(
    (current) => withOneLess(withOneMore(current), 'success', current.cuts),
    concurrency,
  )
}

/** Limited to 7 with 6 under way: the next one uses it up. */
const USED_UP = { ...withOneLess(withMore(10), 'overload', 0), inFlight: 6 }

test('there is no limit until the provider says that there are too many', () => {
  const many = withMore(5_000)
  assert.equal(hasRoom(many), true)
  assert.equal(hasRoom(withOneLess(many, 'other', 0)), true)
})

test('a refusal for load cuts the limit to seven tenths of what is under way, and never below four', () => {
  assert.equal(withOneLess(withMore(100), 'overload', 0).limit, 70)
  assert.equal(withOneLess(withMore(9), 'overload', 0).limit, 6)
  assert.equal(withOneLess(withMore(1), 'overload', 0).limit, 4)
})

test('no more than the limit are let in', () => {
  assert.equal(hasRoom(USED_UP), true)
  assert.equal(hasRoom(withOneMore(USED_UP)), false)
})

test('a crowd that is refused together cuts the limit once, and a call from after the cut cuts it again', () => {
  let crowd = withMore(200)
  for (let n = 0; n < 200; n++) crowd = withOneLess(crowd, 'overload', 0)
  assert.deepEqual([crowd.limit, crowd.inFlight], [140, 0])
  const next = withMore(20, crowd)
  assert.equal(withOneLess(next, 'overload', next.cuts).limit, 14)
})

test('a refusal never raises the limit', () => {
  const few = { ...USED_UP, limit: 5, inFlight: 90 }
  assert.equal(withOneLess(few, 'overload', few.cuts).limit, 5)
})

test('20 successes raise a limit that is used up by one', () => {
  assert.equal(successes(19, USED_UP).limit, 7)
  assert.equal(successes(20, USED_UP).limit, 8)
})

test('a limit that nobody reaches does not grow', () => {
  assert.equal(successes(1_000, { ...USED_UP, inFlight: 3 }).limit, 7)
  // Grown to 8 with 6 others under way it is not used up any more.
  assert.equal(successes(1_000, USED_UP).limit, 8)
})

test('only successes count', () => {
  const other = Array.from({ length: 100 }).reduce<Concurrency>(
    (current) => withOneLess(withOneMore(current), 'other', current.cuts),
    USED_UP,
  )
  assert.equal(other.limit, 7)
})

test('a limit that has grown to a thousand is none', () => {
  const wide = { ...USED_UP, limit: 999, inFlight: 998 }
  assert.equal(successes(20, wide).limit, Number.POSITIVE_INFINITY)
})

test('whatever happens in whatever order, nothing is under way in the end, and the limit is at least four', () => {
  const step = fc.record({
    isStart: fc.boolean(),
    which: fc.nat(),
    end: fc.constantFrom('success' as const, 'overload' as const, 'other' as const),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      let concurrency: Concurrency = UNLIMITED
      const running: number[] = []
      for (const { isStart, which, end } of steps) {
        if (isStart && hasRoom(concurrency)) {
          running.push(concurrency.cuts)
          concurrency = withOneMore(concurrency)
        } else if (running.length > 0) {
          const [cuts = 0] = running.splice(which % running.length, 1)
          concurrency = withOneLess(concurrency, end, cuts)
        }
        assert.equal(concurrency.inFlight, running.length)
        assert.ok(concurrency.limit >= 4)
      }
      for (const cuts of running) concurrency = withOneLess(concurrency, 'other', cuts)
      assert.equal(concurrency.inFlight, 0)
    }),
  )
})
