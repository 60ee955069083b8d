import { betterAuth, type BetterAuthPlugin } from 'better-auth'
import { APIError, createAuthEndpoint } from 'better-auth/api'
import { setSessionCookie } from 'better-auth/cookies'
import { twoFactor } from 'better-auth/plugins'
import { AsyncLocalStorage } from 'node:async_hooks'
import { z } from 'zod'
import type { Passwords } from '../../platform/passwords.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import type { Db } from '../../store/database.ts'
import { noteCauses } from './auth-errors.ts'

/**
 * The sign-in library, set up for our tables. Its own HTTP router is not mounted: our routes (sign-in.ts, settings.ts)
 * call its functions, so that origin, throttles, errors and replies are the same as everywhere else.
 *
 * What it stores: passwords as argon2id; tokens of second steps as digests; secrets of second factors and recovery codes
 * sealed; session tokens as they are, but the cookie carries them signed under the server's secret, so that who reads the
 * table can open no session.
 */

const HOUR_S = 3_600
/** A session ends when it was not used for this long … */
const IDLE_S = 12 * HOUR_S
/** … and is renewed at most this often. */
const RENEW_EVERY_S = HOUR_S
/** … and ends in any case this long after signing in. */
export const SESSION_LONGEST_MS = 7 * 24 * HOUR_S * 1_000

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

export type Auth = ReturnType<typeof createAuth>

export function createAuth({ db, secrets, secretVersions, passwords, consoleUrl }: AuthOptions) {
  const isHttps = consoleUrl.startsWith('https://')
  const keyOf = (version: number) => secrets.keyFor('console', version).toString('base64url')
  const auth = betterAuth({
    appName: 'Parley',
    baseURL: `${consoleUrl}/api/auth`,
    secrets: secretVersions.map((version) => ({ version, value: keyOf(version) })),
    database: { db, type: 'postgres' },
    // Nothing of it is printed: it is how the library says why it failed.
    logger: { level: 'error', log: (_level, _message, ...causes) => noteCauses(causes) },
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    trustedOrigins: [consoleUrl],
    advanced: {
      cookiePrefix: cookiePrefixOf(consoleUrl),
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
      password: {
        hash: (password) => passwords.hash(password),
        verify: async ({ password, hash }) => afterProof.getStore() ?? passwords.verify(password, hash),
      },
    },
    session: {
      ...TABLES.session,
      expiresIn: IDLE_S,
      updateAge: RENEW_EVERY_S,
      additionalFields: {
        // Signing in is a proof of who one is.
        provenAt: { type: 'date', fieldName: 'proven_at', input: false, defaultValue: () => new Date() },
      },
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
      ownEndpoints,
    ],
  })
  return {
    api: auth.api,
    /**
     * The library asks for the password before it touches a second factor. Our routes have asked before: for a fresh
     * proof, which may have been another one. In here, its question is answered with yes.
     */
    afterProof: <T>(work: () => Promise<T>) => afterProof.run(true, work),
  }
}

const afterProof = new AsyncLocalStorage<true>()

/** Endpoints that our routes need in addition to the library's own. Not reachable over HTTP. */
const ownEndpoints = {
  id: 'own-endpoints',
  endpoints: {
    /** Finds the user who has given their password and is asked for a code now, by the cookie that they got for it. */
    findPendingUser: createAuthEndpoint(
      '/find-pending-user',
      { method: 'POST', metadata: { SERVER_ONLY: true } },
      async (context) => {
        const { createAuthCookie, secret, internalAdapter } = context.context
        const step = await context.getSignedCookie(createAuthCookie('two_factor').name, secret)
        const pending = step ? await internalAdapter.findVerificationValue(step) : null
        return context.json({ userId: pending?.value })
      },
    ),
    /** A session for somebody who has shown who they are in a way that the library does not know. */
    openSession: createAuthEndpoint(
      '/open-session',
      { method: 'POST', body: z.object({ userId: z.uuid() }), metadata: { SERVER_ONLY: true } },
      async (context) => {
        const { internalAdapter } = context.context
        const user = await internalAdapter.findUserById(context.body.userId)
        const session = user && (await internalAdapter.createSession(user.id))
        if (!session) throw new APIError('UNAUTHORIZED')
        await setSessionCookie(context, { session, user })
        return context.json({ token: session.token })
      },
    ),
  },
} satisfies BetterAuthPlugin

export function sessionCookieOf(consoleUrl: string): string {
  return `${cookiePrefixOf(consoleUrl)}.session_token`
}

/** With https, no other host can set or get what begins with __Host-. */
export function cookiePrefixOf(consoleUrl: string): string {
  return consoleUrl.startsWith('https://') ? '__Host-parley' : 'parley'
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
