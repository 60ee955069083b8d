import { z } from 'zod'
import { CALL_OUTCOMES } from '../../rules/billing/charging.ts'
import { METADATA_KEY_CHARACTERS_MAX, METADATA_VALUE_CHARACTERS_MAX } from '../../rules/calls/metadata.ts'
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
    .regex(/^\d{1,9}(\.\d{1,9})?$/, 'Write an amount like 0.05.')
    .optional(),
  streamed: z.enum(['true', 'false']).optional(),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
})

function expectWholePair(query: z.output<typeof filters>, context: z.RefinementCtx): void {
  const { metadata_key: key, metadata_value: value } = query
  if (key === undefined && value !== undefined)
    context.addIssue({ code: 'custom', path: ['metadata_key'], message: 'Write the key that has this value.' })
  if (key !== undefined && value === undefined)
    context.addIssue({ code: 'custom', path: ['metadata_value'], message: 'Write the value that this key has.' })
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
  /** What the tokens are worth at the frozen price; less may have been charged, never more. */
  worthNanos: amount,
  priceVersion: amount,
  priceEffectiveFrom: time.nullable(),
  lines: forEachClass(line),
  roundingNanos: amount,
  /** What the provider's cache has saved; less than nothing where more was written to it than read. */
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
  /** What the caller sent along, by key; empty when there was none, or it is kept no longer. */
  metadata: z.array(z.object({ key: z.string(), value: z.string() })),
})

/** A file of many rows is made while it is sent. */
const rows = z.custom<AsyncIterable<string>>((value) => Symbol.asyncIterator in Object(value))

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
})
