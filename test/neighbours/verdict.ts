/** The bounds on what an attack may do to the quiet tenant, and the check that there was an attack at all. */

/** How a number of answers came. */
export interface Figures {
  calls: number
  /** The problems of failed calls, with how often each occurred. */
  failures: Record<string, number>
  p50Ms: number
  p99Ms: number
}

export interface Observation {
  before: Figures
  beside: Figures
  peakBytes: number
  /** How the attacker's own requests ended. */
  tally: Record<string, number>
  /** The output of attacked processes that ended by themselves. */
  crashes: readonly string[]
  /** Was the machine ours all the while? If not, times say nothing. */
  isCalm: boolean
}

export interface Complaint {
  text: string
  /** A machine that was slow for a moment explains it. */
  isOfTime: boolean
}

/** The complaint about a recommendation that is not there in time. The call is answered, so a few of them are no failure. */
export const NO_RECOMMENDATION = 'no recommendation'
const NO_RECOMMENDATION_SHARE_MAX = 0.1

export const P99_MORE_MS = 50
export const P99_TIMES = 3
export const MEMORY_BYTES_MAX = 1_000_000_000

export function figuresOf(answers: readonly { ms: number; complaint: string | undefined }[]): Figures {
  const sorted = answers.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN
  return {
    calls: answers.length,
    failures: countsOf(answers.flatMap(({ complaint }) => complaint ?? [])),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  }
}

export function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** The longest that 99 of 100 answers may take beside an attack. */
export function p99MaxMs(before: Figures): number {
  return Math.max(before.p99Ms + P99_MORE_MS, before.p99Ms * P99_TIMES)
}

/** `noAttack`: what shows that the attack did not take place, if anything does. */
export function complaintsOf(seen: Observation, noAttack: string | undefined): Complaint[] {
  const { before, beside, peakBytes, crashes } = seen
  const most = p99MaxMs(before)
  const complaints = [
    ...failuresIn(before, 'the quiet tenant failed before the attack'),
    ...(noAttack === undefined ? [] : [of(`the attack did not take place: ${noAttack}`)]),
    ...failuresIn(beside, 'the quiet tenant failed'),
    ...crashes.map(of),
  ]
  // Not the other way round: what could not be measured is not within its bounds.
  if (!(beside.p99Ms <= most))
    complaints.push({ text: `the p99 is ${round(beside.p99Ms)} ms, at most ${round(most)} ms`, isOfTime: true })
  if (!(peakBytes < MEMORY_BYTES_MAX))
    complaints.push(of(`the peak memory is ${round(peakBytes / 1e6)} MB, below 1,000 MB`))
  return complaints
}

function of(text: string): Complaint {
  return { text, isOfTime: false }
}

function failuresIn({ calls, failures }: Figures, what: string): Complaint[] {
  const { [NO_RECOMMENDATION]: without = 0, ...others } = failures
  const isTooOften = without > calls * NO_RECOMMENDATION_SHARE_MAX
  if (!isTooOften && sumOf(others) === 0) return []
  return [{ text: `${what}: ${textOf(failures)}`, isOfTime: sumOf(others) === 0 }]
}

export function sumOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

/** `403 × 12, late × 1` */
export function textOf(counts: Record<string, number>): string {
  const parts = Object.entries(counts).map(([name, count]) => `${name} × ${round(count)}`)
  return parts.join(', ') || 'nothing'
}

export function round(number: number): string {
  return Math.round(number).toLocaleString('en-US')
}
