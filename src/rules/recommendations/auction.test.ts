import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auction, clickRateOf, type Bidder } from './auction.ts'

const ROUNDS = 3_000

/** The same numbers in every run, so that a failure can be looked at. */
function dice(seed: number): (most: number) => number {
  let state = seed
  return (most) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % most
  }
}

function bidderOf(bidNanos: bigint, changes: Partial<Bidder> = {}): Bidder {
  return { id: 'a', bidNanos, fit: 0.5, clicks: 0, serves: 0, quality: 1, ...changes }
}

interface Scene {
  bidders: Bidder[]
  floorNanos: bigint
  roll(most: number): number
}

/** Few values each, so that equal scores, bids at the floor and lone bidders are common. */
function* scenes(): Generator<Scene> {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const roll = dice(seed)
    const bidders = Array.from({ length: 1 + roll(5) }, (_, n) =>
      bidderOf(BigInt(1 + roll(roll(2) === 0 ? 8 : 1_000_000)), {
        id: `offer-${n}`,
        fit: (1 + roll(10)) / 10,
        clicks: roll(3),
        serves: roll(3) * 100,
        quality: (1 + roll(4)) / 2,
      }),
    )
    yield { bidders, floorNanos: BigInt(roll(roll(2) === 0 ? 6 : 500_000)), roll }
  }
}

function withBid(bidders: readonly Bidder[], at: number, bidNanos: bigint): Bidder[] {
  return bidders.map((bidder, n) => (n === at ? { ...bidder, bidNanos } : bidder))
}

/** Returns the value to a bidder of having bid so, in nanos per recommendation. */
function gainOf(bidders: readonly Bidder[], at: number, worth: bigint, floorNanos: bigint): bigint {
  const sale = auction(bidders, floorNanos)
  return sale && sale.winner.id === bidders[at]?.id ? worth - sale.priceNanos : 0n
}

test('a price is at most the own bid, at least the floor, and never nothing', () => {
  let sold = 0
  for (const { bidders, floorNanos } of scenes()) {
    const sale = auction(bidders, floorNanos)
    if (!sale) continue
    sold += 1
    assert.ok(sale.priceNanos <= sale.winner.bidNanos)
    assert.ok(sale.priceNanos >= floorNanos)
    assert.ok(sale.priceNanos > 0n)
  }
  assert.ok(sold > ROUNDS / 3, `${sold} sales`)
})

test('nothing is sold exactly when everybody bids less than the floor', () => {
  for (const { bidders, floorNanos } of scenes()) {
    const isAnyAbove = bidders.some(({ bidNanos }) => bidNanos >= floorNanos)
    assert.equal(auction(bidders, floorNanos) !== undefined, isAnyAbove)
  }
})

test('who wins also wins with any higher bid, for the same price or one nano more', () => {
  for (const { bidders, floorNanos, roll } of scenes()) {
    const sale = auction(bidders, floorNanos)
    if (!sale) continue
    const at = bidders.indexOf(sale.winner)
    const again = auction(withBid(bidders, at, sale.winner.bidNanos + BigInt(1 + roll(1_000))), floorNanos)
    assert.equal(again?.winner.id, sale.winner.id)
    assert.ok(again !== undefined && again.priceNanos - sale.priceNanos <= 1n)
    assert.ok(again.priceNanos >= sale.priceNanos)
  }
})

test('no other bid is better than what a click is worth, by more than the one nano that breaks ties', () => {
  for (const { bidders, floorNanos, roll } of scenes()) {
    const at = roll(bidders.length)
    const worth = bidders[at]?.bidNanos ?? 0n
    const honest = gainOf(bidders, at, worth, floorNanos)
    assert.ok(honest >= 0n)
    const others = [1n, floorNanos, worth - 1n, worth + 1n, worth * 2n, worth / 2n, BigInt(1 + roll(2_000_000))]
    for (const bid of others.filter((other) => other > 0n)) {
      const gain = gainOf(withBid(bidders, at, bid), at, worth, floorNanos)
      assert.ok(gain - honest <= 1n, `a bid of ${bid} instead of ${worth} gains ${gain - honest}`)
    }
  }
})

test('the order in which offers come decides nothing, not even between equals', () => {
  for (const { bidders, floorNanos } of scenes()) {
    assert.deepEqual(auction(bidders.toReversed(), floorNanos), auction(bidders, floorNanos))
  }
  const equals = ['c', 'a', 'b'].map((id) => bidderOf(7n, { id }))
  assert.equal(auction(equals, 0n)?.winner.id, 'a')
})

test('the winner pays what beats the second, for its own expected clicks and quality', () => {
  const first = bidderOf(1_000n, { id: 'first', fit: 1 })
  const second = bidderOf(800n, { id: 'second', fit: 0.5 })
  // Four times the expected clicks: 200 nanos are as good as the other's 800.
  assert.deepEqual(auction([second, first], 0n), { winner: first, priceNanos: 201n })
  const doubtful = { ...first, quality: 0.5 }
  assert.deepEqual(auction([second, doubtful], 0n), { winner: doubtful, priceNanos: 401n })
})

test('a lone bidder pays the floor and a nano', () => {
  assert.equal(auction([bidderOf(1_000n)], 250n)?.priceNanos, 251n)
  assert.equal(auction([bidderOf(1_000n)], 0n)?.priceNanos, 1n)
  assert.equal(auction([bidderOf(250n)], 250n)?.priceNanos, 250n)
})

test('a better fit is never expected to be clicked less, and counts outweigh what is assumed', () => {
  for (let fit = 0; fit < 1; fit += 0.01) {
    const counts = { clicks: 3, serves: 250 }
    assert.ok(clickRateOf({ fit: fit + 0.01, ...counts }) >= clickRateOf({ fit, ...counts }))
  }
  assert.equal(clickRateOf({ fit: 0.5, clicks: 0, serves: 0 }), 0.01)
  const counted = clickRateOf({ fit: 0.5, clicks: 5_000, serves: 100_000 })
  assert.ok(Math.abs(counted - 0.05) < 0.0001)
})
