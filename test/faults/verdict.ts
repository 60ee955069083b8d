/** The result of trying one cell. */
export interface Result {
  /** The id of the cell. */
  cell: string
  complaints: readonly string[]
  /** The status and the kind of failure, for people. */
  seen: string
}

export interface Verdict {
  passed: number
  /** Zero exactly when there is no problem. */
  failed: number
  /** Everything that stands between the matrix and success, in words. */
  problems: string[]
}

/**
 * A cell that was planned and not tried fails like one that broke its promise, and so does a matrix without cells: what
 * was not looked at is not known to be good. `others` are promises of the whole run.
 */
export function verdictOf(planned: readonly string[], results: readonly Result[], others: readonly string[]): Verdict {
  const known = new Set(planned)
  const tried = Map.groupBy(results, (result) => result.cell)
  const problems = [...others]
  let passed = 0
  for (const id of known) {
    const [result, ...more] = tried.get(id) ?? []
    if (!result) problems.push(`${id}\nwas not tried`)
    else if (more.length > 0) problems.push(`${id}\nwas tried ${more.length + 1} times under one name`)
    else if (result.complaints.length > 0) problems.push([id, ...result.complaints].join('\n'))
    else passed++
  }
  if (known.size < planned.length) problems.push('two cells have the same name')
  for (const id of tried.keys()) if (!known.has(id)) problems.push(`${id}\nwas tried and not planned`)
  if (passed === 0) problems.push('not one cell passed')
  return { passed, failed: problems.length, problems }
}
