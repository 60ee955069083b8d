import { test } from 'node:test'
import { CLAUSES } from './clauses.ts'

/** A test of one clause. `aspect` says which side of it, where it takes several tests. */
export function clause(
  id: string,
  ...rest: [aspect: string, fn: () => void | Promise<void>] | [fn: () => void | Promise<void>]
): void {
  const known = CLAUSES.find((candidate) => candidate.id === id)
  // A misspelt id would leave its clause without a test and this test without a clause.
  if (!known) throw new Error(`no clause is called "${id}"`)
  const fn = rest.length === 2 ? rest[1] : rest[0]
  const aspect = rest.length === 2 ? ` (${rest[0]})` : ''
  test(`${id}: ${known.text}${aspect}`, { timeout: TEST_MS_MAX }, fn)
}

const TEST_MS_MAX = 30_000
