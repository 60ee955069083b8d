import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rateOf, spend, takeToken, waitUntilPaid, type Bucket } from './token-bucket.ts'

function passesOf(count: number, at: (n: number) => number, perSecond: number): number {
  let bucket: Bucket | undefined
  let passes = 0
  for (let n = 0; n < count; n++) {
    const taken = takeToken(bucket, rateOf(perSecond), at(n))
    bucket = taken.bucket
    if (taken.waitMs === 0) passes += 1
  }
  return passes
}

test('ten seconds of requests pass at once, and from then on as many a second as the rate says', () => {
  assert.equal(
    passesOf(1_000, () => 0, 5),
    50,
  )
  // 100 requests a second, for 20 seconds.
  assert.equal(
    passesOf(2_000, (n) => n * 10, 5),
    50 + 99,
  )
})

test('who keeps below the rate is never refused, however long', () => {
  assert.equal(
    passesOf(10_000, (n) => n * 201, 5),
    10_000,
  )
})

test('what was not used is saved for ten seconds and no longer', () => {
  const { bucket } = takeToken(undefined, rateOf(5), 0)
  const day = 86_400_000
  assert.equal(takeToken(bucket, rateOf(5), day).bucket.tokens, 49)
})

test('who is refused is told when the next request passes', () => {
  const rate = rateOf(2)
  const { bucket, waitMs } = takeToken({ tokens: 0.5, atMs: 1_000 }, rate, 1_000)
  assert.equal(waitMs, 250)
  assert.ok(takeToken(bucket, rate, 1_249).waitMs > 0)
  assert.equal(takeToken(bucket, rate, 1_250).waitMs, 0)
})

test('what is known only afterwards may exceed what is left, and is paid off before anything else', () => {
  const rate = rateOf(200)
  const afterLittle = spend(undefined, rate, 1_999, 0)
  assert.equal(waitUntilPaid(afterLittle, rate, 0), 0)
  const afterMuch = spend(afterLittle, rate, 101, 0)
  assert.equal(waitUntilPaid(afterMuch, rate, 0), 500)
  assert.equal(waitUntilPaid(afterMuch, rate, 500), 0)
  assert.equal(waitUntilPaid(undefined, rate, 0), 0)
})
