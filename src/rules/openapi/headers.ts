import type { JsonSchema } from './json-schema.ts'

/** The headers of requests and answers. */

interface Parameter {
  name: string
  description: string
  schema: JsonSchema
}

export const PARAMETERS = {
  ConversationId: {
    name: 'x-conversation-id',
    description: 'Groups calls into a conversation. Yours to choose; it belongs to your project.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,128}$' },
  },
  EndUserId: {
    name: 'x-end-user-id',
    description: 'Identifies one of your users, for per-user limits and budgets. Kept only as a keyed digest.',
    schema: { type: 'string', minLength: 1, maxLength: 512 },
  },
  EndUserLabel: {
    name: 'x-end-user-label',
    description: 'Shown in the console in place of that digest.',
    schema: { type: 'string' },
  },
  Monetization: {
    name: 'x-monetization',
    description: 'off: this reply gets no recommendation.',
    schema: { type: 'string', enum: ['off'] },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    description:
      'The same key with the same body is charged once within 24 hours, and answered from the stored result. 1 to 255 visible characters.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  ErrorFormat: {
    name: 'x-error-format',
    description: 'openai: error bodies in the shape that the official SDKs show, with a code.',
    schema: { type: 'string', enum: ['openai'] },
  },
} as const satisfies Record<string, Parameter>

export type ParameterName = keyof typeof PARAMETERS

export const SECURITY_SCHEMES = {
  publishableKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-publishable-key',
    description: 'Names the project. It may be public: on its own it does nothing.',
  },
  secretKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-secret-key',
    description:
      'Proves the pair. Keep it on your server; a browser gets the secret of a session instead, from POST /v1/sessions.',
  },
  bothKeys: {
    type: 'http',
    scheme: 'bearer',
    description:
      'For tools with a single key field: publishable key, colon, secret key. Read only if both headers are missing.',
  },
  conversionKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An advertiser’s key, only for POST /v1/conversions. The operator creates it.',
  },
} as const

const RATE = 'For the tightest limit per minute that applies. Sent only if one does.'

export const ANSWER_HEADERS = {
  'x-request-id': 'Quote it when you ask for help.',
  'x-completion-id': 'The id of the call, and of its receipt.',
  'retry-after': 'How many seconds to wait before you send the same request again.',
  'idempotent-replayed': 'true: this is the stored answer of an earlier call with the same Idempotency-Key.',
  'x-ratelimit-limit-requests': RATE,
  'x-ratelimit-remaining-requests': RATE,
  'x-ratelimit-reset-requests': RATE,
  'x-ratelimit-limit-tokens': RATE,
  'x-ratelimit-remaining-tokens': RATE,
  'x-ratelimit-reset-tokens': RATE,
} as const

export type AnswerHeader = keyof typeof ANSWER_HEADERS

export const CALL_HEADERS = (Object.keys(ANSWER_HEADERS) as AnswerHeader[]).filter((name) => name !== 'retry-after')
