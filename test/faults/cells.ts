import { FAULT_NAMES } from '../../simulator/faults.ts'
import { ADAPTERS, expectedOf, reasonAgainst, type Adapter } from './adapters.ts'
import { EXPECTED, type Expected } from './expected.ts'
import { REPEATED_FAULTS } from './repeated-faults.ts'

export const COLUMNS = ['JSON/1', 'JSON/2', 'SSE/1', 'SSE/2'] as const
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
  const adapters = ADAPTERS.filter(({ kind }) => filter.adapter === undefined || kind === filter.adapter)
  const faults = [...Object.keys(EXPECTED), ...Object.keys(REPEATED_FAULTS)].filter((fault) =>
    isMeant(fault, filter.fault),
  )
  const plan: Plan = { cells: [], absent: [] }
  for (const adapter of adapters) {
    for (const fault of faults) {
      for (const column of COLUMNS) {
        const reason = reasonAgainst(adapter, fault) ?? REPEATED_FAULTS[fault]?.absentFrom[column]
        if (reason !== undefined) plan.absent.push({ adapter, fault, column, reason })
        else plan.cells.push(cellOf(adapter, fault, column))
      }
    }
  }
  return plan
}

/** What real providers do in one format alone: test/e2e/real-answers.test.ts tries each. */
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
    id: `${adapter.kind} ${fault} ${column}`,
    adapter,
    fault,
    column,
    isStreamed: column.startsWith('SSE'),
    hasSecondRoute: column.endsWith('2'),
    expected: expectedOf(adapter, REPEATED_FAULTS[fault]?.fault ?? fault),
  }
}
