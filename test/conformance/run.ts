/** `npm run conformance`: is every sentence of the specification and the contract true of a running Parley? */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { run } from 'node:test'
import { inspect } from 'node:util'
import { globalSetup, globalTeardown } from '../support/global-setup.ts'
import { CLAUSES } from './clauses.ts'
import { verdictOf, type Result, type Verdict } from './verdict.ts'

const FILE_MS_MAX = 120_000
const STDERR_CHARACTERS_MAX = 4_000

await globalSetup()
try {
  const verdict = verdictOf(CLAUSES, await resultsOf(testFiles()))
  print(verdict)
  process.exitCode = verdict.failed === 0 ? 0 : 1
} finally {
  await globalTeardown()
}

/** The one that waits for 15 seconds of silence begins, so that they pass beside all the others. */
function testFiles(): string[] {
  return readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.test.ts'))
    .toSorted((a, b) => Number(b === 'streaming.test.ts') - Number(a === 'streaming.test.ts'))
    .map((name) => join(import.meta.dirname, name))
}

async function resultsOf(files: string[]): Promise<Result[]> {
  const results: Result[] = []
  const stderr = new Map<string, string>()
  for await (const event of run({ files, concurrency: 2, timeout: FILE_MS_MAX })) {
    if (event.type === 'test:stderr') {
      const { file = '', message } = event.data
      stderr.set(file, ((stderr.get(file) ?? '') + message).slice(0, STDERR_CHARACTERS_MAX))
    }
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const { name, file = '', details } = event.data
    const passed = event.type === 'test:pass'
    // A skipped test passes without having looked.
    const isSkipped = event.data.skip !== undefined || event.data.todo !== undefined
    const isFile = name === file
    const error = isSkipped ? 'was skipped' : passed ? undefined : errorText(details)
    results.push({
      title: name,
      passed: passed && !isSkipped,
      ...(error === undefined ? {} : { error: isFile ? `${error}\n${stderr.get(file) ?? ''}` : error }),
    })
  }
  return results
}

function errorText(details: { error?: unknown }): string {
  const error = details.error instanceof Error ? (details.error.cause ?? details.error) : details.error
  if (!(error instanceof Error)) return inspect(error)
  const place = /at .*?(test\/conformance\/[^)\s]+)/.exec(error.stack ?? '')?.[1]
  return [error.message.trimEnd(), ...(place === undefined ? [] : [`at ${place}`])].join('\n')
}

function print({ rows, problems, passed, failed }: Verdict): void {
  const idWidth = Math.max(...rows.map(({ clause }) => clause.id.length))
  let part = ''
  for (const { clause, standing, tests } of rows) {
    if (clause.part !== part) console.log(`\n${clause.part}`)
    part = clause.part
    const reason = clause.untestable ?? (clause.planned === undefined ? undefined : `comes with ${clause.planned}`)
    const note = tests > 1 ? ` [${tests} tests]` : reason === undefined ? '' : ` [${reason}]`
    console.log(`  ${standing.padEnd('not testable'.length)}  ${clause.id.padEnd(idWidth)}  ${clause.text}${note}`)
  }
  const count = (wanted: string) => rows.filter(({ standing }) => standing === wanted).length
  console.log(
    `\n${rows.length} clauses: ${count('ok')} ok, ${count('FAILED')} failed, ${count('NO TEST')} without a test,`,
  )
  console.log(`  ${count('planned')} planned, ${count('not testable')} not testable`)
  for (const problem of problems) {
    const [title, ...lines] = problem.split('\n')
    console.log([`FAILED ${title}`, ...lines.map((line) => `    ${line}`)].join('\n'))
  }
  console.log(`\nconformance: ${passed} passed, ${failed} failed`)
}
