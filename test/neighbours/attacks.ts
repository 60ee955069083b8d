/** Every attack: what it is measured by, and what shows that it took place. */
import type { Habit } from './quiet.ts'
import { sumOf, textOf } from './verdict.ts'

export interface Attack {
  /** A name in attackers.ts. */
  name: string
  /** The activity of the quiet tenant during the attack. */
  habit: Habit
  /** The process that is attacked. */
  target: 'gateway' | 'console' | 'matcher'
  /** For the gateway. */
  env?: Record<string, string>
  /** Names the endings that the attacker's requests lack, if any: a broken attacker must not look like a good wall. */
  missingFrom(tally: Record<string, number>, seconds: number): string | undefined
}

const CALLS_MAX = 50

export const ATTACKS: readonly Attack[] = [
  { name: 'large bodies', habit: 'calls', target: 'gateway', missingFrom: refused(4) },
  { name: 'stalled uploads', habit: 'calls', target: 'gateway', missingFrom: refused(250, 'stalled', '408', 'closed') },
  {
    name: 'slow calls',
    habit: 'calls',
    target: 'gateway',
    env: { PARLEY_CALLS_MAX: String(CALLS_MAX) },
    missingFrom: (tally) => atLeast(tally, CALLS_MAX / 10, 'open') ?? refused(CALLS_MAX, 'open')(tally),
  },
  {
    name: 'locked wallet',
    habit: 'calls',
    target: 'gateway',
    missingFrom: (tally, seconds) =>
      // The last call of the quiet tenant is due a moment before the time is over.
      atLeast(tally, seconds * 950, 'ms locked') ?? atLeast(tally, 5, '503', '429', 'late', 'open'),
  },
  {
    name: 'poisoned batches',
    habit: 'calls',
    target: 'gateway',
    missingFrom: (tally) => atLeast(tally, 20, '200', '403', '422', '429', '500', '503'),
  },
  {
    name: 'too many tool calls',
    habit: 'calls',
    target: 'gateway',
    missingFrom: (tally) => atLeast(tally, 10, '200 with 128 calls', '429', '502', '503'),
  },
  { name: 'slow readers', habit: 'calls', target: 'gateway', missingFrom: (tally) => atLeast(tally, 4, '200') },
  {
    name: 'console reads',
    habit: 'console',
    target: 'console',
    missingFrom: (tally) => atLeast(tally, 10, '200') ?? atLeast(tally, 64, '200', '429', '503', '500'),
  },
  {
    name: 'full matcher',
    habit: 'recommendations',
    target: 'matcher',
    missingFrom: (tally) => atLeast(tally, 32, '200 without'),
  },
  { name: 'wrong keys', habit: 'calls', target: 'gateway', missingFrom: (tally) => atLeast(tally, 100, '401', '429') },
]

/** Refused for what they are: with keys that are known, and by an answer or by having been closed on. */
function refused(least: number, ...others: string[]) {
  return (tally: Record<string, number>) =>
    atLeast(tally, least, '403', '413', '422', '429', '503', 'ECONNRESET', 'EPIPE', ...others)
}

function atLeast(tally: Record<string, number>, least: number, ...endings: string[]): string | undefined {
  const counted = sumOf(Object.fromEntries(endings.map((ending) => [ending, tally[ending] ?? 0])))
  return counted >= least ? undefined : `${least} of ${endings.join(', ')} expected, there were: ${textOf(tally)}`
}
