/** The measurements as tables in Markdown that can also be read as they are. */
import { HELD_CASE, valuesOf, type Measure, type Sample, type Verdict } from './bars.ts'
import { spreadOf, type Spread } from './statistics.ts'
import type { SubjectName } from './subject.ts'

const COLUMNS: readonly (readonly [title: string, measure: Measure])[] = [
  ['CPU ms/call', 'cpuMs'],
  ['PostgreSQL CPU ms/call', 'postgresMs'],
  ['first byte ms', 'firstByteMs'],
  ['first byte p95 ms', 'firstByteP95Ms'],
]

export function callsTable(samples: readonly Sample[]): string {
  const rows = pairsOf(samples.filter((sample) => sample.case !== HELD_CASE)).map(([name, subject]) =>
    [name, subject].concat(COLUMNS.map(([, measure]) => cellOf(samples, name, subject, measure))),
  )
  return tableOf(['case', 'subject', ...COLUMNS.map(([title]) => title)], rows)
}

export function memoryTable(samples: readonly Sample[]): string {
  const rows = pairsOf(samples.filter((sample) => sample.case === HELD_CASE)).map(([name, subject]) => [
    subject,
    cellOf(samples, name, subject, 'kbPerStream'),
  ])
  return tableOf(['subject', 'KB per held stream'], rows)
}

export function barsTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map((verdict) => [
    verdict.case,
    wordsOf(verdict),
    `≤ ${verdict.most}`,
    verdict.found ? withSpread(verdict.found) : '–',
    verdict.found ? (verdict.isReached ? 'ok' : 'falls short') : 'not measured',
  ])
  return tableOf(['case', 'Parley', 'bar', 'measured', 'verdict'], rows)
}

const WORDS: Partial<Record<Measure, string>> = {
  cpuMs: 'CPU',
  postgresMs: 'CPU of PostgreSQL',
  firstByteMs: 'first byte',
}

function wordsOf({ of, measure, as, against }: Verdict): string {
  if (measure === 'kbPerStream') return 'KB of one more held stream'
  const what = of ? `${WORDS[measure]} of \`${of}\`` : WORDS[measure]
  return as === 'ratio' ? `${what} as a share of ${against}’s` : `${what}, ms over ${against}’s`
}

/** Each pair of case and subject once, as they first came: all of a case stand together. */
function pairsOf(samples: readonly Sample[]): [string, SubjectName][] {
  const cases = [...new Set(samples.map((sample) => sample.case))]
  const subjects = [...new Set(samples.map((sample) => sample.subject))]
  const isMeasured = (name: string, subject: SubjectName) =>
    samples.some((sample) => sample.case === name && sample.subject === subject)
  return cases.flatMap((name) =>
    subjects.filter((subject) => isMeasured(name, subject)).map((subject): [string, SubjectName] => [name, subject]),
  )
}

function cellOf(samples: readonly Sample[], name: string, subject: SubjectName, measure: Measure): string {
  const spread = spreadOf([...valuesOf(samples, { case: name, subject, measure }).values()])
  return spread ? withSpread(spread) : '–'
}

export function withSpread({ median, min, max }: Spread): string {
  return `${figure(median)} (${figure(min)}..${figure(max)})`
}

/** Three digits that count. */
function figure(value: number): string {
  const size = Math.abs(value)
  return value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0)
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, n) => Math.max(title.length, ...rows.map((row) => row[n]?.length ?? 0)))
  const line = (cells: readonly string[]) => `| ${cells.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(' | ')} |`
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n')
}
