import { z } from 'zod'
import { entries, time } from './fields.ts'

export const domain = z.object({
  /** As DNS knows it. */
  name: z.string(),
  /** As people write it: the same, unless the name is in another script. */
  displayName: z.string(),
  state: z.enum(['pending', 'verified', 'failing', 'lapsed']),
  explanation: z.string(),
  provenBy: z.enum(['dns', 'file', 'operator', 'sandbox']).nullable(),
  verifiedAt: time.nullable(),
  failingSince: time.nullable(),
  /** For a failing domain: from when calls are refused, unless the proof comes back. */
  lapsesAt: time.nullable(),
  lapsedAt: time.nullable(),
  checkedAt: time.nullable(),
  /** Null: not by itself. */
  nextCheckAt: time.nullable(),
  record: z.object({
    name: z.string(),
    /** The part of the name before the zone, which is what most DNS forms ask for. */
    host: z.string(),
    zone: z.string(),
    value: z.string(),
  }),
  file: z.object({ url: z.string(), content: z.string() }),
  /** www of an apex, or the apex of a www: a different name, which this one does not prove. */
  twin: z.string().nullable(),
  lastSeen: z
    .object({
      record: z.object({
        outcome: z.enum(['match', 'other', 'absent', 'unanswered']),
        values: z.array(z.string()),
        explanation: z.string(),
      }),
      file: z.object({
        outcome: z.enum(['match', 'other', 'absent', 'refused', 'unanswered', 'not_needed']),
        explanation: z.string(),
      }),
    })
    .nullable(),
})

export const domains = entries({
  'GET /api/projects/:project/domain': { access: 'project', role: 'viewer', reply: domain },
  // Looks for the proof now. A few times a minute at most.
  'POST /api/projects/:project/domain/check': { access: 'project', role: 'developer', network: true, reply: domain },
  // Another name has to be verified anew; until then calls are refused.
  'PATCH /api/projects/:project/domain': {
    access: 'project',
    role: 'admin',
    freshProof: true,
    body: z.object({ name: z.string().trim().min(1, 'Enter a domain like example.com.').max(2_000) }),
    reply: domain,
  },
})
