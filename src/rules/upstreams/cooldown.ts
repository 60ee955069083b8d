import { MINUTE_MS } from '../durations.ts'

/** How long a key is left alone after a 429. */

const COOLDOWN_MS_MAX = MINUTE_MS
const GUESS_MS = { first: 1_000, most: 30_000 }

/**
 * Returns the time that the provider names, if it names one. Otherwise a guess that doubles with each 429 in a row; `chance`
 * (0 to 1) makes it up to a half shorter, so that gateways that were refused together do not come back together.
 */
export function cooldownMs(retryAfterSeconds: number | undefined, inARow: number, chance: number): number {
  if (retryAfterSeconds !== undefined) return Math.min(Math.max(retryAfterSeconds * 1_000, 0), COOLDOWN_MS_MAX)
  const guessMs = Math.min(GUESS_MS.first * 2 ** (inARow - 1), GUESS_MS.most)
  return guessMs * (1 - chance / 2)
}
