import { FAULT_NAMES } from '../../simulator/faults.ts'
import { ADAPTERS, EMBEDDING_ADAPTERS, expectedOf, nameOf, reasonAgainst, type Adapter } from './adapters.ts'
import { EXPECTED, type Expected } from './expected.ts'
import { REPEATED_FAULTS } from './repeated-faults.ts'

/**
 * How the answer is wanted, and who else there is: nobody, a second route of the model, or a model to fall back on. The last is
 * nobody again, asked by way of the Responses API.
 */
export const COLUMNS = [
  'JSON/1',
  'JSON/2',
  'JSON/models',
  'JSON/responses',
  'SSE/1',
  'SSE/2',
  'SSE/models',
  'SSE/responses',
] as const
export type Column = (typeof COLUMNS)[number]

/** One promise to be tried: an adapter, a fault, how the caller wants the answer, and how many routes there are. */
export interface Cell {
  /** Names it to people. */
  id: string
  adapter: Adapter
  fault: string
  column: Column
  isStreamed: boolean
  hasSecondRoute: boolean
  /** The caller names a second model, which is healthy and costs twice as much. */
  hasFallback: boolean
  isOfResponses: boolean
  expected: Expected
}

export interface Absent {
  adapter: Adapter
  fault: string
  column: Column
  reason: string
}

export interface Plan {
  cells: Cell[]
  absent: Absent[]
}

export interface Filter {
  adapter?: string | undefined
  /** `U14` stands for all of its variants. */
  fault?: string | undefined
}

export function planOf(filter: Filter): Plan {
  const adapters = [...ADAPTERS, ...EMBEDDING_ADAPTERS].filter(
    (adapter) => filter.adapter === undefined || nameOf(adapter) === filter.adapter,
  )
  const faults = [...Object.keys(EXPECTED), ...Object.keys(REPEATED_FAULTS)].filter((fault) =>
    isMeant(fault, filter.fault),
  )
  const plan: Plan = { cells: [], absent: [] }
  for (const adapter of adapters) {
    for (const fault of faults) {
      for (const column of columnsOf(adapter)) {
        const reason = reasonAgainst(adapter, fault) ?? REPEATED_FAULTS[fault]?.absentFrom[column]
        if (reason !== undefined) plan.absent.push({ adapter, fault, column, reason })
        else plan.cells.push(cellOf(adapter, fault, column))
      }
    }
  }
  return plan
}

/**
 * Vectors are never streamed. Neither which model is asked next nor who wants to know has to do with how the first was asked:
 * tried with the first adapter.
 */
export function columnsOf(adapter: Adapter): readonly Column[] {
  if (adapter.isEmbedding) return ['JSON/1', 'JSON/2']
  return adapter === ADAPTERS[0] ? COLUMNS : COLUMNS.filter((column) => !/models|responses/.test(column))
}

/** Faults of real providers that exist in one format alone: test/e2e/real-answers.test.ts tries each. */
const OF_ONE_FORMAT = /^U2[01]-/

/** A fault that the simulator can make and nobody expects anything of. */
export function unexpectedFaults(): string[] {
  return FAULT_NAMES.filter((name) => !Object.hasOwn(EXPECTED, name) && !OF_ONE_FORMAT.test(name))
}

function isMeant(fault: string, wanted: string | undefined): boolean {
  return (
    wanted === undefined || fault === wanted || /^[-@]/.test(fault.startsWith(wanted) ? fault.slice(wanted.length) : '')
  )
}

function cellOf(adapter: Adapter, fault: string, column: Column): Cell {
  return {
    id: `${nameOf(adapter)} ${fault} ${column}`,
    adapter,
    fault,
    column,
    isStreamed: column.startsWith('SSE'),
    hasSecondRoute: column.endsWith('2'),
    hasFallback: column.endsWith('models'),
    isOfResponses: column.endsWith('responses'),
    expected: expectedOf(adapter, REPEATED_FAULTS[fault]?.fault ?? fault),
  }
}
