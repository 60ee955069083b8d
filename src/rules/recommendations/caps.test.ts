import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exhaustedAdvertisers, isCapped, isUnknown, turnOf, type History, type Restraint } from './caps.ts'

const SETTINGS = { firstTurn: 1, minTurnGap: 3, maxPerConversation: 3 }
const history = (turns: number, ...recommendedAt: number[]): History => ({
  turns,
  recommended: recommendedAt.map((turn) => ({ turn, id: String(turn) })),
})
const restraint = (changes: Partial<Restraint>): Restraint => ({
  turns: 1,
  isSensitive: false,
  served: 0,
  lastTurn: null,
  ...changes,
})

test('recommendations keep their distance, by what the caller sends back', () => {
  assert.equal(isCapped(history(0), undefined, SETTINGS), false)
  assert.equal(isCapped(history(1, 1), undefined, SETTINGS), true)
  assert.equal(isCapped(history(2, 1), undefined, SETTINGS), true)
  assert.equal(isCapped(history(3, 1), undefined, SETTINGS), false)
  assert.equal(isCapped(history(3, 1, 3), undefined, SETTINGS), true)
})

test('recommendations keep their distance, by what is remembered, when the caller sends only its last words', () => {
  assert.equal(isCapped(history(0), restraint({ turns: 3, served: 1, lastTurn: 1 }), SETTINGS), true)
  assert.equal(isCapped(history(0), restraint({ turns: 4, served: 1, lastTurn: 1 }), SETTINGS), false)
})

test('a turn of the history is measured in the history’s own numbers, also where we remember more turns than it has', () => {
  const remembered = restraint({ turns: 10 })
  assert.equal(isCapped(history(2, 1), remembered, SETTINGS), true)
  assert.equal(isCapped(history(3, 1), remembered, SETTINGS), false)
})

test('there are only so many in a conversation, whoever remembers them', () => {
  assert.equal(isCapped(history(20, 1, 5, 9), undefined, SETTINGS), true)
  assert.equal(isCapped(history(20, 1, 5), undefined, SETTINGS), false)
  assert.equal(isCapped(history(0), restraint({ turns: 30, served: 3, lastTurn: 9 }), SETTINGS), true)
})

test('a publisher can keep the first turns free', () => {
  const later = { ...SETTINGS, firstTurn: 3 }
  assert.equal(isCapped(history(1), undefined, later), true)
  assert.equal(isCapped(history(2), undefined, later), false)
  assert.equal(isCapped(history(0), restraint({ turns: 3 }), later), false)
})

test('a turn has the higher of the two numbers', () => {
  assert.equal(turnOf(history(4), restraint({ turns: 2 })), 5)
  assert.equal(turnOf(history(0), restraint({ turns: 7 })), 7)
})

test('an advertiser has two turns in a conversation', () => {
  assert.deepEqual(exhaustedAdvertisers(['a', 'b', 'a']), ['a'])
  assert.deepEqual(exhaustedAdvertisers(['a', 'b']), [])
})

test('only without an id and without a history is nothing known', () => {
  assert.equal(isUnknown(history(0), false), true)
  assert.equal(isUnknown(history(1), false), false)
  assert.equal(isUnknown(history(0), true), false)
})
