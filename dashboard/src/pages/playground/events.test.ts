import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEventReader, pieceOf } from './events.ts'

const STREAM = ': asking\ndata: {"id":"a","choices":[{"delta":{"content":"Grüß"}}]}\n\n: ping\ndata: [DONE]\n\n'

test('events are the same however their bytes are split', () => {
  for (const stream of [STREAM, STREAM.replaceAll('\n', '\r\n')])
    for (let at = 0; at <= stream.length; at++) {
      const reader = createEventReader()
      const read = [...reader.read(stream.slice(0, at)), ...reader.read(stream.slice(at))]
      assert.deepEqual(read, ['{"id":"a","choices":[{"delta":{"content":"Grüß"}}]}', '[DONE]'], `split at ${at}`)
    }
})

test('a piece, a whole answer, an error, the end and noise are told apart', () => {
  assert.deepEqual(pieceOf('{"id":"a","choices":[{"delta":{"content":"x"}}]}'), { id: 'a', text: 'x' })
  assert.deepEqual(pieceOf('{"id":"a","choices":[{"message":{"content":"x"}}]}'), { id: 'a', text: 'x', isEnd: true })
  assert.deepEqual(pieceOf('{"id":"a","choices":[]}'), { id: 'a', text: '' })
  assert.deepEqual(pieceOf('{"error":{"code":"c","message":"m"}}'), { refusal: { code: 'c', message: 'm' } })
  assert.deepEqual(pieceOf('[DONE]'), { isEnd: true })
  assert.deepEqual(pieceOf('{"id":'), {})
})

test('what a model says when it declines is shown like an answer, streamed or whole', () => {
  assert.deepEqual(pieceOf('{"id":"a","choices":[{"delta":{"refusal":"No."}}]}'), { id: 'a', text: 'No.' })
  const whole = '{"id":"a","choices":[{"message":{"content":null,"refusal":"No."}}]}'
  assert.deepEqual(pieceOf(whole), { id: 'a', text: 'No.', isEnd: true })
})
