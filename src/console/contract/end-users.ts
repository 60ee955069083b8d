import { z } from 'zod'
import { after, amount, done, entries, id, limit, page, time } from './fields.ts'
import { limited, newLimits } from './limits.ts'

const endUser = z.object({
  /** A keyed digest of the publisher's own id for them. */
  id,
  label: z.string().nullable(),
  firstSeenAt: time,
  lastSeenAt: time,
  calls30d: amount,
  tokens30d: amount,
  spent30dNanos: amount,
  limits: limited,
})

export const endUsers = entries({
  'GET /api/projects/:project/end-users': {
    access: 'project',
    role: 'viewer',
    query: z.object({ after, limit }),
    reply: page(endUser),
  },
  /** The publisher's own id for them, or a part of their label. It is sent in the body, so that no log of addresses has it. */
  'POST /api/projects/:project/end-users/search': {
    access: 'project',
    role: 'viewer',
    body: z.object({ text: z.string().trim().min(1, 'Enter an id or a label.').max(512, 'At most 512 characters.') }),
    reply: z.object({ items: z.array(endUser) }),
  },
  'GET /api/projects/:project/end-users/:endUser': { access: 'project', role: 'viewer', reply: endUser },
  'PUT /api/projects/:project/end-users/:endUser/limits': {
    access: 'project',
    role: 'admin',
    body: newLimits,
    reply: done,
  },
  /** Everything that is known of them, but for what their calls came to. A later call makes them known again. */
  'DELETE /api/projects/:project/end-users/:endUser': { access: 'project', role: 'admin', reply: done },
})
