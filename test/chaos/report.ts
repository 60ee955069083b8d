/** The output of a run, and its search for evidence when something is wrong. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { callIdOf, type Case } from './oracle.ts'

const CASES_SHOWN = 5
const LOG_LINES_SHOWN = 8

export function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** The first cases of one kind, each with everything that is known of it. */
export function showCases(name: string, cases: readonly Case[], logDir: string): void {
  if (cases.length === 0) return
  say(`\n${name}: ${cases.length}`)
  for (const { what, attempt, row } of cases.slice(0, CASES_SHOWN)) {
    say(`- ${what}`)
    if (attempt) say(`  received: ${toText(attempt)}`)
    if (row) say(`  database: ${toText(row)}`)
    const id = row?.id ?? (attempt?.completionId === undefined ? undefined : callIdOf(attempt.completionId))
    for (const line of id === undefined ? [] : logLinesWith(logDir, id)) say(`  log: ${line}`)
  }
}

export function logLinesWith(logDir: string, text: string): string[] {
  const found: string[] = []
  for (const name of readdirSync(logDir)) {
    for (const line of readFileSync(join(logDir, name), 'utf8').split('\n'))
      if (line.includes(text)) found.push(`${name} ${line}`)
  }
  return found.slice(0, LOG_LINES_SHOWN)
}

/** Money is a bigint, which JSON does not know. */
function toText(value: object): string {
  return JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? String(member) : member))
}
