import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Message } from './message.ts'
import { beginsWith, openingOf } from './openings.ts'

const KEY = Buffer.alloc(32, 1)

const anyMessage = fc.oneof(
  fc.record({ role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const), content: fc.string() }),
  fc.record({
    role: fc.constant('user' as const),
    content: fc.array(fc.record({ type: fc.constant('text' as const), text: fc.string() }), { minLength: 1 }),
  }),
) as fc.Arbitrary<Message>
const anyMessages = fc.array(anyMessage, { minLength: 1, maxLength: 6 })

function tool(name: string) {
  return { type: 'function' as const, function: { name, description: 'Looks it up.' } }
}

test('a prompt begins with itself and with all that it goes on from', () => {
  fc.assert(
    fc.property(anyMessages, anyMessages, (first, more) => {
      const opening = openingOf({ messages: first }, KEY)
      assert.ok(beginsWith({ messages: first }, opening, KEY))
      assert.ok(beginsWith({ messages: [...first, ...more] }, opening, KEY))
    }),
  )
})

test('a prompt whose beginning was changed, cut off or is shorter does not begin with the other', () => {
  const first: Message[] = [
    { role: 'system', content: 'Today is Monday. '.padEnd(5_000, 'Be kind. ') },
    { role: 'user', content: 'Hello' },
  ]
  const opening = openingOf({ messages: first, tools: [tool('look')] }, KEY)
  const goesOn = (...messages: Message[]) => beginsWith({ messages, tools: [tool('look')] }, opening, KEY)
  const [system, user] = first as [Message, Message]
  const reply: Message = { role: 'assistant', content: 'Hi' }
  assert.ok(goesOn(system, user, reply, user))
  assert.ok(!goesOn(system))
  assert.ok(!goesOn(system, reply, user), 'a window that has slid on')
  assert.ok(!goesOn({ role: 'system', content: 'Today is Sunday. '.padEnd(5_000, 'Be kind. ') }, user, reply))
  assert.ok(!goesOn(system, { role: 'user', content: 'Hallo' }))
  assert.ok(!goesOn(system, { role: 'assistant', content: 'Hello' }))
  assert.ok(!beginsWith({ messages: first, tools: [tool('seek')] }, opening, KEY), 'other tools')
  assert.ok(!beginsWith({ messages: first }, opening, KEY), 'no tools')
})

test('a digest says nothing without its key', () => {
  const request = { messages: [{ role: 'user' as const, content: 'Hello' }] }
  assert.notDeepEqual(openingOf(request, KEY).digest, openingOf(request, Buffer.alloc(32, 2)).digest)
})

test('images, files and calls of tools are part of a beginning', () => {
  const image = (url: string): Message => ({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] })
  const call = (written: string): Message => ({
    role: 'assistant',
    tool_calls: [{ id: '1', type: 'function', function: { name: 'look', arguments: written } }],
  })
  for (const messageOf of [image, call]) {
    const opening = openingOf({ messages: [messageOf('a')] }, KEY)
    assert.ok(beginsWith({ messages: [messageOf('a')] }, opening, KEY))
    assert.ok(!beginsWith({ messages: [messageOf('b')] }, opening, KEY))
  }
})
