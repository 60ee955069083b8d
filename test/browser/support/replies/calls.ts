import { wordsOf } from '../../../../src/rules/calls/call-labels.ts'
import { CALL_OUTCOMES } from '../../../../src/rules/billing/charging.ts'
import { VERDICT_LABELS } from '../../../../src/rules/clicks/verdict.ts'
import type { Given, Replies } from '../canned-console.ts'
import { ago, CALL, CONVERSATION, id } from './ids.ts'

type Call = Given<'GET /api/projects/:project/calls'>['items'][number]
type CallDetail = Given<'GET /api/projects/:project/calls/:call'>
type Carried = NonNullable<CallDetail['recommendation']>
type Message = Given<'GET /api/projects/:project/conversations/:conversation/messages'>['items'][number]

/** One of every outcome; each number in it is one of its own. */
function callOf(outcome: Call['outcome'], n: number, more: Partial<Call> = {}): Call {
  return {
    id: `chatcmpl-${outcome}`,
    endpoint: n % 3 === 1 ? '/v1/responses' : '/v1/chat/completions',
    requestId: `req_${n}${outcome}`,
    beganAt: ago({ hours: n, minutes: n * 3 }),
    model: ['small-1', 'large-2', 'odd-3'][n % 3] ?? '',
    keyPairId: id(71),
    keyName: n % 4 === 3 ? null : `key ${n}`,
    conversationId: n % 2 === 0 ? `talk-${n}` : null,
    streamed: n % 2 === 0,
    status: outcome === 'gateway_died' ? 0 : 200 + n,
    outcome,
    title: wordsOf(outcome).title,
    finishReason: outcome === 'completed' ? 'stop' : null,
    errorCode: n > 2 ? `error_${n}` : null,
    firstTokenMs: n > 4 ? null : 210 + n * 13,
    durationMs: 1_480 * (n + 1) + 7,
    tries: n,
    tokens: { input: 1_001 + n, cachedInput: 210 * n, cacheWrite: 33 * n, output: 4_010 + n * 5, reasoning: 57 * n },
    chargedNanos: n > 2 ? 0n : 1_234_567n * BigInt(n * n + 1),
    ...more,
  }
}

export const COMPLETED: CallDetail = {
  ...callOf('completed', 0, {
    status: 200,
    conversationId: CONVERSATION,
    tokens: tokens(1_501, 2_502, 3_503, 404, 95),
  }),
  ...detailsOf('completed'),
  keyName: 'web server',
  usageSource: 'reported',
  heldNanos: 98_000_000n,
  worthNanos: 7_654_321n,
  chargedNanos: 7_654_321n,
  roundingNanos: 1n,
  savedNanos: 56_287n,
  isRecomputed: true,
  lines: {
    input: { tokens: 1_501, price: 150_000_000n, nanos: 225_150n },
    cachedInput: { tokens: 2_502, price: 75_000_000n, nanos: 187_650n },
    cacheWrite: { tokens: 3_503, price: 187_500_000n, nanos: 656_812n },
    output: { tokens: 404, price: 600_000_000n, nanos: 242_400n },
    reasoning: { tokens: 95, price: 610_000_000n, nanos: 57_950n },
  },
  phases: [
    { kind: 'prepared', fromMs: 0, toMs: 12, attempt: null, why: null },
    { kind: 'failed', fromMs: 12, toMs: 340, attempt: 1, why: 'answered with status 500' },
    { kind: 'waited', fromMs: 340, toMs: 910, attempt: 2, why: null },
    { kind: 'answered', fromMs: 910, toMs: 1_487, attempt: null, why: null },
  ],
  metadata: [
    { key: 'order', value: 'A-1017' },
    { key: 'plan', value: 'free' },
  ],
  recommendation: carried({
    state: 'delivered',
    clicks: [
      {
        id: id(972),
        at: ago({ minutes: 1 }),
        verdict: 'valid',
        label: VERDICT_LABELS.valid.label,
        shareNanos: 128_800_000n,
        state: 'pending',
      },
      {
        id: id(973),
        at: ago({ seconds: 50 }),
        verdict: 'previewer',
        label: VERDICT_LABELS.previewer.label,
        shareNanos: 0n,
        state: 'unpaid',
      },
    ],
  }),
}

/** Charged less than it was worth, from a deleted key, and corrected later. */
export const BROKEN: CallDetail = {
  ...callOf('upstream_failed', 3, { status: 502, tries: 1 }),
  ...detailsOf('upstream_failed'),
  errorMessage: 'The model provider could not answer.',
  usageSource: 'estimated',
  heldNanos: 5_000_000n,
  worthNanos: 900_000n,
  chargedNanos: 300_000n,
  roundingNanos: 0n,
  savedNanos: 0n,
  isRecomputed: false,
  priceEffectiveFrom: null,
  lines: {
    input: { tokens: 6, price: 150_000_000n, nanos: 900n },
    cachedInput: { tokens: 0, price: 0n, nanos: 0n },
    cacheWrite: { tokens: 0, price: 0n, nanos: 0n },
    output: { tokens: 8, price: 600_000_000n, nanos: 4_800n },
    reasoning: { tokens: 0, price: 0n, nanos: 0n },
  },
  phases: [
    { kind: 'prepared', fromMs: 0, toMs: 20, attempt: null, why: null },
    { kind: 'waited', fromMs: 20, toMs: 220, attempt: 1, why: null },
    { kind: 'answered', fromMs: 220, toMs: 5_927, attempt: null, why: 'broke off' },
  ],
  corrections: [
    { kind: 'refund', amountNanos: 100_000n, createdAt: ago({ hours: 1 }) },
    { kind: 'late_charge', amountNanos: -20_000n, createdAt: ago({ minutes: 30 }) },
  ],
}

function detailsOf(outcome: Call['outcome']) {
  const { explanation, advice } = wordsOf(outcome)
  return {
    explanation,
    advice,
    errorMessage: null,
    heldAt: ago({ minutes: 3 }),
    settledAt: ago({ minutes: 2 }),
    priceVersion: 17n,
    priceEffectiveFrom: ago({ days: 20 }),
    corrections: [],
    metadata: [],
    recommendation: null,
  }
}

function carried(more: Partial<Carried>): Carried {
  return {
    id: id(961),
    at: ago({ minutes: 2 }),
    headline: 'Copper pot, 3 l',
    advertiser: 'Pots Ltd',
    label: 'Ad',
    turn: 4,
    relevance: 0.731,
    hint: null,
    priceNanos: 184_000_001n,
    state: 'test',
    clicks: [],
    ...more,
  }
}

function tokens(input: number, cachedInput: number, cacheWrite: number, output: number, reasoning: number) {
  return { input, cachedInput, cacheWrite, output, reasoning }
}

function message(seq: bigint, role: string, more: Partial<Message>): Message {
  const nothing = { parts: [], refusal: null, toolCalls: [], toolCallId: null, call: null, recommendation: null }
  return { seq, role, at: ago({ hours: 2, minutes: 60 - Number(seq) * 7 }), text: 'kept', ...nothing, ...more }
}

const text = (said: string) => [{ kind: 'text' as const, text: said }]
const CALL_OF_REPLY: NonNullable<Message['call']> = {
  id: 'chatcmpl-reply',
  model: 'small-1',
  outcome: 'completed',
  durationMs: 2_345,
  firstTokenMs: 321,
  inputTokens: 640,
  outputTokens: 85,
  chargedNanos: 55_500n,
}
const MESSAGES: Message[] = [
  message(1n, 'system', { parts: text('You are a *cook*.\nBe brief.') }),
  message(2n, 'user', {
    parts: [
      ...text('What is in this dish?'),
      { kind: 'image', address: 'https://img.example.com/dish.png' },
      { kind: 'other', text: 'input_audio' },
    ],
  }),
  message(3n, 'assistant', {
    parts: text('**Rice** and [beans](https://beans.example.com).'),
    toolCalls: [{ id: 'tool-1', name: 'weigh', arguments: '{"grams":250}' }],
    call: CALL_OF_REPLY,
    recommendation: carried({
      priceNanos: 4_000_000n,
      state: 'delivered',
      clicks: [
        {
          id: id(971),
          at: ago({ hours: 1, minutes: 11 }),
          verdict: 'valid',
          label: VERDICT_LABELS.valid.label,
          shareNanos: 2_800_000n,
          state: 'pending',
        },
      ],
    }),
  }),
  message(4n, 'tool', { parts: text('250 g'), toolCallId: 'tool-1' }),
  message(5n, 'assistant', {
    refusal: 'I cannot say that.',
    call: { ...CALL_OF_REPLY, id: 'chatcmpl-2', model: 'large-2' },
  }),
  message(6n, 'user', { text: 'expired' }),
  message(7n, 'assistant', { text: 'not_kept' }),
]

export const TALK: Given<'GET /api/projects/:project/conversations/:conversation'> = {
  id: CONVERSATION,
  title: 'What is in this dish?',
  createdAt: ago({ hours: 4 }),
  lastCallAt: ago({ hours: 1, minutes: 20 }),
  calls: 3,
  messages: 7,
  hasMoreMessages: false,
  inputTokens: 12_345n,
  outputTokens: 6_789n,
  chargedNanos: 3_210_000n,
  paidClicks: 1,
  earnedNanos: 2_800_000n,
  contentRetentionDays: 45,
}

type Refused = Given<'GET /api/projects/:project/refused-requests'>['items'][number]

const WRONG_VALUE: Refused = {
  id: id(91),
  firstAt: ago({ minutes: 2 }),
  lastAt: ago({ minutes: 2 }),
  times: 1n,
  status: 422,
  code: 'invalid_value',
  message: 'temperature must be at most 2.',
  param: 'temperature',
  endpoint: 'POST /v1/chat/completions',
  model: 'small-1',
  keyPairId: id(71),
  keyName: 'web server',
  viaSession: false,
  explanation: { what: 'A field is wrong.', advice: 'Mend the field.' },
}

const WRONG_KEYS: Refused = {
  ...WRONG_VALUE,
  id: id(92),
  firstAt: ago({ hours: 3 }),
  lastAt: ago({ hours: 2 }),
  times: 1_204n,
  status: 401,
  code: 'keys_invalid',
  message: 'The key pair is not valid.',
  param: null,
  model: null,
  keyName: null,
  explanation: { what: 'The keys are wrong.', advice: 'Copy both again.' },
}

/** A refusal with a code that only a newer version knows. */
const OVER: Refused = { ...WRONG_KEYS, id: id(93), code: 'brand_new', times: 2n, viaSession: true, explanation: null }

export const CALLS: Replies = {
  'GET /api/projects/:project/calls': ({ query }) =>
    query.after === undefined
      ? { items: CALL_OUTCOMES.map((outcome, n) => callOf(outcome, n)), next: 'after-calls', searchedTo: null }
      : { items: [callOf('completed', 9, { id: 'chatcmpl-older' })], next: null, searchedTo: null },
  'GET /api/projects/:project/calls/:call': ({ params }) => (params.call === CALL ? COMPLETED : BROKEN),
  'GET /api/projects/:project/ignored-fields': {
    items: [
      { name: 'reasoning_efort', times: 12n, lastAt: ago({ hours: 3 }), suggestion: 'reasoning_effort' },
      { name: 'thinking_budget', times: 1n, lastAt: ago({ days: 2 }), suggestion: null },
    ],
  },
  'GET /api/projects/:project/refused-requests': ({ query }) =>
    query.after === undefined
      ? { items: [WRONG_VALUE, WRONG_KEYS, OVER], next: 'after-refused' }
      : { items: [{ ...WRONG_VALUE, id: id(94), times: 3n }], next: null },
  'GET /api/projects/:project/refused-request-filters': {
    codes: [
      { code: 'keys_invalid', status: 401 },
      { code: 'invalid_value', status: 422 },
    ],
    keys: [{ id: id(71), name: 'web server' }],
  },
  'GET /api/projects/:project/call-filters': {
    models: ['small-1', 'odd-3', 'large-2'],
    keys: [
      { id: id(71), name: 'web server' },
      { id: id(72), name: 'nightly import' },
    ],
  },
  'GET /api/projects/:project/conversations': ({ query }) =>
    query.after === undefined
      ? {
          items: [
            TALK,
            {
              ...TALK,
              id: 'long:talk',
              title: null,
              messages: 200,
              hasMoreMessages: true,
              calls: 199,
              lastCallAt: ago({ days: 2 }),
              chargedNanos: 9_870_000_000n,
              paidClicks: 0,
              earnedNanos: 0n,
            },
            {
              ...TALK,
              id: 'new-talk',
              title: 'Hello',
              messages: 2,
              calls: 1,
              lastCallAt: ago({ seconds: 4 }),
              inputTokens: null,
              outputTokens: null,
              chargedNanos: null,
              paidClicks: 0,
              earnedNanos: 0n,
            },
          ],
          next: 'after-talks',
        }
      : { items: [{ ...TALK, id: 'old-talk', title: 'Older', lastCallAt: ago({ days: 44 }) }], next: null },
  'GET /api/projects/:project/conversations/:conversation': TALK,
  'GET /api/projects/:project/conversations/:conversation/messages': ({ query }) =>
    query.after === undefined
      ? { items: MESSAGES, next: 'after-7' }
      : { items: [message(8n, 'user', { parts: text('And now?') })], next: null },
  'DELETE /api/projects/:project/conversations/:conversation': { done: true },
}
