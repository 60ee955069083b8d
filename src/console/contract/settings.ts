import { z } from 'zod'
import { newPassword } from './accounts.ts'
import { done, entries, id, name, time } from './fields.ts'

const password = z.string().min(1, 'Write your password.').max(128)
const recoveryCodes = z.array(z.string())

export const settings = entries({
  'PATCH /api/me': { access: 'user', body: z.object({ name }), reply: done },
  // Every other session ends, and this one gets a new cookie.
  'POST /api/me/password': {
    access: 'user',
    body: z.object({ currentPassword: password, newPassword }),
    reply: done,
  },
  'GET /api/me/sessions': {
    access: 'user',
    reply: z.object({
      items: z.array(
        z.object({
          id,
          isCurrent: z.boolean(),
          ip: z.string().nullable(),
          userAgent: z.string().nullable(),
          createdAt: time,
          lastSeenAt: time,
          expiresAt: time,
        }),
      ),
    }),
  },
  'DELETE /api/me/sessions/:session': { access: 'user', reply: done },
  // Signs out everywhere else, or with keep=none here too.
  'DELETE /api/me/sessions': {
    access: 'user',
    query: z.object({ keep: z.enum(['current', 'none']).default('current') }),
    reply: done,
  },
  // Two-factor is on only after confirm was sent a code; the recovery codes are shown here and never again.
  'POST /api/me/two-factor': {
    access: 'user',
    body: z.object({ password }),
    reply: z.object({ uri: z.string(), recoveryCodes }),
  },
  'POST /api/me/two-factor/confirm': {
    access: 'user',
    body: z.object({ code: z.string().regex(/^\d{6}$/, 'Six digits.') }),
    reply: done,
  },
  'POST /api/me/two-factor/recovery-codes': {
    access: 'user',
    body: z.object({ password }),
    reply: z.object({ recoveryCodes }),
  },
  'POST /api/me/two-factor/disable': { access: 'user', body: z.object({ password }), reply: done },
  // confirm is the account's own e-mail address, typed.
  'POST /api/me/delete': { access: 'user', body: z.object({ password, confirm: z.string().max(320) }), reply: done },

  'PATCH /api/publishers/:publisher': { access: 'publisher', role: 'admin', body: z.object({ name }), reply: done },
})
