/** Requests that a test sends as they stand here, and answers of which it checks that they are what the schemas say. */

const MODEL = 'parley-small'
const hello = { role: 'user', content: 'Say hello.' }

interface Example {
  summary: string
  value: unknown
}

export const REQUEST_EXAMPLES = {
  ChatCompletionRequest: {
    plain: { summary: 'One JSON answer', value: { model: MODEL, messages: [hello] } },
    stream: {
      summary: 'A stream, with its usage at the end',
      value: { model: MODEL, messages: [hello], stream: true, stream_options: { include_usage: true } },
    },
    tools: {
      summary: 'A tool that the model may call',
      value: {
        model: MODEL,
        messages: [{ role: 'user', content: 'What is the weather in Oslo?' }],
        tools: [
          {
            type: 'function',
            function: {
              name: 'weather',
              description: 'The weather of a city, now.',
              parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
            },
          },
        ],
      },
    },
    fallbacks: {
      summary: 'Another model, should the first one fail',
      value: { model: MODEL, models: ['parley-large'], messages: [hello], metadata: { feature: 'summaries' } },
    },
  },
  ResponseRequest: {
    plain: { summary: 'One JSON answer', value: { model: MODEL, input: 'Say hello.' } },
    stream: {
      summary: 'A stream of events',
      value: { model: MODEL, instructions: 'Be brief.', input: [hello], stream: true },
    },
  },
  EmbeddingsRequest: {
    texts: {
      summary: 'Two texts',
      value: { model: 'parley-embedding', input: ['A lamp for reading', 'A quiet fan'] },
    },
  },
  SessionRequest: {
    defaults: { summary: 'A quarter of an hour, 50 calls, $0.50', value: {} },
    bounded: {
      summary: 'For one end user, with bounds of its own',
      value: { end_user: 'customer-17', calls: 20, money: '250000000', seconds: 600, models: [MODEL] },
    },
  },
  ConversionRequest: {
    purchase: {
      summary: 'A purchase after a click',
      value: {
        id: 'order-1042',
        event_type: 'purchase',
        timestamp: 1_763_456_789,
        value: 249,
        currency_code: 'EUR',
        user_data: { click_id: '019a8f0c-2b7d-7c10-a5e3-f4b6c8d9e0f1' },
      },
    },
  },
} as const satisfies Record<string, Record<string, Example>>

const ID = 'chatcmpl-019a8f0c2b7d7c10a5e3f4b6c8d9e0f1'
const CREATED = 1_763_456_789
const usage = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 }
const prices = {
  unit: 'nanos per million tokens',
  input: '150000000',
  cached_input: '75000000',
  cache_write: '0',
  output: '600000000',
  reasoning: '600000000',
}
const entry = {
  id: MODEL,
  object: 'model',
  created: CREATED,
  owned_by: 'simulator',
  context_window: 128_000,
  max_output_tokens: 16_384,
  pricing: prices,
}

export const ANSWER_EXAMPLES = {
  ChatCompletion: {
    id: ID,
    object: 'chat.completion',
    created: CREATED,
    model: MODEL,
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there.' }, finish_reason: 'stop' }],
    usage,
  },
  EmbeddingList: {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.0132, -0.0271, 0.0894] }],
    model: 'parley-embedding',
    usage: { prompt_tokens: 4, total_tokens: 4 },
  },
  ModelList: { object: 'list', data: [entry] },
  Model: entry,
  Credits: {
    object: 'credits',
    unit: 'nanos of a credit',
    balance_nanos: '10000000000',
    held_nanos: '0',
    available_nanos: '10000000000',
    limits: [
      { of: 'key_pair', name: 'requests_per_minute', limit: 60, left: 59, renews_at: '2026-11-18T10:01:00.000Z' },
    ],
    budgets: [
      {
        of: 'project',
        period: 'day',
        limit_nanos: '25000000000',
        spent_nanos: '3300',
        left_nanos: '24999996700',
        renews_at: '2026-11-19T00:00:00.000Z',
      },
    ],
  },
  Receipt: {
    id: ID,
    object: 'receipt',
    created: CREATED,
    settled: CREATED + 1,
    request_id: '019a8f0c-2b7d-7c10-a5e3-f4b6c8d9e0f1',
    conversation_id: null,
    endpoint: '/v1/chat/completions',
    model: MODEL,
    streamed: false,
    status: 200,
    outcome: 'completed',
    finish_reason: 'stop',
    error_code: null,
    usage: {
      input_tokens: 10,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 3,
      reasoning_tokens: 0,
      source: 'reported',
    },
    price: { version: '1', ...prices },
    held_nanos: '2459100',
    charged_nanos: '3300',
    recomputed: { charge_nanos: '3300', matches: true },
    cache: { read_tokens: 0, written_tokens: 0, saved_nanos: '0' },
    recommendation_credit_nanos: '0',
    corrections: [],
    timings: { first_token_ms: 41, duration_ms: 64 },
    attempts: [{ model: MODEL, ms: 58, failed: null }],
  },
  Session: {
    object: 'session',
    id: '019a8f0c-2b7d-7c10-a5e3-f4b6c8d9e0f1',
    secret_key: 'ply_es_…',
    expires_at: '2026-11-18T10:10:00.000Z',
    domain: 'example.com',
    origins: null,
    end_user: 'customer-17',
    models: [MODEL],
    max_tokens: null,
    calls: 20,
    unit: 'nanos of a credit',
    money: '250000000',
  },
} as const

function chunk(choices: unknown[], more: object = {}): string {
  return `data: ${JSON.stringify({ id: ID, object: 'chat.completion.chunk', created: CREATED, model: MODEL, choices, ...more })}\n\n`
}

function delta(said: object, finishReason: string | null = null): string {
  return chunk([{ index: 0, delta: said, finish_reason: finishReason }])
}

export const EVENT_EXAMPLES = {
  ChatCompletion: [
    delta({ role: 'assistant', content: '' }),
    delta({ content: 'Hello' }),
    delta({ content: ' there.' }),
    delta({}, 'stop'),
    chunk([], { usage }),
    'data: [DONE]\n\n',
  ].join(''),
  Failed: [
    delta({ role: 'assistant', content: '' }),
    delta({ content: 'Hello' }),
    `data: ${JSON.stringify({ error: { message: 'The model provider could not answer. Retry.', type: 'api_error', code: 'upstream_failed' } })}\n\n`,
  ].join(''),
}
