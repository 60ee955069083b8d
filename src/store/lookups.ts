import { createLane, type Lane } from '../platform/batch.ts'
import { isUnavailable } from './database.ts'

/** Combines the lookups of many calls, as many to a statement as wait for it. While the store is away they are tried again. */
export function createLookups<Key, Found>(find: (keys: readonly Key[]) => Promise<Found[]>): Lane<Key, Found> {
  return createLane({ run: find, batchMax: 256, queueMax: 10_000, isTransient: isUnavailable, retryEveryMs: 100 })
}
