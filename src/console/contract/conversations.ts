import { z } from 'zod'
import { CALL_OUTCOMES } from '../../rules/billing/charging.ts'
import { SEARCH_LENGTH_MAX } from '../../rules/calls/search/text-search.ts'
import { carried } from './monetization.ts'
import { after, amount, done, entries, limit, page, rows, time } from './fields.ts'

/** The caller's own id, as in x-conversation-id. */
const params = z.object({ conversation: z.string().regex(/^[A-Za-z0-9._:-]{1,128}$/) })

const conversation = z.object({
  id: z.string(),
  /** The first line of what the user said first; null when no text is kept. */
  title: z.string().nullable(),
  createdAt: time,
  lastCallAt: time,
  calls: z.number().int(),
  messages: z.number().int(),
  /** There are more than `messages` says. */
  hasMoreMessages: z.boolean(),
  /** Null for some seconds after the first call. */
  inputTokens: amount.nullable(),
  outputTokens: amount.nullable(),
  chargedNanos: amount.nullable(),
  /** On recommendations in it, and not taken back; and what they earned. */
  paidClicks: z.number().int(),
  earnedNanos: amount,
})

const part = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('text'), text: z.string() }),
  z.object({ kind: z.literal('image'), address: z.string() }),
  z.object({ kind: z.literal('other'), text: z.string() }),
])

const message = z.object({
  seq: amount,
  role: z.string(),
  at: time,
  text: z.enum(['kept', 'not_kept', 'expired']),
  parts: z.array(part),
  refusal: z.string().nullable(),
  toolCalls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.string() })),
  toolCallId: z.string().nullable(),
  /** The call with which the message came: a reply's own, or the one that sent it. Null while it runs. */
  call: z
    .object({
      id: z.string(),
      model: z.string(),
      outcome: z.enum(CALL_OUTCOMES),
      durationMs: z.number(),
      firstTokenMs: z.number().nullable(),
      inputTokens: z.number(),
      outputTokens: z.number(),
      chargedNanos: amount,
    })
    .nullable(),
  /** The recommendation under a reply: not part of it, and never sent to a model. Null: none. */
  recommendation: carried.nullable(),
})

/** A message that was found. */
const found = z.object({
  seq: amount,
  conversation: z.string(),
  role: z.string(),
  at: time,
  snippet: z.array(z.object({ text: z.string(), isMatch: z.boolean() })),
})

export const conversations = entries({
  'GET /api/projects/:project/conversations': {
    access: 'project',
    role: 'viewer',
    /** `id`: a whole id, or a part of one of the newest 5,000. */
    query: z.object({ id: z.string().trim().max(128).optional(), after, limit }),
    reply: page(conversation),
  },
  /** In the body, and not in the address: what people look for is nobody's who reads logs. */
  'POST /api/projects/:project/message-search': {
    access: 'project',
    role: 'viewer',
    body: z.object({
      text: z
        .string()
        .trim()
        .min(1, 'Enter a word to look for.')
        .max(SEARCH_LENGTH_MAX, `At most ${SEARCH_LENGTH_MAX} characters.`),
      after,
      limit: z.number().int().min(1).max(50).default(20),
    }),
    /** A page with fewer rows than asked for and a `next`: the time for a search was over. */
    reply: page(found),
  },
  'GET /api/projects/:project/conversations/:conversation': {
    access: 'project',
    role: 'viewer',
    params,
    reply: conversation.extend({ contentRetentionDays: z.number().int() }),
  },
  'GET /api/projects/:project/conversations/:conversation/messages': {
    access: 'project',
    role: 'viewer',
    params,
    query: z.object({ after, limit }),
    reply: page(message),
  },
  /** Everything that is stored of it, as it is stored. */
  'GET /api/projects/:project/conversations/:conversation/conversation.json': {
    access: 'project',
    role: 'viewer',
    params,
    reply: rows,
    network: true,
    format: 'json',
  },
  'GET /api/projects/:project/conversations/:conversation/conversation.md': {
    access: 'project',
    role: 'viewer',
    params,
    reply: rows,
    network: true,
    format: 'markdown',
  },
  /** Its id answers 404 from then on. */
  'DELETE /api/projects/:project/conversations/:conversation': {
    access: 'project',
    role: 'admin',
    params,
    reply: done,
  },
})
