/** One test as the test runner told of it; a file that failed as a whole has its path as its title. */
export interface Result {
  title: string
  passed: boolean
}

export type Verdict = 'caught' | 'hung' | 'SURVIVED' | 'BROKEN'

/**
 * Judges a planted bug by the results. Only the test that is meant to notice it counts: a file that cannot even be loaded
 * says that the edit was no good. Everyone notices a test that never ends.
 */
export function verdictOf(title: string, results: readonly Result[], timedOut: boolean): Verdict {
  const own = results.filter((result) => result.title === title)
  if (own.some((result) => !result.passed)) return 'caught'
  if (own.length > 0) return 'SURVIVED'
  return timedOut ? 'hung' : 'BROKEN'
}

/** Returns the titles that did not pass on the code as it is: a test that fails anyway catches nothing. */
export function unsoundTitles(titles: readonly string[], results: readonly Result[]): string[] {
  return titles.filter((title) => {
    const own = results.filter((result) => result.title === title)
    return own.length === 0 || own.some((result) => !result.passed)
  })
}
