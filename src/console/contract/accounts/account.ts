import { z } from 'zod'
import { code, newPassword, password } from './sign-in.ts'
import { done, entries, id, name, personName, time } from '../fields.ts'

const recoveryCodes = z.array(z.string())

export const account = entries({
  'PATCH /api/me': { access: 'user', body: z.object({ name: personName }), reply: done },
  // Every other session ends, and this one gets a new cookie.
  'POST /api/me/password': { access: 'user', freshProof: true, body: z.object({ newPassword }), reply: done },
  // Makes this session's proof of identity fresh. With two-factor on, the code is needed as well.
  'POST /api/me/proof': { access: 'user', body: z.object({ password, code: code.optional() }), reply: done },
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
    freshProof: true,
    // A stranger who signed up with somebody else's address must not keep its owner out with it.
    confirmed: true,
    reply: z.object({ uri: z.string(), recoveryCodes }),
  },
  'POST /api/me/two-factor/confirm': { access: 'user', freshProof: true, body: z.object({ code }), reply: done },
  'POST /api/me/two-factor/recovery-codes': { access: 'user', freshProof: true, reply: z.object({ recoveryCodes }) },
  'POST /api/me/two-factor/disable': { access: 'user', freshProof: true, reply: done },
  // confirm is the account's own email address, typed.
  'POST /api/me/delete': {
    access: 'user',
    freshProof: true,
    body: z.object({ confirm: z.string().max(320) }),
    reply: done,
  },

  'PATCH /api/publishers/:publisher': { access: 'publisher', role: 'admin', body: z.object({ name }), reply: done },
})
