import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Chunk } from '../../rules/calls/chunk.ts'
import { judgeReport } from '../../rules/billing/reported-usage.ts'
import { createGemini, createReader, kindOfRefusal } from './gemini.ts'
import { UpstreamError } from '../provider.ts'
import {
  answerOf,
  finish,
  isUpstreamError,
  POSSIBLE,
  readAll,
  recordingTransport,
  text,
  toolCall,
  usage,
} from '../support.test.ts'

function read(...events: unknown[]): Chunk[] {
  return readAll(createReader(), events)
}

function said(parts: unknown, finishReason?: unknown) {
  return { candidates: [{ content: { parts, role: 'model' }, finishReason, index: 0 }] }
}

const STOP = said([], 'STOP')

test('a body that ends before a reason to finish was given is truncated', () => {
  assert.throws(() => read(), isUpstreamError('truncated'))
  assert.throws(() => read(said([{ text: 'Hi' }])), isUpstreamError('truncated'))
  assert.throws(() => read({ usageMetadata: { promptTokenCount: 5 } }), isUpstreamError('truncated'))
})

test('a reason to finish that is repeated in every event ends nothing before the body ends', () => {
  const events = [said([{ text: 'Hi' }], 'STOP'), said([{ text: ' there' }], 'MAX_TOKENS')]
  assert.deepEqual(read(...events), [text('Hi'), text(' there'), finish('length')])
})

test('an empty part is no chunk, so that another deployment may still be tried', () => {
  assert.deepEqual(read(said([{ text: '' }, { thoughtSignature: 'x' }]), { candidates: [] }, {}, STOP), [
    finish('stop'),
  ])
})

test('only the first candidate is read, and of its parts only text and calls', () => {
  const other = { candidates: [{ index: 1, content: { parts: [{ text: 'no' }] }, finishReason: 'SAFETY' }] }
  const image = said([{ inlineData: { mimeType: 'image/png', data: 'AA==' } }, { executableCode: { code: '1' } }])
  assert.deepEqual(read(other, image, said([{ text: 'yes' }]), STOP, other), [text('yes'), finish('stop')])
})

test('reasons to finish become one of ours, also those that nobody asks for or knows', () => {
  for (const [theirs, ours] of [
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['CONTINUATION', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['LANGUAGE', 'content_filter'],
    ['BLOCKLIST', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['SPII', 'content_filter'],
    ['IMAGE_SAFETY', 'content_filter'],
  ] as const) {
    assert.deepEqual(read(said([], theirs)), [finish(ours)], theirs)
  }
  for (const odd of ['TOO_MANY_TOOL_CALLS', 'MALFORMED_RESPONSE', 'OTHER', 'INVENTED_TOMORROW']) {
    assert.deepEqual(read(said([{ text: 'Hi' }], odd)), [text('Hi'), finish('stop', odd)])
    assert.deepEqual(read(said([], odd)), [finish('stop', odd)], 'the model has answered, if only badly')
  }
  assert.deepEqual(read(said([], 'quotes the prompt')), [finish('stop', 'unreadable')])
})

test('an odd end keeps its usage, and the calls that came before it', () => {
  const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 3 }
  const call = { ...said([{ functionCall: { name: 'f' } }], 'TOO_MANY_TOOL_CALLS'), usageMetadata }
  assert.deepEqual(
    read(call).filter(({ type }) => type === 'finish'),
    [finish('tool_calls', 'TOO_MANY_TOOL_CALLS')],
  )
  assert.deepEqual(read(call).at(-1), usage(7, 3))
})

const UNUSABLE = ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL']

test('a call that nobody can use, and nothing else, is the model’s failure, and keeps what it would be as an answer', () => {
  const usageMetadata = { promptTokenCount: 22, candidatesTokenCount: 3, thoughtsTokenCount: 142 }
  const undeclared = { functionCall: { name: 'list_files', args: {} }, thoughtSignature: 'x' }
  const called = toolCall(0, '{}', 'call_0', 'list_files')
  const signed = { type: 'reasoning_signature', signature: 'gemini.eyIwIjoieCJ9' } as const
  const used = usage(22, 3, { reasoning: 142 })
  for (const odd of UNUSABLE) {
    for (const [events, answerAsIs] of [
      [[said([], odd)], [finish('stop', odd)]],
      [
        [said([{ text: '' }]), { ...said([undeclared], odd), usageMetadata }],
        [called, signed, finish('tool_calls', odd), used],
      ],
      [
        [said([undeclared], odd), { usageMetadata }],
        [called, signed, finish('tool_calls', odd), used],
      ],
    ] as const) {
      assert.throws(
        () => read(...events),
        (error) => {
          assert.ok(isUpstreamError('model_failed')(error))
          assert.deepEqual((error as UpstreamError).answerAsIs, answerAsIs)
          return true
        },
      )
    }
  }
})

test('once something was said, such a call ends the answer', () => {
  const undeclared = { functionCall: { name: 'f' } }
  const called = toolCall(0, '{}', 'call_0', 'f')
  const thought: Chunk = { type: 'reasoning', text: 'Hm' }
  for (const odd of UNUSABLE) {
    const last = finish('tool_calls', odd)
    assert.deepEqual(read(said([{ text: 'Hi' }]), said([], odd)), [text('Hi'), finish('stop', odd)])
    assert.deepEqual(read(said([{ text: 'Hi' }, undeclared], odd)), [text('Hi'), called, last])
    assert.deepEqual(read(said([{ text: 'Hm', thought: true }]), said([undeclared], odd)), [thought, called, last])
    assert.deepEqual(
      read(said([undeclared]), said([], odd)),
      [called, last],
      'it was passed on before its end was known',
    )
    assert.deepEqual(read(said([undeclared], odd), said([{ text: 'Hi' }], odd)), [called, text('Hi'), last])
  }
})

test('an answer cut short is "length" even if it called a function', () => {
  const call = said([{ functionCall: { name: 'f' } }], 'MAX_TOKENS')
  assert.deepEqual(read(call), [toolCall(0, '{}', 'call_0', 'f'), finish('length')])
})

test('each call of an answer has an id of its own, also where the provider names none or one twice', () => {
  const calls = [{ name: 'f' }, { name: 'f', id: '' }, { name: 'g', id: 'x' }, { name: 'g', id: 'x' }]
  const event = said(calls.map((functionCall) => ({ functionCall })))
  const idsOf = (responseId: unknown) =>
    read({ ...event, responseId }, STOP).flatMap((chunk) => (chunk.type === 'tool_call' ? [chunk.id] : []))
  assert.deepEqual(idsOf('r-1'), ['call_r-1_0', 'call_r-1_1', 'x', 'call_r-1_3'])
  assert.deepEqual(idsOf('r-1'), idsOf('r-1'), 'the same events give the same ids')
  assert.notDeepEqual(idsOf('r-1'), idsOf('r-2'), 'another answer has other ids')
  for (const odd of [undefined, 5, 'a b', 'x'.repeat(65)]) assert.equal(idsOf(odd)[0], 'call_0')
})

test('an error inside a stream is an error, in every shape that it may have', () => {
  for (const error of [{ code: 503 }, 'overloaded', 503, {}]) {
    assert.throws(() => read(said([{ text: 'Hi' }]), { error }), isUpstreamError('error_in_200'))
  }
  assert.throws(() => read(said([{ text: 'Hi' }]), { error: { code: 400 } }), isUpstreamError('rejected'))
  assert.throws(() => read(said([{ text: 'Hi' }]), { error: { code: 429 } }), isUpstreamError('rate_limited'))
  assert.deepEqual(read({ ...STOP, error: null }), [finish('stop')], 'an absent error is none')
})

const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
const MALFORMED = [
  'not json',
  '{"candidates":[{"content":{"parts":[{"text":"lost',
  'null',
  '5',
  '"text"',
  [said([{ text: 'Hi' }])],
  { candidates: {} },
  { candidates: 'x' },
  { candidates: [null] },
  { candidates: [{ content: 5 }] },
  { candidates: [{ content: [] }] },
  { promptFeedback: 'blocked' },
  said({}),
  said('x'),
  said([null]),
  said(['Hi']),
  said([{ text: 5 }]),
  said([{ text: ['Hi'] }]),
  said([{ functionCall: 'f' }]),
  said([{ functionCall: {} }]),
  said([{ functionCall: { name: 5, args: {} } }]),
  said([{ functionCall: { name: 'f', args: '{}' } }]),
  said([{ functionCall: { name: 'f', args: [] } }]),
  `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":${DEEP}}}}]}}]}`,
  said([], 5),
  said([], {}),
]

test('an event that is not what it should be is a bad event of the provider: it neither crashes us nor is passed on', () => {
  for (const event of MALFORMED) {
    const what = (typeof event === 'string' ? event : JSON.stringify(event)).slice(0, 200)
    assert.throws(() => read(event, STOP), isUpstreamError('bad_event'), what)
  }
})

test('whatever JSON comes, only an UpstreamError leaves the reader', () => {
  const keys = [
    'candidates',
    'content',
    'parts',
    'text',
    'functionCall',
    'name',
    'args',
    'finishReason',
    'usageMetadata',
  ]
  const json = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 6 }, fc.constantFrom(null, 0, 'STOP', true), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 2 }),
    object: fc.dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 4 }),
  }))
  fc.assert(
    fc.property(fc.array(json.object, { maxLength: 3 }), (events) => {
      try {
        read(...events)
      } catch (error) {
        assert.ok(error instanceof UpstreamError, String(error))
      }
    }),
    { numRuns: 500 },
  )
})

test('usage is taken from the last report, because each one counts the whole answer so far', () => {
  const early = { ...said([{ text: 'Hi' }]), usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 1 } }
  const late = { ...STOP, usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 3 } }
  const soFar = { ...usage(2, 1), soFar: true }
  assert.deepEqual(read(early, late), [text('Hi'), soFar, finish('stop'), usage(2, 3)])
  const zero = { ...STOP, usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 0 } }
  assert.deepEqual(read(early, zero), [text('Hi'), soFar, finish('stop'), usage(0, 0)], 'also a lower one')
  assert.deepEqual(read(STOP), [finish('stop')], 'no report is no usage')
})

test('a report while the answer runs is told again only when prompt or thoughts have changed', () => {
  const report = (candidatesTokenCount: number, thoughtsTokenCount: number) => {
    return {
      ...said([{ text: 'Hi' }]),
      usageMetadata: { promptTokenCount: 2, candidatesTokenCount, thoughtsTokenCount },
    }
  }
  const told = read(report(1, 7), report(2, 7), report(3, 9), STOP).filter(({ type }) => type === 'usage')
  assert.deepEqual(
    told.map((chunk) => chunk.type === 'usage' && chunk.usage.reasoning),
    [7, 9, 9],
  )
})

test('a caller can make a model call any number of functions: that is an answer, and no mistake of the provider', () => {
  const chunks = read(said(Array.from({ length: 300 }, () => ({ functionCall: { name: 'f' } }))), STOP)
  assert.equal(chunks.filter(({ type }) => type === 'tool_call').length, 300)
})

test('a usage report that makes no sense is never believed', () => {
  for (const report of [
    {},
    { promptTokenCount: '5', candidatesTokenCount: 5 },
    { promptTokenCount: null, candidatesTokenCount: 5 },
    { promptTokenCount: 5 },
    { promptTokenCount: 5, candidatesTokenCount: null },
    { promptTokenCount: -5, candidatesTokenCount: 5 },
    { promptTokenCount: 5, candidatesTokenCount: 5, cachedContentTokenCount: 6 },
    { promptTokenCount: 5, candidatesTokenCount: 5, cachedContentTokenCount: 'all' },
    { promptTokenCount: 5, candidatesTokenCount: 5, thoughtsTokenCount: -1 },
    { promptTokenCount: 5, candidatesTokenCount: 5, toolUsePromptTokenCount: {} },
  ]) {
    const last = read(said([{ text: 'Hi' }]), { ...STOP, usageMetadata: report }).at(-1)
    assert.ok(last?.type === 'usage', JSON.stringify(report))
    const counted = { input: 5, cachedInput: 0, cacheWrite: 0, output: 5, reasoning: 0 }
    assert.notDeepEqual(judgeReport(last.usage, counted, POSSIBLE).anomalies, [], JSON.stringify(report))
  }
})

function refusal(reason: string, message = ''): unknown {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' }]
  return { error: { code: 400, message, status: 'INVALID_ARGUMENT', details } }
}

test('a wrong key is told from a wrong request, and a caller cannot make one look like the other', () => {
  assert.equal(kindOfRefusal(400, JSON.stringify(refusal('API_KEY_INVALID'))), 'key_rejected')
  assert.equal(kindOfRefusal(400, JSON.stringify([refusal('API_KEY_INVALID')])), 'key_rejected')
  assert.equal(kindOfRefusal(400, JSON.stringify(refusal('OTHER', '"reason": "API_KEY_INVALID"'))), undefined)
  assert.equal(kindOfRefusal(429, JSON.stringify(refusal('API_KEY_INVALID'))), undefined)
  for (const body of ['', 'API_KEY_INVALID', 'null', '[]', '[5]', '{"error":5}', '{"error":{"details":[null]}}']) {
    assert.equal(kindOfRefusal(400, body), undefined, body)
  }
})

async function sentBy(options: { baseUrl?: string; settings?: unknown; upstreamModel?: string; apiKey?: string }) {
  const { sent, isLastSeen, transport } = recordingTransport(STOP)
  const { baseUrl = 'https://api.example.com/v1beta', settings = {}, upstreamModel = 'm', apiKey } = options
  const provider = createGemini({ name: 'p', baseUrl, settings, transport })
  assert.deepEqual(await answerOf(provider, { upstreamModel, apiKey }), [finish('stop')])
  assert.deepEqual(isLastSeen, [false], 'only the end of the body is the end')
  return sent[0] ?? assert.fail()
}

test('a request goes to the model below the base URL, however the URL ends, with the key in a header only', async () => {
  const sent = await sentBy({ baseUrl: 'https://api.example.com/v1beta//', apiKey: 'k', upstreamModel: 'gemini-x' })
  assert.equal(sent.url, 'https://api.example.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse')
  assert.deepEqual(sent.headers, { 'x-goog-api-key': 'k' })
  assert.equal(sent.kindOfRefusal?.(400, JSON.stringify(refusal('API_KEY_INVALID'))), 'key_rejected')

  assert.match((await sentBy({ upstreamModel: 'tunedModels/a b' })).url, /\/v1beta\/tunedModels\/a%20b:stream/)
  assert.match((await sentBy({ upstreamModel: 'sim?tokens=5' })).url, /\/models\/sim%3Ftokens%3D5:stream/)
  assert.deepEqual((await sentBy({})).headers, {}, 'no key, no header')
})

test("the operator's headers and safety settings are sent along, and a setting that does not exist is refused", async () => {
  const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]
  const settings = { headers: { 'x-goog-user-project': 'p', 'x-goog-api-key': 'other' }, safetySettings }
  const sent = await sentBy({ settings, apiKey: 'k' })
  assert.deepEqual(sent.headers, { 'x-goog-user-project': 'p', 'x-goog-api-key': 'k' })
  assert.deepEqual((JSON.parse(sent.body) as Record<string, unknown>).safetySettings, safetySettings)
  await assert.rejects(sentBy({ settings: { safetySetting: [] } }), /safetySetting/)
})
