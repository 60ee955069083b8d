import type { Clause } from './clauses.ts'

export interface Result {
  /** `<clause id>: …`, or the path of a file that failed outside its tests. */
  title: string
  passed: boolean
  error?: string
}

export type Standing = 'ok' | 'FAILED' | 'NO TEST' | 'planned' | 'not testable'

export interface Verdict {
  rows: { clause: Clause; standing: Standing; tests: number }[]
  /** Everything that stands between the suite and success, in words. */
  problems: string[]
  /** Tests. */
  passed: number
  /** Zero exactly when there is no problem: an untested clause counts like a failed test. */
  failed: number
}

/** A promise without a test, and a test without a promise, are as bad as a test that fails. */
export function verdictOf(clauses: readonly Clause[], results: readonly Result[]): Verdict {
  const known = new Set(clauses.map((clause) => clause.id))
  const problems = [
    ...duplicatesIn(clauses.map((clause) => clause.id)).map((id) => `${id} is the id of two clauses`),
    ...results.filter((result) => !result.passed).map(({ title, error }) => `${title}\n${error ?? 'failed'}`),
    ...results
      .filter((result) => result.passed && !known.has(clauseIdOf(result.title)))
      .map(({ title }) => `"${title}" names no known clause`),
  ]
  const testsOf = Map.groupBy(results, (result) => clauseIdOf(result.title))
  const rows = clauses.map((clause) => {
    const tests = testsOf.get(clause.id) ?? []
    const standing = standingOf(clause, tests)
    if (standing === 'NO TEST') problems.push(`${clause.id} has no test: ${clause.text}`)
    if (tests.length > 0 && (clause.untestable ?? clause.planned) !== undefined) {
      problems.push(
        `${clause.id} is marked as ${clause.planned === undefined ? 'not testable' : 'planned'} and has a test`,
      )
    }
    return { clause, standing, tests: tests.length }
  })
  const passed = results.filter((result) => result.passed && known.has(clauseIdOf(result.title))).length
  // No test at all is no success, whatever the list of clauses says.
  if (passed === 0) problems.push('not one test passed')
  return { rows, problems, passed, failed: problems.length }
}

function clauseIdOf(title: string): string {
  return title.split(':', 1)[0] ?? ''
}

function standingOf(clause: Clause, tests: readonly Result[]): Standing {
  if (tests.some((test) => !test.passed)) return 'FAILED'
  if (tests.length > 0) return 'ok'
  if (clause.untestable !== undefined) return 'not testable'
  return clause.planned === undefined ? 'NO TEST' : 'planned'
}

function duplicatesIn(ids: readonly string[]): string[] {
  return ids.filter((id, n) => ids.indexOf(id) !== n)
}
