import { formatCredits } from '../rules/money.ts'
import { visibleJson, visibleText } from '../rules/visible-text.ts'
import { LISTED_MAX } from '../store/listed.ts'

/** The result of a command: for programs, and for people. */
export interface Output {
  document: unknown
  text: string
  exitCode?: number
}

export type Shown = string | number | bigint | boolean | Date | readonly string[] | null | undefined

const GAP = '  '

/** One JSON document. Amounts are given twice: exactly, as text because a JSON number is a double, and in credits. */
export function jsonOf(document: unknown): string {
  return visibleJson(JSON.stringify(plain(document), null, 2))
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]): [string, unknown][] => {
      const exact: [string, unknown] = [name, plain(field)]
      if (typeof field !== 'bigint' || !name.endsWith('_nanos')) return [exact]
      return [exact, [name.replace(/_nanos$/, '_credits'), formatCredits(field)]]
    }),
  )
}

/** Aligned columns, named by the fields of the first row. */
export function table(rows: readonly Record<string, Shown>[], whenEmpty: string): string {
  const [first] = rows
  if (first === undefined) return whenEmpty
  const names = Object.keys(first)
  const lines = [names.map((name) => name.toUpperCase()), ...rows.map((row) => names.map((name) => shown(row[name])))]
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, n) => cell.padEnd(widths[n] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n')
}

/** A table of what the store lists, which says so when there may be more: `narrower` is how to see the rest. */
export function listing(rows: readonly Record<string, Shown>[], whenEmpty: string, narrower = ''): string {
  const text = table(rows, whenEmpty)
  return rows.length < LISTED_MAX ? text : `${text}\n\nOnly the first ${LISTED_MAX} are listed. ${narrower}`.trimEnd()
}

/** One `key  value` line per field. */
export function facts(record: Record<string, Shown>): string {
  const width = Math.max(...Object.keys(record).map((name) => name.length))
  return Object.entries(record)
    .map(([name, value]) => `${name.padEnd(width)}${GAP}${shown(value)}`)
    .join('\n')
}

const UNITS: [name: string, seconds: number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** `5 minutes ago`. */
export function ago(time: Date, nowMs: number = Date.now()): string {
  const seconds = (nowMs - time.getTime()) / 1000
  const unit = UNITS.find(([, size]) => seconds >= size)
  if (!unit) return 'just now'
  const count = Math.floor(seconds / unit[1])
  return `${count} ${unit[0]}${count === 1 ? '' : 's'} ago`
}

/** Names and texts were written by others: a line break in one could pass for another row. */
function shown(value: Shown): string {
  if (value === null || value === undefined || value === '') return '-'
  if (value instanceof Date) return value.toISOString().replace(/\.\d{3}Z$/, 'Z')
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'object') return value.length === 0 ? '-' : oneLine(value.join(', '))
  return oneLine(String(value))
}

function oneLine(text: string): string {
  return visibleText(text).replaceAll(/\s/g, ' ')
}
