import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ResponseStream } from 'openai/lib/responses/ResponseStream'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import { chunksOf } from '../src/gateway/idempotency.ts'
import { replyOf } from '../src/gateway/response/reply.ts'
import { createResponsesBody, createResponsesEvents } from '../src/gateway/response/responses-wire.ts'
import type { AnswerHead, EventWriter } from '../src/gateway/response/wire.ts'
import type { ContentChunk, FinishReason, ReplyChunk } from '../src/rules/calls/chunk.ts'
import { FINISH_REASONS } from '../src/rules/calls/chunk.ts'
import { parseResponsesRequest } from '../src/rules/calls/responses/responses-request.ts'
import { ParleyError } from '../src/rules/errors.ts'

/** Responses as their readers put them together: the official SDK reads what we write, and says the same as our own body. */

const HEAD: AnswerHead = { id: 'resp_0190', created: 1_700_000_000, model: 'sim-small' }
const SHOWN = parseResponsesRequest({ model: 'sim-small', input: 'Hi', reasoning: { summary: 'auto' } })
const KEPT = parseResponsesRequest({ model: 'sim-small', input: 'Hi', store: false })
const USAGE = { input: 7, cachedInput: 2, cacheWrite: 1, output: 5, reasoning: 3 }
const SPONSORED = { label: 'Ad', advertiser: 'Acme', url: 'https://acme.example', characters: 4 }

const text = (said: string): ContentChunk => ({ type: 'text', text: said })
const thought = (said: string): ContentChunk => ({ type: 'reasoning', text: said })
const callPiece = (index: number, given: string, name?: string): ContentChunk => {
  return { type: 'tool_call', index, id: name && `call_${index}`, name, arguments: given }
}
const ended = (content: readonly ReplyChunk[], reason: FinishReason = 'stop'): ReplyChunk[] => [
  ...content,
  { type: 'finish', reason },
  { type: 'usage', usage: USAGE },
]

function eventsOf(chunks: readonly ReplyChunk[], asked = SHOWN): ResponseStreamEvent[] {
  const writer = createResponsesEvents(HEAD, asked)
  return parsed([writer.opening(), ...chunks.map((chunk) => writer.event(chunk)), writer.done()])
}

function parsed(written: readonly string[]): ResponseStreamEvent[] {
  const events = written.join('').split('\n\n').slice(0, -1)
  return events.map((event) => {
    const [, name, data] = /^event: (\S+)\ndata: (.*)$/.exec(event) ?? assert.fail(event)
    const fields = JSON.parse(data ?? '') as ResponseStreamEvent
    assert.equal(fields.type, name)
    return fields
  })
}

function bodyOf(chunks: readonly ReplyChunk[], asked = SHOWN): unknown {
  const writer = createResponsesBody(asked)
  for (const chunk of chunks) writer.add(chunk)
  return JSON.parse(JSON.stringify(writer.body(HEAD)))
}

/** Returns the response that the SDK's own accumulator builds from all the events. */
async function accumulated(events: readonly ResponseStreamEvent[]): Promise<Record<string, unknown>> {
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('')
  const final = await ResponseStream.fromReadableStream(new Blob([lines]).stream()).finalResponse()
  const isOwn = (key: string) => !['output_text', 'output_parsed', 'parsed', 'parsed_arguments'].includes(key)
  return JSON.parse(JSON.stringify(final, (key, value: unknown) => (isOwn(key) ? value : undefined)))
}

const shapeOf = (events: readonly ResponseStreamEvent[]) => events.map(({ type }) => type.replace('response.', ''))

test('events come in the documented order, numbered from zero', () => {
  const events = eventsOf(ended([thought('Hm'), thought('m.'), text('He'), text('llo')]))
  assert.deepEqual(shapeOf(events), [
    'created',
    'in_progress',
    'output_item.added',
    'reasoning_summary_part.added',
    'reasoning_summary_text.delta',
    'reasoning_summary_text.delta',
    'reasoning_summary_text.done',
    'reasoning_summary_part.done',
    'output_item.done',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ])
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, n) => n),
  )
})

test('calls of tools that come in turns stay open, each with its own place, until the answer is over', () => {
  const pieces = [callPiece(0, '', 'one'), callPiece(1, '{"b"', 'two'), callPiece(0, '{"a":1}'), callPiece(1, ':2}')]
  const events = eventsOf(ended([text('Let me look.'), ...pieces], 'tool_calls'))
  assert.deepEqual(shapeOf(events).slice(2), [
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'output_item.added',
    'output_item.added',
    'function_call_arguments.delta',
    'function_call_arguments.delta',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'output_item.done',
    'function_call_arguments.done',
    'output_item.done',
    'completed',
  ])
  const { output } = bodyOf(ended([text('Let me look.'), ...pieces], 'tool_calls')) as { output: object[] }
  assert.deepEqual(output.slice(1), [
    {
      id: 'fc_0190_1',
      type: 'function_call',
      status: 'completed',
      call_id: 'call_0',
      name: 'one',
      arguments: '{"a":1}',
    },
    {
      id: 'fc_0190_2',
      type: 'function_call',
      status: 'completed',
      call_id: 'call_1',
      name: 'two',
      arguments: '{"b":2}',
    },
  ])
})

test('a response is said to be whole only at the very end, when it has been charged for', () => {
  const writer = createResponsesEvents(HEAD, SHOWN)
  const before = [writer.opening(), ...ended([text('Hello')]).map((chunk) => writer.event(chunk))]
  assert.ok(shapeOf(parsed(before)).every((type) => type !== 'completed'))
  assert.deepEqual(shapeOf(parsed([writer.done()])), ['completed'])
})

/** Pieces of an answer in any order that a provider may think of. A call has its id and its name in its first piece. */
const anyContent = fc
  .array(
    fc.oneof(
      fc.record({ type: fc.constantFrom('text', 'refusal', 'reasoning'), text: fc.string({ maxLength: 5 }) }),
      fc.record({ type: fc.constant('tool_call'), index: fc.nat(3), arguments: fc.string({ maxLength: 5 }) }),
    ),
    { maxLength: 14 },
  )
  .map((pieces) => {
    const named = new Set<number>()
    return (pieces as ContentChunk[]).map((piece): ContentChunk => {
      if (piece.type !== 'tool_call' || named.has(piece.index)) return piece
      named.add(piece.index)
      return { ...piece, id: `call_${piece.index}`, name: `look_${piece.index}` }
    })
  })

test('whatever comes in whatever order, the official SDK puts events together to the very body of one answer', async () => {
  const recommendation: ReplyChunk = { type: 'recommendation', text: '\nAd: x', sponsored: SPONSORED }
  const signature: ReplyChunk = { type: 'reasoning_signature', signature: 'anthropic.abc' }
  const asked = fc.constantFrom(SHOWN, KEPT)
  const answer = fc.tuple(anyContent, fc.constantFrom(...FINISH_REASONS), fc.boolean(), fc.boolean(), asked)
  await fc.assert(
    fc.asyncProperty(answer, async ([content, reason, isSigned, isSponsored, request]) => {
      const whole = [...content, ...(isSigned ? [signature] : []), ...(isSponsored ? [recommendation] : [])]
      const events = eventsOf(ended(whole, reason), request)
      const body = bodyOf(ended(whole, reason), request)
      assert.deepEqual((events.at(-1) as { response?: unknown }).response, body)
      assert.deepEqual(await accumulated(events), body)
      // Without the last word, too: so each event says all that it should.
      const { output } = await accumulated(events.slice(0, -1))
      assert.deepEqual(output, (body as { output: unknown }).output)
      const words = whole.map((chunk) => (chunk.type === 'text' || chunk.type === 'recommendation' ? chunk.text : ''))
      assert.equal(wordsIn(body), words.join(''))
    }),
    { numRuns: 200 },
  )
})

function wordsIn(body: unknown): string {
  const { output } = body as { output: { content?: { text?: string }[] }[] }
  return output.flatMap(({ content = [] }) => content.map((part) => part.text ?? '')).join('')
}

test('an answer that is kept for a retry becomes the same response again, in whatever order it came', () => {
  fc.assert(
    fc.property(anyContent, fc.constantFrom(SHOWN, KEPT), (content, request) => {
      const reply = replyOf()
      for (const chunk of content) reply.add(chunk)
      const stored = JSON.parse(JSON.stringify(reply.stored())) as ReturnType<typeof reply.stored>
      const answer = { ...stored, recommendation: undefined, finishReason: 'stop' as const, usage: USAGE, created: 1 }
      assert.deepEqual(bodyOf([...chunksOf(answer)], request), bodyOf(ended(content), request))
    }),
    { numRuns: 1_000 },
  )
})

test('thoughts and their proof are shown only to who asks for them', () => {
  const chunks = ended([thought('Hm'), text('Hello'), { type: 'reasoning_signature', signature: 'anthropic.abc' }])
  const typesIn = (asked: object) => {
    const request = parseResponsesRequest({ model: 'm', input: 'Hi', ...asked })
    const { output } = bodyOf(chunks, request) as { output: { type: string; encrypted_content?: string }[] }
    const streamed = eventsOf(chunks, request).at(-1) as { response: { output: unknown } } | undefined
    assert.deepEqual(streamed?.response.output, output)
    return output.map(({ type, encrypted_content: proof }) => (proof === undefined ? type : `${type} ${proof}`))
  }
  assert.deepEqual(typesIn({}), ['message'])
  assert.deepEqual(typesIn({ reasoning: { summary: 'auto' } }), ['reasoning', 'message'])
  const whole = ['reasoning anthropic.abc', 'message']
  assert.deepEqual(typesIn({ include: ['reasoning.encrypted_content'] }), whole)
  assert.deepEqual(typesIn({ store: false }), whole)
})

test('thoughts that are to be sent back are one item with what proves them, also where there are no others', () => {
  const proof: ContentChunk = { type: 'reasoning_signature', signature: 'anthropic.abc' }
  const { output } = bodyOf(ended([thought('Hm, '), text('Well. '), thought('yes.'), text('Yes.'), proof]), KEPT) as {
    output: object[]
  }
  assert.deepEqual(output[0], {
    id: 'rs_0190_0',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'Hm, yes.' }],
    encrypted_content: 'anthropic.abc',
  })
  assert.equal(output.length, 2)
  const { output: hidden } = bodyOf(ended([text('Yes.'), proof]), KEPT) as { output: object[] }
  assert.deepEqual(hidden[1], { id: 'rs_0190_1', type: 'reasoning', summary: [], encrypted_content: 'anthropic.abc' })
})

test('an answer that was cut off is incomplete, and so is the item in which it was', () => {
  const statusesOf = (content: ContentChunk[], reason: FinishReason) => {
    const { status, incomplete_details, output } = bodyOf(ended(content, reason)) as {
      status: string
      incomplete_details: unknown
      output: { status?: string }[]
    }
    return [status, incomplete_details, output.map((item) => item.status)]
  }
  const call = callPiece(0, '{"a', 'one')
  assert.deepEqual(statusesOf([text('He')], 'length'), ['incomplete', { reason: 'max_output_tokens' }, ['incomplete']])
  assert.deepEqual(statusesOf([text('He'), call], 'content_filter'), [
    'incomplete',
    { reason: 'content_filter' },
    ['completed', 'incomplete'],
  ])
  assert.deepEqual(statusesOf([text('He'), call], 'tool_calls'), ['completed', null, ['completed', 'completed']])
  assert.deepEqual(statusesOf([], 'length'), ['incomplete', { reason: 'max_output_tokens' }, []])
})

test('a failure after the first byte is an error event, and the response failed as far as it came', () => {
  const writer: EventWriter = createResponsesEvents(HEAD, SHOWN)
  const failure = new ParleyError('upstream_failed')
  const events = parsed([writer.opening(), writer.event(text('Hel')), writer.error(failure)])
  const [error, failed] = events.slice(-2) as unknown as [
    Record<string, unknown>,
    { response: Record<string, unknown> },
  ]
  assert.deepEqual(error, {
    type: 'error',
    sequence_number: events.length - 2,
    code: 'upstream_failed',
    message: failure.message,
    param: null,
  })
  const { status, error: told, output, usage } = failed.response
  assert.deepEqual(
    { status, told, usage },
    { status: 'failed', told: { code: 'server_error', message: failure.message }, usage: null },
  )
  assert.equal((output as { status: string }[])[0]?.status, 'incomplete')
  const limited = createResponsesEvents(HEAD, SHOWN).error(new ParleyError('provider_rate_limited'))
  assert.match(limited, /"code":"rate_limit_exceeded"/)
})

test('usage is told in the words of this API, every token in one place', () => {
  const { usage } = bodyOf(ended([text('Hello')])) as { usage: unknown }
  assert.deepEqual(usage, {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 2, cache_write_tokens: 1 },
    output_tokens: 8,
    output_tokens_details: { reasoning_tokens: 3 },
    total_tokens: 18,
  })
})

test('a recommendation is the end of the text, and is said to be one', async () => {
  const chunks = ended([text('Hello'), { type: 'recommendation', text: '\nAd', sponsored: SPONSORED }])
  const { output } = bodyOf(chunks) as { output: { content: object[] }[] }
  assert.deepEqual(output[0]?.content, [
    { type: 'output_text', annotations: [], logprobs: [], text: 'Hello\nAd', sponsored: SPONSORED },
  ])
  const deltas = eventsOf(chunks).filter(({ type }) => type === 'response.output_text.delta')
  assert.deepEqual(
    deltas.map((event) => (event as { sponsored?: unknown }).sponsored),
    [undefined, SPONSORED],
  )
})

test('logprobs stand beside the words, in each event and in all', async () => {
  const likely = (token: string) => ({ token, logprob: -0.5, bytes: [1], top_logprobs: [] })
  const chunks = ended([
    { type: 'text', text: 'He', logprobs: [likely('He')] },
    { type: 'text', text: 'llo', logprobs: [likely('llo')] },
  ])
  const { output } = bodyOf(chunks) as { output: { content: { logprobs: unknown }[] }[] }
  assert.deepEqual(output[0]?.content[0]?.logprobs, [likely('He'), likely('llo')])
  assert.deepEqual((await accumulated(eventsOf(chunks))).output, output)
})
