import { KNOWN_FIELDS } from '../../src/rules/calls/chat-request.ts'
import { ROUTE_FIELDS } from '../../src/rules/calls/route-fields.ts'
import { FORMAT_NAMES, FORMATS, type FormatName } from './formats.ts'
import { OTHERS } from './others.ts'
import { PARTS } from './parts.ts'
import { REASONING } from './reasoning.ts'
import { expectedOf, type Case, type Expected, type Row } from './row.ts'
import { SAMPLING } from './sampling.ts'
import { TOOL_FIELDS } from './tool-fields.ts'

export const TABLE: readonly Row[] = [...SAMPLING, ...TOOL_FIELDS, ...PARTS, ...REASONING, ...OTHERS]

/** One promise to be tried: a case in a format, as JSON or as a stream. */
export interface Cell {
  /** Names it to people. */
  id: string
  row: Row
  tried: Case
  format: FormatName
  isStreamed: boolean
  /** At the provider. */
  model: string
  expected: Expected
}

export interface Filter {
  format?: string | undefined
  field?: string | undefined
}

export function planOf({ format: wanted, field }: Filter, table = TABLE): Cell[] {
  return table
    .filter((row) => field === undefined || [row.field, ...(row.also ?? [])].includes(field))
    .flatMap((row) => row.cases.map((tried) => ({ row, tried })))
    .flatMap((about) => FORMAT_NAMES.map((format) => ({ ...about, format })))
    .filter(({ format }) => wanted === undefined || format === wanted)
    .flatMap(({ row, tried, format }) => {
      const expected = expectedOf(tried, format)
      if (!expected) return []
      const model = tried.models?.[format] ?? FORMATS[format].model
      return [false, true].map((isStreamed): Cell => {
        const id = `${row.field} (${tried.name}) ${format} ${model} ${isStreamed ? 'SSE' : 'JSON'}`
        return { id, row, tried, format, isStreamed, model, expected }
      })
    })
}

/** Fields that a request may have but no row stands for. */
export function missingFields(table = TABLE): string[] {
  const told = new Set(table.flatMap(({ field, also = [] }) => [field, ...also]))
  return [...KNOWN_FIELDS, ...ROUTE_FIELDS].filter((field) => !told.has(field))
}

/** Rows that say nothing of a format. */
export function unsaid(table = TABLE): string[] {
  return table.flatMap((row) =>
    FORMAT_NAMES.filter((format) => row.cases.every((tried) => !expectedOf(tried, format))).map(
      (format) => `${row.field} in ${format}`,
    ),
  )
}
