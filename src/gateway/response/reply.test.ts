import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ContentChunk, RecommendationChunk } from '../../rules/calls/chunk.ts'
import { replyOf } from './reply.ts'

function folded(...chunks: (ContentChunk | RecommendationChunk)[]) {
  const reply = replyOf()
  for (const chunk of chunks) reply.add(chunk)
  return reply
}

const more = (index: number, text: string): ContentChunk => ({
  type: 'tool_call',
  index,
  id: undefined,
  name: undefined,
  arguments: text,
})
const look = (name: string) => ({ id: 'call_1', type: 'function', function: { name, arguments: '{"q":1}' } })

test('a text is folded from its chunks, and an answer of nothing is an empty one', () => {
  const text = folded({ type: 'text', text: 'Good ' }, { type: 'text', text: 'day' })
  assert.deepEqual(text.message(), { role: 'assistant', content: 'Good day' })
  assert.deepEqual(folded().message(), { role: 'assistant', content: '' })
})

test('a refusal without a text has no content, and one after a text keeps it', () => {
  const refusal: ContentChunk[] = [
    { type: 'refusal', text: 'I can’t ' },
    { type: 'refusal', text: 'do that.' },
  ]
  assert.deepEqual(folded(...refusal).message(), { role: 'assistant', content: null, refusal: 'I can’t do that.' })
  assert.deepEqual(folded({ type: 'text', text: 'Well.' }, ...refusal).message(), {
    role: 'assistant',
    content: 'Well.',
    refusal: 'I can’t do that.',
  })
})

test('tool calls are folded by their index, whatever comes between them and whichever comes first', () => {
  const reply = folded(
    { type: 'tool_call', index: 2, id: 'call_3', name: 'later', arguments: '{' },
    { type: 'tool_call', index: 0, id: 'call_1', name: 'look_up', arguments: '{"q"' },
    more(2, '}'),
    more(0, ':1}'),
  )
  const later = { id: 'call_3', type: 'function', function: { name: 'later', arguments: '{}' } }
  assert.deepEqual(reply.message(), { role: 'assistant', content: null, tool_calls: [look('look_up'), later] })
})

test('thoughts stand beside the text; a recommendation is the end of the text, and said to be one', () => {
  const sponsored = { label: 'Ad', advertiser: 'Northwind', url: 'https://api.example.com/r/x', characters: 6 } as const
  const reply = folded(
    { type: 'reasoning', text: 'Hm.' },
    { type: 'text', text: 'Yes.' },
    { type: 'recommendation', text: '\n\nBuy!', sponsored },
  )
  assert.deepEqual(reply.message(), { role: 'assistant', content: 'Yes.\n\nBuy!', reasoning_content: 'Hm.' })
  assert.equal(reply.sponsored(), sponsored)
  assert.equal(folded({ type: 'text', text: 'Yes.' }).sponsored(), undefined)
})
