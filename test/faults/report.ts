import { nameOf, type Adapter } from './adapters.ts'
import { columnsOf, type Plan } from './cells.ts'
import type { Result, Verdict } from './verdict.ts'

const COMPLAINTS_SHOWN = 6
const COMPLAINT_CHARACTERS_MAX = 600

/** A table per adapter, then why some of its cells are empty, then what failed, then the one line that machines read. */
export function reportOf(plan: Plan, results: readonly Result[], verdict: Verdict): string {
  const adapters = new Set([...plan.cells, ...plan.absent].map(({ adapter }) => adapter))
  return [
    ...[...adapters].map((adapter) => tableOf(adapter, plan, results)),
    ...verdict.problems.map(problemText),
    `faults: ${verdict.passed} passed, ${verdict.failed} failed`,
  ].join('\n\n')
}

function tableOf(adapter: Adapter, plan: Plan, results: readonly Result[]): string {
  const byCell = new Map(results.map((result) => [result.cell, result]))
  const texts = new Map(
    plan.cells
      .filter((cell) => cell.adapter === adapter)
      .map((cell) => [`${cell.fault} ${cell.column}`, textOf(byCell.get(cell.id))]),
  )
  const absent = plan.absent.filter((cell) => cell.adapter === adapter)
  const faults = [...new Set([...plan.cells, ...absent].filter((c) => c.adapter === adapter).map((c) => c.fault))]
  const columns = columnsOf(adapter)
  const rows = [
    [nameOf(adapter), ...columns],
    ...faults.map((fault) => [fault, ...columns.map((column) => texts.get(`${fault} ${column}`) ?? '-')]),
  ]
  const widths = rows[0]?.map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0))) ?? []
  const lines = rows.map((row) => row.map((text, n) => text.padEnd(widths[n] ?? 0)).join('  '))
  return [...lines.map((line) => line.trimEnd()), ...legendOf(absent)].join('\n')
}

function textOf(result: Result | undefined): string {
  if (!result) return 'NOT TRIED'
  return `${result.complaints.length === 0 ? 'ok' : 'FAIL'} ${result.seen}`
}

function legendOf(absent: Plan['absent']): string[] {
  const faultsByReason = Map.groupBy(absent, ({ reason }) => reason)
  return [...faultsByReason].map(([reason, cells]) => {
    const faults = [...new Set(cells.map(({ fault }) => fault))]
    return `- ${faults.join(', ')}: ${reason}`
  })
}

function problemText(problem: string): string {
  const [title, ...complaints] = problem.split('\n')
  const shown = complaints.slice(0, COMPLAINTS_SHOWN).map((text) => `    ${text.slice(0, COMPLAINT_CHARACTERS_MAX)}`)
  const rest = complaints.length - shown.length
  return [`FAILED ${title}`, ...shown, ...(rest > 0 ? [`    and ${rest} more`] : [])].join('\n')
}
