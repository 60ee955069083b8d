import type { Column } from './cells.ts'

/** A fault that must be met many times before it shows: in the answers of others, or in memory. */
export interface RepeatedFault {
  /** Its promises hold for each single call. */
  fault: string
  calls: number
  atOnce: number
  /** How much the process may grow, with everything else in it. */
  growthBytesMax?: number
  absentFrom: Partial<Record<Column, string>>
}

const MEGABYTE = 1_000_000
const SAME_WITH_TWO = 'a second route changes nothing here'
const SAME_FOR_ALL = 'who wants to know changes nothing here'
const absentFrom = {
  'JSON/2': SAME_WITH_TWO,
  'SSE/2': SAME_WITH_TWO,
  'JSON/responses': SAME_FOR_ALL,
  'SSE/responses': SAME_FOR_ALL,
}

export const REPEATED_FAULTS: Record<string, RepeatedFault> = {
  'U9-memory': { fault: 'U9-bigevent', calls: 4, atOnce: 4, growthBytesMax: 48 * MEGABYTE, absentFrom },
  'U15-crowd': { fault: 'U15', calls: 500, atOnce: 8, absentFrom },
  'U16-memory': { fault: 'U16-bomb', calls: 4, atOnce: 4, growthBytesMax: 48 * MEGABYTE, absentFrom },
}
