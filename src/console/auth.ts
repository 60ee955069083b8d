import { betterAuth } from 'better-auth'
import { createEmailVerificationToken } from 'better-auth/api'
import { twoFactor } from 'better-auth/plugins'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Passwords } from '../platform/passwords.ts'
import type { Secrets } from '../platform/secrets.ts'
import { uuidv7 } from '../platform/uuid.ts'
import type { Db } from '../store/database.ts'
import { postMail } from './mail.ts'

/**
 * The sign-in library, set up for our tables. Its own HTTP router is not mounted: our routes (accounts.ts, settings.ts)
 * call its functions, so that origin, throttles, errors and replies are the same as everywhere else.
 *
 * What it stores: passwords as argon2id; tokens of password resets and second steps as digests; secrets of second factors
 * and recovery codes sealed; session tokens as they are, but the cookie carries them signed under the server's secret, so
 * that who reads the table can open no session. Links that confirm an address are signed and stored nowhere.
 */

const HOUR_S = 3_600
/** A session ends when it was not used for this long … */
const IDLE_S = 12 * HOUR_S
/** … and is renewed at most this often. */
const RENEW_EVERY_S = HOUR_S
/** … and ends in any case this long after signing in. */
export const SESSION_LONGEST_MS = 7 * 24 * HOUR_S * 1_000
const CONFIRM_WITHIN_S = 24 * HOUR_S

/** Only our own server sets it: the headers that the library sees are made for it. */
export const CLIENT_IP_HEADER = 'x-parley-client-ip'

export interface AuthOptions {
  db: Db
  secrets: Secrets
  /** The numbers of all root secrets, newest first: what was sealed under an old one can still be read. */
  secretVersions: readonly number[]
  passwords: Passwords
  consoleUrl: string
}

interface ResetUser {
  id: string
  name: string
  email: string
  emailVerified: boolean
}

/** Where the library tells whose password it has set: only to its callback, and not to who called it. */
const resets = new AsyncLocalStorage<{ user?: ResetUser }>()

export type Auth = ReturnType<typeof createAuth>

export function createAuth({ db, secrets, secretVersions, passwords, consoleUrl }: AuthOptions) {
  const isHttps = consoleUrl.startsWith('https://')
  const keyOf = (version: number) => secrets.keyFor('console', version).toString('base64url')
  const auth = betterAuth({
    appName: 'Parley',
    baseURL: `${consoleUrl}/api/auth`,
    secrets: secretVersions.map((version) => ({ version, value: keyOf(version) })),
    database: { db, type: 'postgres' },
    logger: { disabled: true },
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    trustedOrigins: [consoleUrl],
    advanced: {
      cookiePrefix: isHttps ? '__Host-parley' : 'parley',
      useSecureCookies: false,
      defaultCookieAttributes: { secure: isHttps, httpOnly: true, sameSite: 'lax', path: '/' },
      database: { generateId: () => uuidv7() },
      ipAddress: { ipAddressHeaders: [CLIENT_IP_HEADER] },
    },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: 12,
      maxPasswordLength: 128,
      revokeSessionsOnPasswordReset: true,
      resetPasswordTokenExpiresIn: HOUR_S,
      password: {
        hash: (password) => passwords.hash(password),
        verify: ({ password, hash }) => passwords.verify(password, hash),
      },
      onPasswordReset: noteReset,
      sendResetPassword: (reset) => postReset(db, secrets, consoleUrl, reset),
    },
    session: {
      ...TABLES.session,
      expiresIn: IDLE_S,
      updateAge: RENEW_EVERY_S,
    },
    user: TABLES.user,
    account: TABLES.account,
    verification: { ...TABLES.verification, storeIdentifier: 'hashed' },
    plugins: [
      twoFactor({
        issuer: new URL(consoleUrl).host,
        backupCodeOptions: { amount: 10, storeBackupCodes: 'encrypted' },
        schema: TABLES.twoFactor,
      }),
    ],
  })
  return {
    api: auth.api,
    /** Returns whose password it was. */
    async resetPassword(body: { token: string; newPassword: string }): Promise<ResetUser> {
      const reset: { user?: ResetUser } = {}
      await resets.run(reset, () => auth.api.resetPassword({ body }))
      if (!reset.user) throw new Error('a password was set for nobody')
      return reset.user
    },
    /** What proves, in a link, that a mail to this address was read. */
    confirmationToken: (email: string) =>
      createEmailVerificationToken(keyOf(secrets.version), email, undefined, CONFIRM_WITHIN_S),
  }
}

async function noteReset({ user: { id, name, email, emailVerified } }: { user: ResetUser }): Promise<void> {
  const reset = resets.getStore()
  if (reset) reset.user = { id, name, email, emailVerified }
}

function postReset(
  db: Db,
  secrets: Secrets,
  consoleUrl: string,
  { user, token }: { user: ResetUser; token: string },
): Promise<void> {
  const link = `${consoleUrl}/reset-password#token=${token}`
  return postMail(db, secrets, {
    recipient: user.email,
    template: 'password_reset',
    data: { name: calledBy(user), link },
  })
}

/** Whoever typed an address that is not confirmed may have typed any name beside it. */
export function calledBy({ name, email, emailVerified }: ResetUser): string {
  return emailVerified ? name : email
}

/** Its names for tables and columns, and ours. */
const DATES = { createdAt: 'created_at', updatedAt: 'updated_at' }
const TABLES = {
  user: { modelName: 'users', fields: { emailVerified: 'email_verified', ...DATES } },
  session: {
    modelName: 'sessions',
    fields: {
      userId: 'user_id',
      expiresAt: 'expires_at',
      ipAddress: 'ip_address',
      userAgent: 'user_agent',
      ...DATES,
    },
  },
  account: {
    modelName: 'credentials',
    fields: {
      userId: 'user_id',
      accountId: 'account_id',
      providerId: 'provider_id',
      accessToken: 'access_token',
      refreshToken: 'refresh_token',
      idToken: 'id_token',
      accessTokenExpiresAt: 'access_token_expires_at',
      refreshTokenExpiresAt: 'refresh_token_expires_at',
      ...DATES,
    },
  },
  verification: { modelName: 'verifications', fields: { expiresAt: 'expires_at', ...DATES } },
  twoFactor: {
    user: { fields: { twoFactorEnabled: 'two_factor_enabled' } },
    twoFactor: {
      modelName: 'two_factors',
      fields: {
        userId: 'user_id',
        backupCodes: 'backup_codes',
        failedVerificationCount: 'failed_verification_count',
        lockedUntil: 'locked_until',
      },
    },
  },
} as const
