import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Message } from './message.ts'
import { isConversationId, keptOf, numberOccurrences } from './conversations.ts'

const KEY = Buffer.alloc(32, 1)

function user(content: string): Message {
  return { role: 'user', content }
}

/** Returns the keys that the store has for messages. */
function keysOf(messages: readonly Message[], key = KEY): string[] {
  return numberOccurrences(messages, key).map(({ digest, occurrence }) => `${digest.toString('hex')}/${occurrence}`)
}

test('a conversation id is 1 to 128 of the allowed characters', () => {
  for (const id of ['a', 'A-z_0.9:~'.replace('~', ''), '018f3a52-7c1e-7000-8000-000000000000', 'x'.repeat(128)]) {
    assert.ok(isConversationId(id), id)
  }
  const wrong = ['', 'x'.repeat(129), 'a b', 'a/b', 'a\n', '\na', 'é', 'a,b', '../a', 'a%20b', '\0', '👍']
  for (const id of wrong) assert.equal(isConversationId(id), false, JSON.stringify(id))
})

test('equal messages are numbered in order, others start anew', () => {
  const seen = numberOccurrences([user('yes'), user('no'), user('yes'), user('yes')], KEY)
  assert.deepEqual(
    seen.map((message) => message.occurrence),
    [1, 1, 2, 3],
  )
  assert.deepEqual(
    seen.map(({ message }) => message.content),
    ['yes', 'no', 'yes', 'yes'],
  )
})

test('the same words from another role, or with other tool calls, are another message', () => {
  const call = { id: '1', type: 'function' as const, function: { name: 'f', arguments: '{}' } }
  const messages: Message[] = [
    user('yes'),
    { role: 'system', content: 'yes' },
    { role: 'assistant', content: 'yes' },
    { role: 'assistant', content: 'yes', tool_calls: [call] },
    { role: 'assistant', content: 'yes', tool_calls: [{ ...call, id: '2' }] },
    { role: 'tool', content: 'yes', tool_call_id: '1' },
    { role: 'tool', content: 'yes', tool_call_id: '2' },
  ]
  assert.equal(new Set(keysOf(messages)).size, messages.length)
})

test('a tool call is the same message with empty, null or no content, as clients differ in how they send it back', () => {
  const tool_calls = [{ id: '1', type: 'function' as const, function: { name: 'f', arguments: '{}' } }]
  const variants: Message[] = [
    { role: 'assistant', content: null, tool_calls },
    { role: 'assistant', content: '', tool_calls },
    { role: 'assistant', tool_calls },
    { tool_calls, role: 'assistant' },
  ]
  assert.equal(new Set(variants.flatMap((message) => keysOf([message]))).size, 1)
})

const histories = fc.array(fc.constantFrom('yes', 'no', 'why?').map(user), { maxLength: 12 })

test('a history that is sent again with one turn more adds exactly that turn', () => {
  fc.assert(
    fc.property(histories, fc.constantFrom('yes', 'no', 'new').map(user), (history, turn) => {
      const before = keysOf(history)
      const after = keysOf([...history, turn])
      assert.equal(new Set(after).size, after.length, 'no two messages of one request share a key')
      assert.deepEqual(after.slice(0, -1), before)
      assert.ok(!before.includes(String(after.at(-1))))
    }),
  )
})

test('a history whose start was cut off adds nothing', () => {
  fc.assert(
    fc.property(histories, fc.nat({ max: 12 }), (history, cut) => {
      const stored = new Set(keysOf(history))
      for (const key of keysOf(history.slice(cut))) assert.ok(stored.has(key))
    }),
  )
})

test('a digest is 16 bytes and reveals nothing without the key', () => {
  const [one] = numberOccurrences([user('yes')], KEY)
  assert.equal(one?.digest.length, 16)
  assert.notDeepEqual(keysOf([user('yes')]), keysOf([user('yes')], Buffer.alloc(32, 2)))
})

test('text is kept up to the budget, digests a quarter beyond it, and then a turn is only counted', () => {
  assert.deepEqual(
    [0, 99, 100, 124, 125, 1_000].map((bytes) => keptOf(bytes, 100)),
    ['text', 'text', 'digests', 'digests', 'count', 'count'],
  )
})
