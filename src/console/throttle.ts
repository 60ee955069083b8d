import { MINUTE_MS } from '../rules/durations.ts'
import { textDigestOf } from '../rules/text-digest.ts'
import { ParleyError } from '../rules/errors.ts'
import type { Db } from '../store/database.ts'
import { countAttempts, forgetAttempts, forgetOneAttempt } from '../store/accounts/throttles.ts'

/** Limits on what can be guessed or made to send mails. Nobody may be able to use up what somebody else needs to get in. */

export interface Limit {
  /** The action that is limited, and by whom or for whom it is taken. */
  subject: string
  most: number
  /** A way in that needs no waiting, if there is one. */
  advice?: string
}

export async function throttle(db: Db, limits: readonly Limit[], windowMs: number = MINUTE_MS): Promise<void> {
  const counted = await countAttempts(
    db,
    limits.map(({ subject }) => textDigestOf(subject)),
    windowMs,
  )
  const reached = limits.flatMap(({ most, advice }, n) => {
    const { attempts = 0, endsInMs = 0 } = counted[n] ?? {}
    return attempts > most ? [{ endsInMs, advice }] : []
  })
  if (reached.length === 0) return
  const seconds = Math.max(1, Math.ceil(Math.max(...reached.map(({ endsInMs }) => endsInMs)) / 1_000))
  const advice = reached.find((limit) => limit.advice !== undefined)?.advice
  const message = `Too many attempts. ${advice ?? `Try again in ${seconds} s.`}`
  throw new ParleyError('too_many_attempts', { message, retryAfterSeconds: seconds })
}

/** Whether this is the first time in the window; where it is not, one does nothing and says nothing. */
export async function isFirst(db: Db, subject: string, windowMs: number = MINUTE_MS): Promise<boolean> {
  const [counted] = await countAttempts(db, [textDigestOf(subject)], windowMs)
  return counted?.attempts === 1
}

/** After a success: who knows the password has not been guessing. */
export async function forgive(db: Db, subjects: readonly string[]): Promise<void> {
  await forgetAttempts(db, subjects.map(textDigestOf))
}

/** After a success: it was no guess, and those before it stay counted. */
export async function uncount(db: Db, subject: string): Promise<void> {
  await forgetOneAttempt(db, textDigestOf(subject))
}
