import { z } from 'zod'
import { CALL_OUTCOMES } from '../billing/charging.ts'
import { BUDGET_PERIODS, LIMIT_SCOPES } from '../billing/limits.ts'
import { PRICE_COLUMNS, TOKEN_COLUMNS } from '../billing/token-columns.ts'
import { CONVERSION_VERDICTS } from '../clicks/conversions.ts'
import { FINISH_REASONS } from '../calls/chunk.ts'
import { CALL_ENDPOINTS } from '../endpoints.ts'
import { ERRORS, type ErrorCode } from '../errors.ts'
import { responseAnswer, sponsored } from './response-answer.ts'

/** The bodies of answers. They are checked against real ones, strictly: a field more or less fails a test. */

const count = z.int().min(0)
const seconds = z.int().describe('Unix time in seconds.')
const nanos = z
  .string()
  .regex(/^-?\d+$/)
  .describe('Nanos of a credit, as text: 1000000000 is $1.')
const time = z.iso.datetime()
const logprobs = z.strictObject({ content: z.array(z.unknown()) })

const toolCall = z.strictObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string(), arguments: z.string() }),
})

const usage = z.strictObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.strictObject({ cached_tokens: count }).optional(),
  completion_tokens_details: z.strictObject({ reasoning_tokens: count }).optional(),
})

const thoughts = {
  reasoning_content: z.string().describe('What the model thought, if that is shown.').optional(),
  reasoning_signature: z.string().describe('Send it back with the thoughts in a loop of tool calls.').optional(),
}

const chatCompletion = z.strictObject({
  id: z.string().describe('Names the call everywhere, including its receipt.'),
  object: z.literal('chat.completion'),
  created: seconds,
  model: z.string().describe('The model that answered.'),
  choices: z.array(
    z.strictObject({
      index: z.literal(0),
      message: z.strictObject({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.string().optional(),
        ...thoughts,
        tool_calls: z.array(toolCall).optional(),
      }),
      logprobs: logprobs.optional(),
      finish_reason: z.enum(FINISH_REASONS),
      sponsored: sponsored.optional(),
    }),
  ),
  usage,
})

const chatCompletionChunk = z.strictObject({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: seconds,
  model: z.string(),
  choices: z
    .array(
      z.strictObject({
        index: z.literal(0),
        delta: z.strictObject({
          role: z.literal('assistant').optional(),
          content: z.string().optional(),
          refusal: z.string().optional(),
          ...thoughts,
          tool_calls: z
            .array(
              z.strictObject({
                index: count,
                id: z.string().optional(),
                type: z.literal('function').optional(),
                function: z.strictObject({ name: z.string().optional(), arguments: z.string() }),
              }),
            )
            .optional(),
        }),
        logprobs: logprobs.optional(),
        finish_reason: z.enum(FINISH_REASONS).nullable(),
      }),
    )
    .describe('One choice; none in the chunk with the usage.'),
  sponsored: sponsored.optional(),
  usage: usage.optional(),
})

const embeddingList = z.strictObject({
  object: z.literal('list'),
  data: z.array(
    z.strictObject({
      object: z.literal('embedding'),
      index: count,
      embedding: z.union([z.array(z.number()), z.base64()]),
    }),
  ),
  model: z.string(),
  usage: z.strictObject({ prompt_tokens: count, total_tokens: count }),
})

const prices = { unit: z.literal('nanos per million tokens'), ...PRICE_COLUMNS.rowOf(perClassOf(nanos)) }

const model = z.strictObject({
  id: z.string(),
  object: z.literal('model'),
  created: seconds,
  owned_by: z.string(),
  context_window: count.optional(),
  max_output_tokens: count.optional(),
  pricing: z.strictObject(prices).optional(),
})

const credits = z.strictObject({
  object: z.literal('credits'),
  unit: z.literal('nanos of a credit'),
  balance_nanos: nanos,
  held_nanos: nanos,
  available_nanos: nanos,
  limits: z.array(
    z.strictObject({
      of: z.enum(LIMIT_SCOPES),
      name: z.enum(['requests_per_minute', 'tokens_per_minute', 'calls_at_once']),
      limit: z.int(),
      left: z.int(),
      renews_at: time.nullable(),
    }),
  ),
  budgets: z.array(
    z.strictObject({
      of: z.enum(LIMIT_SCOPES),
      period: z.enum(BUDGET_PERIODS),
      limit_nanos: nanos,
      spent_nanos: nanos,
      left_nanos: nanos,
      renews_at: time.nullable(),
    }),
  ),
})

const receipt = z.strictObject({
  id: z.string(),
  object: z.literal('receipt'),
  created: seconds,
  settled: seconds,
  request_id: z.string(),
  conversation_id: z.string().nullable(),
  endpoint: z.enum(Object.values(CALL_ENDPOINTS).map(({ path }) => path)),
  model: z.string(),
  streamed: z.boolean(),
  status: z.int(),
  outcome: z.enum(CALL_OUTCOMES),
  finish_reason: z.string().nullable(),
  error_code: z.string().nullable(),
  usage: z.strictObject({
    ...TOKEN_COLUMNS.rowOf(perClassOf(count)),
    source: z.enum(['reported', 'estimated', 'none']),
  }),
  price: z.strictObject({ version: z.string(), ...prices }),
  held_nanos: nanos,
  charged_nanos: nanos,
  recomputed: z.strictObject({ charge_nanos: nanos, matches: z.boolean() }),
  cache: z.strictObject({ read_tokens: count, written_tokens: count, saved_nanos: nanos }),
  recommendation_credit_nanos: nanos,
  corrections: z.array(z.strictObject({ kind: z.string(), amount_nanos: nanos, created: seconds })),
  timings: z.strictObject({ first_token_ms: count.nullable(), duration_ms: count }),
  attempts: z.array(z.strictObject({ model: z.string(), ms: z.number(), failed: z.string().nullable() })),
})

const session = z.strictObject({
  object: z.literal('session'),
  id: z.uuid(),
  secret_key: z.string().describe('Shown only once. It replaces x-secret-key in the page.'),
  expires_at: time,
  domain: z.string(),
  origins: z.array(z.string()).nullable(),
  end_user: z.string().nullable(),
  models: z.array(z.string()).nullable(),
  max_tokens: z.int().nullable(),
  calls: z.int(),
  unit: z.literal('nanos of a credit'),
  money: nanos,
})

const conversion = z.strictObject({
  object: z.literal('conversion'),
  id: z.uuid(),
  event_id: z.string(),
  verdict: z.enum(CONVERSION_VERDICTS).describe('Only counted counts.'),
})

const error = z.strictObject({
  statusCode: z.int(),
  message: z.string().describe('What happened and what to do, in a sentence or two.'),
  error: z.string().describe('The text of the HTTP status, such as Unauthorized.'),
})

const openAIError = z.strictObject({
  statusCode: z.int(),
  message: z.string(),
  error: z.strictObject({
    message: z.string(),
    type: z.string(),
    code: z.enum(Object.keys(ERRORS) as [ErrorCode]),
    param: z.string().nullable().describe('The field that is wrong, as a path: messages[2].role.'),
  }),
})

function perClassOf<T>(value: T) {
  return { input: value, cachedInput: value, cacheWrite: value, output: value, reasoning: value }
}

export const ANSWERS = {
  ChatCompletion: chatCompletion,
  ChatCompletionChunk: chatCompletionChunk,
  Response: responseAnswer,
  EmbeddingList: embeddingList,
  ModelList: z.strictObject({ object: z.literal('list'), data: z.array(model) }),
  Model: model,
  Credits: credits,
  Receipt: receipt,
  Session: session,
  Conversion: conversion,
  Error: error,
  OpenAIError: openAIError,
}
