import { APIError } from 'better-auth/api'
import { AsyncLocalStorage } from 'node:async_hooks'
import { PasswordsBusyError } from '../../platform/passwords.ts'
import { ParleyError, storeUnavailable } from '../../rules/errors.ts'
import { isUnavailable, type Db } from '../../store/database.ts'
import { expectReachable } from '../../store/health.ts'

/** Calls the sign-in library and says its refusals in our words; its own texts never leave. */
export async function callAuthLibrary<T>(db: Db, work: () => Promise<T>): Promise<T> {
  const causes: unknown[] = []
  try {
    return await causesOfCall.run(causes, work)
  } catch (error) {
    if (error instanceof APIError && error.statusCode >= 500) {
      // It hides why it failed. When that was the store, it may answer again by now.
      const isStore = causes.some(isUnavailable)
      if (isStore) throw storeUnavailable({ cause: error.body?.code })
      await expectReachable(db)
    }
    throw ourErrorOf(error)
  }
}

const causesOfCall = new AsyncLocalStorage<unknown[]>()

/** Keeps the errors that the library logs. Its log leads nowhere else. */
export function noteCauses(causes: readonly unknown[]): void {
  causesOfCall.getStore()?.push(...causes)
}

/** Hashes or compares a password ourselves. */
export async function withPasswords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw ourErrorOf(error)
  }
}

function ourErrorOf(error: unknown): unknown {
  if (error instanceof PasswordsBusyError) return new ParleyError('overloaded', { retryAfterSeconds: 2 })
  if (!(error instanceof APIError)) return error
  const code = error.body?.code ?? ''
  const known = REFUSALS[code]
  if (known) return known()
  const details = { cause: code }
  return error.statusCode >= 500
    ? new ParleyError('internal', { details })
    : new ParleyError('invalid_request', { details })
}

export const usedBefore = () =>
  new ParleyError('sign_in_failed', { message: 'The code is incorrect, or was used before.' })
const startAgain = () =>
  new ParleyError('sign_in_failed', {
    message: 'This took too long or too many tries. Sign in again with your password.',
  })
const notOn = () => new ParleyError('conflict', { message: 'Two-factor sign-in is not turned on.' })

const REFUSALS: Record<string, () => ParleyError> = {
  INVALID_EMAIL_OR_PASSWORD: () => new ParleyError('sign_in_failed'),
  INVALID_CODE: usedBefore,
  INVALID_BACKUP_CODE: usedBefore,
  INVALID_TWO_FACTOR_COOKIE: startAgain,
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: startAgain,
  ACCOUNT_TEMPORARILY_LOCKED: () =>
    new ParleyError('too_many_attempts', {
      message: 'Too many wrong codes. Try again in 15 minutes.',
      retryAfterSeconds: 900,
    }),
  TOTP_ALREADY_ENABLED: () => new ParleyError('conflict', { message: 'Two-factor sign-in is already on.' }),
  TOTP_NOT_ENABLED: notOn,
  TWO_FACTOR_NOT_ENABLED: notOn,
  BACKUP_CODES_NOT_ENABLED: notOn,
}
