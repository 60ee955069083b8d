import { round, sumOf, textOf, type Complaint, type Observation } from './verdict.ts'

/** One attack, as it went the last time that it was tried. */
export interface Result {
  attack: string
  seen: Observation
  complaints: readonly Complaint[]
  tries: number
  /** Its times were disturbed each time, and are not judged. */
  isUntimed?: boolean
}

const HEADINGS = [
  'attack',
  'p50 before → beside',
  'p99 before → beside',
  'failed',
  'peak memory',
  'tries',
  "the attacker's requests",
]

/** The table, then what failed, then the one line that machines read. */
export function reportOf(results: readonly Result[]): string {
  const rows = [HEADINGS, ...results.map(rowOf)]
  const widths = HEADINGS.map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0)))
  const table = rows.map((row) =>
    row
      .map((text, n) => text.padEnd(widths[n] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  const failed = results.filter(({ complaints }) => complaints.length > 0)
  const untimed = results.filter(({ isUntimed }) => isUntimed)
  return [
    table.join('\n'),
    ...failed.map(({ attack, complaints }) =>
      [`FAILED ${attack}`, ...complaints.map(({ text }) => text)].join('\n    '),
    ),
    ...untimed.map(({ attack }) => `NOT TIMED ${attack}\n    other machines of the host took the processor each time`),
    `neighbours: ${results.length - failed.length} passed, ${failed.length} failed`,
  ].join('\n\n')
}

function rowOf({ attack, seen: { before, beside, peakBytes, tally }, tries }: Result): string[] {
  return [
    attack,
    `${round(before.p50Ms)} → ${round(beside.p50Ms)} ms`,
    `${round(before.p99Ms)} → ${round(beside.p99Ms)} ms`,
    `${round(sumOf(beside.failures))} of ${round(beside.calls)}`,
    `${round(peakBytes / 1e6)} MB`,
    String(tries),
    textOf(tally),
  ]
}
