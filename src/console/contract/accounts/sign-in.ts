import { z } from 'zod'
import { ADVERTISER_STATUSES } from '../../../rules/accounts/advertisers.ts'
import { advertiserRole, amount, done, email, entries, id, name, personName, role, time } from '../fields.ts'

/** Signing up and in, and who one is. The paths are those of the sign-in library; what they take and give is ours. */

export const password = z.string().min(1, 'Enter your password.').max(128, 'At most 128 characters.')
export const newPassword = z.string().min(12, 'At least 12 characters.').max(128, 'At most 128 characters.')
/** The code of an authenticator app. */
export const code = z.string().regex(/^\d{6}$/, 'Six digits.')
const token = z.string().min(1).max(2_000)

export const projectSummary = z.object({
  id,
  name: z.string(),
  domain: z.string(),
  domainVerifiedAt: time.nullable(),
  balanceNanos: amount,
  /** Below this the console warns and a mail is sent; null: no mail. */
  alertNanos: amount.nullable(),
  /** On a name of the operator's, for trying things out: no top-ups, no recommendations, a domain that stays. */
  isSandbox: z.boolean(),
  createdAt: time,
})

export const signIn = entries({
  // Answers the same for a known address: then its owner is told by mail.
  'POST /api/auth/sign-up/email': {
    access: 'anyone',
    body: z.object({ name: personName, email, password: newPassword, publisher: name.optional() }),
    reply: done,
  },
  // Resends at most once a minute; answers the same for any address.
  'POST /api/auth/send-verification-email': { access: 'anyone', body: z.object({ email }), reply: done },
  // The token is what follows # in the link of the mail. Ends every session of the account and signs in here.
  'POST /api/auth/verify-email': {
    access: 'anyone',
    body: z
      .object({ token, password: password.optional(), newPassword: newPassword.optional() })
      .refine((body) => (body.password === undefined) !== (body.newPassword === undefined), {
        path: ['password'],
        message: 'Enter the password of the account, or set a new one.',
      }),
    reply: z.object({ activated: z.boolean() }),
  },
  // twoFactor: true means that there is no session yet: ask for the code and send it to /two-factor/verify-totp.
  'POST /api/auth/sign-in/email': {
    access: 'anyone',
    body: z.object({ email, password, rememberMe: z.boolean().default(true) }),
    reply: z.object({ twoFactor: z.boolean() }),
  },
  'POST /api/auth/two-factor/verify-totp': {
    access: 'anyone',
    body: z.object({ code }),
    reply: done,
  },
  'POST /api/auth/two-factor/verify-backup-code': {
    access: 'anyone',
    body: z.object({ code: z.string().trim().min(1).max(50) }),
    reply: done,
  },
  'POST /api/auth/sign-out': { access: 'anyone', reply: done },
  'POST /api/auth/request-password-reset': { access: 'anyone', body: z.object({ email }), reply: done },
  'POST /api/auth/reset-password': { access: 'anyone', body: z.object({ token, newPassword }), reply: done },

  'GET /api/me': {
    access: 'user',
    reply: z.object({
      user: z.object({
        id,
        name: z.string(),
        email: z.string(),
        emailVerified: z.boolean(),
        twoFactorEnabled: z.boolean(),
        passkeys: z.number().int(),
        createdAt: time,
      }),
      publishers: z.array(
        z.object({
          id,
          name: z.string(),
          role,
          activatedAt: time.nullable(),
          projects: z.array(projectSummary),
        }),
      ),
      advertisers: z.array(
        z.object({
          id,
          name: z.string(),
          domain: z.string(),
          status: z.enum(ADVERTISER_STATUSES),
          role: advertiserRole,
        }),
      ),
      invitations: z.number().int(),
      installation: z.object({
        gatewayUrl: z.string(),
        consoleUrl: z.string(),
        canPay: z.boolean(),
        requiresApproval: z.boolean(),
      }),
    }),
  },
})
