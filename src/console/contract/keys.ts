import { z } from 'zod'
import { DAY_MS, SECOND_MS } from '../../rules/durations.ts'
import { amount, done, entries, id, name, time } from './fields.ts'

const keyPair = z.object({
  id,
  name: z.string(),
  publishableKey: z.string(),
  /** Its beginning and its last four characters. The secret itself is stored nowhere. */
  secretHint: z.string(),
  status: z.enum(['active', 'ending', 'inactive', 'expired']),
  explanation: z.string(),
  createdAt: time,
  /** Null when an operator made it, or somebody who has left. */
  createdBy: z.string().nullable(),
  /** Brought up to date once a minute. */
  lastUsedAt: time.nullable(),
  expiresAt: time.nullable(),
  /** The pair that took its place. */
  replacedBy: id.nullable(),
  spent30dNanos: amount,
})

/** The only answer that ever holds a secret key. */
const newKeyPair = z.object({
  id,
  name: z.string(),
  publishableKey: z.string(),
  secretKey: z.string(),
  gatewayUrl: z.string(),
  /** One that the project can call, for examples; null when there is none. */
  model: z.string().nullable(),
  /** For a pair that replaces another: when that one ends. */
  oldEndsAt: time.nullable(),
})

const DAY_SECONDS = DAY_MS / SECOND_MS

export const keys = entries({
  'GET /api/projects/:project/keys': {
    access: 'project',
    role: 'viewer',
    reply: z.object({ items: z.array(keyPair) }),
  },
  // Needs an activated account and a verified domain.
  'POST /api/projects/:project/keys': {
    access: 'project',
    role: 'developer',
    freshProof: true,
    body: z.object({ name, expiresInDays: z.number().int().min(1).max(3_650).nullable().default(null) }),
    reply: newKeyPair,
  },
  // A new pair for the same purpose. The old one works on for the overlap.
  'POST /api/projects/:project/keys/:key/roll': {
    access: 'project',
    role: 'developer',
    freshProof: true,
    body: z.object({
      overlapSeconds: z
        .number()
        .int()
        .min(0)
        .max(7 * DAY_SECONDS)
        .default(DAY_SECONDS),
    }),
    reply: newKeyPair,
  },
  // Ends a replaced pair before its overlap is over.
  'POST /api/projects/:project/keys/:key/end': { access: 'project', role: 'developer', freshProof: true, reply: done },
  'PATCH /api/projects/:project/keys/:key': {
    access: 'project',
    role: 'developer',
    freshProof: true,
    body: z.object({ active: z.boolean() }),
    reply: done,
  },
  'DELETE /api/projects/:project/keys/:key': { access: 'project', role: 'developer', freshProof: true, reply: done },
})
