import { z } from 'zod'
import { after, amount, count, done, entries, id, limit, page, time } from './fields.ts'

/** A secret that may live in a browser, and what is left of it. */
const browserSession = z.object({
  id,
  /** Its beginning and its last four characters. The secret itself is stored nowhere. */
  secretHint: z.string(),
  key: z.object({
    id,
    name: z.string(),
    publishableKey: z.string(),
    /** Null: the session may be used. Otherwise why it is refused, as long as its pair is. */
    obstacle: z.string().nullable(),
  }),
  /** A keyed digest of the publisher's own id for them. */
  endUser: z.object({ id, label: z.string().nullable() }).nullable(),
  /** Null: all that the project may use. */
  models: z.array(z.string()).nullable(),
  /** Null: the verified domain, and below it. */
  origins: z.array(z.string()).nullable(),
  maxTokens: count.nullable(),
  callsMade: count,
  callsMax: count,
  moneyNanos: amount,
  spentNanos: amount,
  heldNanos: amount,
  createdAt: time,
  expiresAt: time,
})

/** Sessions that are not over. */
export const browserSessions = entries({
  'GET /api/projects/:project/browser-sessions': {
    access: 'project',
    role: 'viewer',
    query: z.object({ key: id.optional(), after, limit }),
    reply: page(browserSession),
  },
  'DELETE /api/projects/:project/browser-sessions/:session': {
    access: 'project',
    role: 'developer',
    freshProof: true,
    reply: done,
  },
  // All of a pair.
  'DELETE /api/projects/:project/keys/:key/browser-sessions': {
    access: 'project',
    role: 'developer',
    freshProof: true,
    reply: z.object({ ended: count }),
  },
})
