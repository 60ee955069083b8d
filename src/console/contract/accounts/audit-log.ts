import { z } from 'zod'
import { after, entries, id, limit, page, time } from '../fields.ts'

const filters = z.object({
  /** Its name, or what the log calls it. */
  action: z.string().max(100).optional(),
  actor: id.optional(),
  project: id.optional(),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
})

export const auditLog = entries({
  'GET /api/publishers/:publisher/audit-log': {
    access: 'publisher',
    role: 'admin',
    query: filters.extend({ after, limit }),
    reply: page(
      z.object({
        seq: z.bigint().transform(String),
        at: time,
        actorId: id.nullable(),
        actor: z.string(),
        action: z.string(),
        /** The action in words. */
        title: z.string(),
        subject: z.string().nullable(),
        projectId: id.nullable(),
        ip: z.string().nullable(),
        userAgent: z.string().nullable(),
        details: z.record(z.string(), z.unknown()),
      }),
    ),
  },
  // The newest 10,000 entries that the filters leave.
  'GET /api/publishers/:publisher/audit-log.csv': {
    access: 'publisher',
    role: 'admin',
    query: filters,
    reply: z.string(),
    format: 'csv',
  },
})
