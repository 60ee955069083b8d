import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChanceCounter } from './chance-counter.ts'

test('a campaign is counted in the share of the conversations in which it took part, and parts are added up', () => {
  const counter = createChanceCounter()
  const present = [
    { id: 'always', share: 1 },
    { id: 'paced', share: 0.25 },
  ]
  for (let n = 0; n < 3; n++) counter.note({ fitted: ['always'], contended: n > 0 ? ['always'] : [], won: undefined })
  assert.deepEqual(counter.take(present), [{ campaignId: 'always', open: 3n, fitted: 3n, contended: 2n, won: 0n }])
  counter.note({ fitted: ['paced'], contended: ['paced'], won: 'paced' })
  assert.deepEqual(
    counter.take(present).toSorted((a, b) => (a.campaignId < b.campaignId ? -1 : 1)),
    [
      { campaignId: 'always', open: 1n, fitted: 0n, contended: 0n, won: 0n },
      { campaignId: 'paced', open: 1n, fitted: 1n, contended: 1n, won: 1n },
    ],
  )
  assert.deepEqual(counter.take(present), [], 'nothing is counted twice')
})

test('what could not be written counts with the next', () => {
  const counter = createChanceCounter()
  counter.note({ fitted: ['one'], contended: [], won: undefined })
  counter.giveBack(counter.take([{ id: 'one', share: 1 }]))
  counter.note({ fitted: ['one'], contended: ['one'], won: 'one' })
  assert.deepEqual(counter.take([{ id: 'one', share: 1 }]), [
    { campaignId: 'one', open: 2n, fitted: 2n, contended: 1n, won: 1n },
  ])
})
