import { z } from 'zod'
import { CALL_OUTCOMES } from '../../rules/billing/charging.ts'
import { RECOMMENDATION_OUTCOMES } from '../../rules/recommendations/matching.ts'
import { METADATA_KEY_CHARACTERS_MAX, METADATA_VALUE_CHARACTERS_MAX } from '../../rules/calls/metadata.ts'
import { carried } from './monetization.ts'
import { after, amount, count, entries, forEachClass, id, limit, page, time, tokens } from './fields.ts'

const filters = z.object({
  /** `failed` is every outcome that our side or the provider broke. */
  outcome: z.enum(['failed', ...CALL_OUTCOMES]).optional(),
  model: z.string().max(200).optional(),
  key: id.optional(),
  conversation: z.string().max(200).optional(),
  /** Both, or neither: calls whose metadata has exactly this pair. */
  metadata_key: z
    .string()
    .max(2 * METADATA_KEY_CHARACTERS_MAX)
    .optional(),
  metadata_value: z
    .string()
    .max(2 * METADATA_VALUE_CHARACTERS_MAX)
    .optional(),
  /** A request id, a completion id or a call id: finds exactly that, whatever the other filters say. */
  id: z.string().trim().max(200).optional(),
  /** In dollars. */
  min_cost: z
    .string()
    .regex(/^\d{1,9}(\.\d{1,9})?$/, 'Enter an amount like 0.05.')
    .optional(),
  /** A version of a model's price, as the costs page lists them. */
  price: z
    .string()
    .regex(/^\d{1,18}$/)
    .optional(),
  /** Whether anything was read from a provider's cache or written to it. */
  cached: z.enum(['true', 'false']).optional(),
  streamed: z.enum(['true', 'false']).optional(),
  /** 0 is a call whose server stopped; `other` is every status that the usage page does not list by itself. */
  status: z
    .string()
    .regex(/^(?:\d{1,3}|other)$/, 'Enter a status like 502.')
    .optional(),
  error_code: z.string().max(200).optional(),
  recommendation: z.enum(RECOMMENDATION_OUTCOMES).optional(),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
})

function expectWholePair(query: z.output<typeof filters>, context: z.RefinementCtx): void {
  const { metadata_key: key, metadata_value: value } = query
  if (key === undefined && value !== undefined)
    context.addIssue({ code: 'custom', path: ['metadata_key'], message: 'Enter the key that has this value.' })
  if (key !== undefined && value === undefined)
    context.addIssue({ code: 'custom', path: ['metadata_value'], message: 'Enter the value that this key has.' })
}

const call = z.object({
  /** The completion's id, as the caller got it. */
  id: z.string(),
  /** Its path. */
  endpoint: z.string(),
  requestId: z.string(),
  beganAt: time,
  model: z.string(),
  keyPairId: id,
  keyName: z.string().nullable(),
  conversationId: z.string().nullable(),
  streamed: z.boolean(),
  status: z.number(),
  outcome: z.enum(CALL_OUTCOMES),
  /** The outcome in two or three words. */
  title: z.string(),
  finishReason: z.string().nullable(),
  errorCode: z.string().nullable(),
  firstTokenMs: z.number().nullable(),
  durationMs: z.number(),
  tries: z.number(),
  tokens,
  chargedNanos: amount,
})

const line = z.object({ tokens: count, price: amount, nanos: amount })

const callDetail = call.extend({
  explanation: z.string(),
  advice: z.string().nullable(),
  errorMessage: z.string().nullable(),
  heldAt: time,
  settledAt: time,
  usageSource: z.enum(['reported', 'estimated', 'none']),
  heldNanos: amount,
  /** The value of the tokens at the frozen price; less may have been charged, never more. */
  worthNanos: amount,
  priceVersion: amount,
  priceEffectiveFrom: time.nullable(),
  lines: forEachClass(line),
  roundingNanos: amount,
  /** Savings from the provider's cache; negative where more was written to it than read. */
  savedNanos: amount,
  isRecomputed: z.boolean(),
  phases: z.array(
    z.object({
      kind: z.enum(['prepared', 'failed', 'waited', 'answered']),
      fromMs: z.number(),
      toMs: z.number(),
      attempt: z.number().nullable(),
      why: z.string().nullable(),
    }),
  ),
  corrections: z.array(z.object({ kind: z.string(), amountNanos: amount, createdAt: time })),
  /** The caller's metadata, by key; empty when there was none, or it is no longer kept. */
  metadata: z.array(z.object({ key: z.string(), value: z.string() })),
  /** The recommendation in the reply; null: there was none, or it is no longer kept. */
  recommendation: carried.nullable(),
})

/** A file of many rows is made while it is sent. */
const rows = z.custom<AsyncIterable<string>>((value) => Symbol.asyncIterator in Object(value))

const refusedRequest = z.object({
  /** The x-request-id of the first request that this stands for. */
  id,
  firstAt: time,
  lastAt: time,
  /** How many requests this stands for. */
  times: amount,
  status: z.number(),
  code: z.string(),
  /** The message to the caller. */
  message: z.string(),
  /** The field that is wrong. */
  param: z.string().nullable(),
  /** Method and path. */
  endpoint: z.string(),
  /** As the caller named it. */
  model: z.string().nullable(),
  keyPairId: id,
  /** Null: it was deleted. */
  keyName: z.string().nullable(),
  /** Sent with the secret of a browser session. */
  viaSession: z.boolean(),
  /** The meaning of the code, and what to do; null for a code that this version does not know. */
  explanation: z.object({ what: z.string(), advice: z.string() }).nullable(),
})

export const calls = entries({
  'GET /api/projects/:project/calls': {
    access: 'project',
    role: 'viewer',
    query: filters.extend({ after, limit }).superRefine(expectWholePair),
    /** `searchedTo`: the search stopped there because the filters match rarely; `next` goes on. */
    reply: page(call).extend({ searchedTo: time.nullable() }),
  },
  'GET /api/projects/:project/calls/:call': {
    access: 'project',
    role: 'viewer',
    params: z.object({ call: z.string().max(200) }),
    reply: callDetail,
  },
  /** The newest 100,000 that the filters leave. */
  'GET /api/projects/:project/calls.csv': {
    access: 'project',
    role: 'viewer',
    query: filters.superRefine(expectWholePair),
    reply: rows,
    network: true,
    format: 'csv',
  },
  /** Fields of the last month's requests that nobody reads, those that were sent last first. */
  'GET /api/projects/:project/ignored-fields': {
    access: 'project',
    role: 'viewer',
    reply: z.object({
      items: z.array(
        z.object({
          name: z.string(),
          times: amount,
          lastAt: time,
          /** The field that was probably meant. */
          suggestion: z.string().nullable(),
        }),
      ),
    }),
  },
  'GET /api/projects/:project/call-filters': {
    access: 'project',
    role: 'viewer',
    reply: z.object({ models: z.array(z.string()), keys: z.array(z.object({ id, name: z.string() })) }),
  },
  /** Newest first. */
  'GET /api/projects/:project/refused-requests': {
    access: 'project',
    role: 'viewer',
    query: z.object({
      status: z.coerce.number().int().min(400).max(499).optional(),
      code: z.string().max(50).optional(),
      key: id.optional(),
      from: z.iso.datetime({ offset: true }).optional(),
      to: z.iso.datetime({ offset: true }).optional(),
      /** A request id: finds exactly that, whatever the other filters say. */
      id: z.string().trim().max(200).optional(),
      after,
      limit,
    }),
    reply: page(refusedRequest),
  },
  'GET /api/projects/:project/refused-request-filters': {
    access: 'project',
    role: 'viewer',
    reply: z.object({
      /** Every code that there may be, with its status. */
      codes: z.array(z.object({ code: z.string(), status: z.number() })),
      keys: z.array(z.object({ id, name: z.string() })),
    }),
  },
})
