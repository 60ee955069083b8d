import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../rules/calls/message.ts'
import { resultsInOrder } from './results-in-order.ts'

const USER: Message = { role: 'user', content: 'Hi' }

function calling(...ids: string[]): Message {
  const tool_calls = ids.map((id) => ({ id, type: 'function' as const, function: { name: 'look', arguments: '{}' } }))
  return { role: 'assistant', content: null, tool_calls }
}

function resultOf(id: string, content = id): Message {
  return { role: 'tool', tool_call_id: id, content }
}

test('results stand in the order of their calls, whichever was sent first', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((id) => resultOf(id)) as [Message, Message, Message]
  const calls = calling('a', 'b', 'c')
  for (const sent of [
    [a, b, c],
    [c, b, a],
    [b, c, a],
    [c, a, b],
  ]) {
    assert.deepEqual(resultsInOrder([USER, calls, ...sent, USER]), [USER, calls, a, b, c, USER])
  }
})

test('results stay in their round, also where ids come again', () => {
  const messages = [USER, calling('a', 'b'), resultOf('b'), resultOf('a'), calling('b', 'a'), resultOf('a', 'second')]
  assert.deepEqual(
    resultsInOrder([...messages, resultOf('b', 'second')]).map(({ content }) => content),
    ['Hi', null, 'a', 'b', null, 'second', 'second'],
  )
  assert.deepEqual(resultsInOrder([...messages, resultOf('b')]).at(-1), resultOf('a', 'second'))
})

test('results of calls that nobody made stay last, as they came', () => {
  const messages = [calling('a'), resultOf('y'), resultOf('x'), resultOf('a')]
  assert.deepEqual(
    resultsInOrder(messages).map(({ content }) => content),
    [null, 'a', 'y', 'x'],
  )
})
