import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../rules/calls/message.ts'
import type { RecommendationChunk } from '../rules/calls/chunk.ts'
import { NO_USAGE } from '../rules/billing/usage.ts'
import { createLog } from '../platform/log.ts'
import { LARGE_BODY_BYTES } from '../rules/limits.ts'
import type { Call } from './call.ts'
import { chunksOf, createIdempotency, type IdempotencyOptions } from './idempotency.ts'

const USAGE = { ...NO_USAGE, input: 7, output: 3 }
const END = [
  { type: 'finish', reason: 'stop' },
  { type: 'usage', usage: USAGE },
]

function replayOf(
  message: Omit<Extract<Message, { role: 'assistant' }>, 'role'>,
  recommendation?: RecommendationChunk,
) {
  const stored = { recommendation, finishReason: 'stop', usage: USAGE, created: 1 } as const
  return [...chunksOf({ ...stored, message: { role: 'assistant', ...message } })]
}

test('a stored answer is given again whole: its text, its refusal, its tool calls, what stood after it, and its end', () => {
  assert.deepEqual(replayOf({ content: 'Hello' }), [{ type: 'text', text: 'Hello' }, ...END])
  assert.deepEqual(replayOf({ content: null, refusal: 'No.' }), [{ type: 'refusal', text: 'No.' }, ...END])
  const calls = ['a', 'b'].map((name) => ({
    id: `call_${name}`,
    type: 'function' as const,
    function: { name, arguments: '{}' },
  }))
  assert.deepEqual(replayOf({ content: null, tool_calls: calls }), [
    { type: 'tool_call', index: 0, id: 'call_a', name: 'a', arguments: '{}' },
    { type: 'tool_call', index: 1, id: 'call_b', name: 'b', arguments: '{}' },
    ...END,
  ])
  const sponsored = { label: 'Ad', advertiser: 'Northwind', url: 'https://api.example.com/r/x', characters: 6 } as const
  const recommendation: RecommendationChunk = { type: 'recommendation', text: '\n\nBuy!', sponsored }
  assert.deepEqual(replayOf({ content: 'Hello' }, recommendation), [
    { type: 'text', text: 'Hello' },
    recommendation,
    ...END,
  ])
})

test('an answer of nothing is given again as nothing but its end', () => {
  assert.deepEqual(replayOf({ content: '' }), END)
})

test('a stored answer is opened and parsed in its account’s share of the work, and a large one in turn', async () => {
  for (const [characters, how] of [
    [10, 'at once'],
    [LARGE_BODY_BYTES, 'in turn'],
  ] as const) {
    const done: [how: string, publisherId: string, made: unknown][] = []
    let isInShare = false
    const inShare = <T>(publisherId: string, way: string, doing: () => T): T => {
      isInShare = true
      const made = doing()
      isInShare = false
      done.push([way, publisherId, made])
      return made
    }
    const stored = JSON.stringify({ message: { role: 'assistant', content: 'x'.repeat(characters) } })
    const idempotency = createIdempotency({
      secrets: {
        unseal: (sealed: string) => {
          assert.ok(isInShare)
          return sealed
        },
      },
      work: {
        run: <T>(publisherId: string, doing: () => T) => inShare(publisherId, 'at once', doing),
        runInTurn: async <T>(publisherId: string, doing: (giveWay: () => Promise<void>) => Promise<T>) =>
          await inShare(publisherId, 'in turn', () => doing(() => Promise.resolve())),
      },
      digestKeys: { keyFor: () => Buffer.alloc(32) },
      statements: {
        claimKey: () => Promise.resolve({ state: 'replay', result: stored, callId: 'first' }),
        giveUpKey: () => Promise.resolve(),
      },
      log: createLog('silent'),
    } as unknown as IdempotencyOptions)
    const caller = { publisherId: 'publisher', projectId: 'project', keyPairId: 'pair' }
    const call = { id: 'second', caller, body: {}, bodyBytes: characters, idempotencyKey: 'key' } as unknown as Call
    const replay = await idempotency.claim(call)
    assert.equal(replay?.callId, 'first')
    assert.deepEqual(
      done.map(([way, publisherId]) => [way, publisherId]),
      [
        [how, 'publisher'],
        [how, 'publisher'],
      ],
      'its own body, and what is stored',
    )
    assert.deepEqual(await done[1]?.[2], replay, 'all of it')
  }
})

test('stored vectors are given again in their order, and have no finish', () => {
  const stored = { recommendation: undefined, finishReason: undefined, usage: USAGE, created: 1 }
  assert.deepEqual(
    [...chunksOf({ ...stored, vectors: ['AAAA', 'BBBB'] })],
    [
      { type: 'embedding', index: 0, vector: 'AAAA' },
      { type: 'embedding', index: 1, vector: 'BBBB' },
      { type: 'usage', usage: USAGE },
    ],
  )
})
