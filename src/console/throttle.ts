import { createHash } from 'node:crypto'
import { ParleyError } from '../rules/errors.ts'
import type { Db } from '../store/database.ts'
import { countAttempts, forgetAttempts } from '../store/throttles.ts'

/** Limits on what can be guessed or made to send mails. Never a lock-out: somebody else could cause that on purpose. */

export interface Limit {
  /** What is limited, and by whom or for whom. */
  subject: string
  most: number
}

const MINUTE_MS = 60_000

export async function throttle(db: Db, limits: readonly Limit[], windowMs: number = MINUTE_MS): Promise<void> {
  const counted = await countAttempts(
    db,
    limits.map(({ subject }) => digestOf(subject)),
    windowMs,
  )
  const waits = counted.filter(({ attempts }, n) => attempts > (limits[n]?.most ?? 0)).map(({ endsInMs }) => endsInMs)
  if (waits.length === 0) return
  const seconds = Math.max(1, Math.ceil(Math.max(...waits) / 1_000))
  const message = `Too many attempts. Try again in ${seconds} s.`
  throw new ParleyError('too_many_attempts', { message, retryAfterSeconds: seconds })
}

/** Whether this is the first time in the window; where it is not, one does nothing and says nothing. */
export async function isFirst(db: Db, subject: string, windowMs: number = MINUTE_MS): Promise<boolean> {
  const [counted] = await countAttempts(db, [digestOf(subject)], windowMs)
  return counted?.attempts === 1
}

/** After a success: who knows the password has not been guessing. */
export async function forgive(db: Db, subject: string): Promise<void> {
  await forgetAttempts(db, digestOf(subject))
}

function digestOf(subject: string): Buffer {
  return createHash('sha256').update(subject).digest()
}
