/**
 * `npm run mutants`: plants each known bug in a private copy and runs the test that must notice it.
 *
 *   npm run mutants -- [--only "text of the bug or its file"] [--sample 20] [--seed text] [--jobs 2]
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { parseArgs, promisify } from 'node:util'
import { globalSetup, globalTeardown } from '../support/global-setup.ts'
import { copyTree, type Copy } from './copy.ts'
import { MUTANTS, sampleOf } from './list.ts'
import type { Mutant } from './mutant.ts'
import { unsoundTitles, verdictOf, type Result, type Verdict } from './verdict.ts'

const RUN_MS_MAX = 90_000

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    sample: { type: 'string' },
    seed: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
})
const chosen = choose()
// Until the verdict says otherwise: also a run that ends before it is a failure.
process.exitCode = 1
const home = await mkdtemp(join(tmpdir(), 'parley-mutants-'))
await globalSetup()
try {
  await judge(chosen)
} finally {
  await globalTeardown()
  await rm(home, { recursive: true, force: true })
}

function choose(): Mutant[] {
  const wanted = MUTANTS.filter(({ bug, file }) => `${file} ${bug}`.includes(options.only))
  if (options.sample === undefined) return wanted
  return sampleOf(wanted, Number(options.sample), options.seed ?? commit())
}

function commit(): string {
  return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
}

async function judge(mutants: Mutant[]): Promise<void> {
  const copies = await Promise.all(
    Array.from({ length: Number(options.jobs) }, (_, number) => copyTree(join(home, String(number)))),
  )
  const unsound = await inTurn(copies, [...Map.groupBy(mutants, ({ test }) => test)], checkUntouched)
  for (const problem of unsound.flat()) console.log(`UNSOUND   ${problem}`)
  const verdicts = await inTurn(copies, mutants, tryMutant)
  const caught = verdicts.filter((verdict) => verdict === 'caught' || verdict === 'hung').length
  console.log(`\nmutants: ${caught} caught, ${verdicts.length - caught} survived`)
  const isProven = mutants.length > 0 && caught === mutants.length && unsound.flat().length === 0
  if (isProven) process.exitCode = 0
}

/** Each copy takes the next task when it is free. */
async function inTurn<T, R>(
  copies: Copy[],
  tasks: readonly T[],
  work: (copy: Copy, task: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const queue = tasks.values()
  await Promise.all(
    copies.map(async (copy) => {
      for (const task of queue) results.push(await work(copy, task))
    }),
  )
  return results
}

function titlesOf(mutants: readonly Mutant[]): string[] {
  return mutants.map(({ title }) => title)
}

async function checkUntouched(copy: Copy, [test, mutants]: [string, Mutant[]]): Promise<string[]> {
  const { results } = await runTests(copy, test, mutants)
  return unsoundTitles(titlesOf(mutants), results).map(
    (title) => `${test}: "${title}" does not pass on the code as it is`,
  )
}

async function tryMutant(copy: Copy, mutant: Mutant): Promise<Verdict> {
  const startedAt = performance.now()
  const { results, timedOut } = await copy.withBug(mutant, () => runTests(copy, mutant.test, [mutant]))
  const verdict = verdictOf(mutant.title, results, timedOut)
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  console.log(`${verdict.padEnd(8)}  ${seconds.padStart(5)} s  ${mutant.file.padEnd(46)}  ${mutant.bug}`)
  if (verdict !== 'caught') console.log(`${' '.repeat(19)}${mutant.test}: "${mutant.title}"`)
  return verdict
}

async function runTests(
  { dir }: Copy,
  test: string,
  mutants: readonly Mutant[],
): Promise<{ results: Result[]; timedOut: boolean }> {
  const results: Result[] = []
  // A browser is given what was built.
  if (test.startsWith('test/browser/')) await promisify(execFile)('npm', ['run', 'build'], { cwd: dir })
  const startedAt = performance.now()
  const events = run({
    cwd: dir,
    files: [join(dir, test)],
    ...(!mutants.some(({ isStory }) => isStory) && { testNamePatterns: titlesOf(mutants).map(RegExp.escape) }),
    timeout: RUN_MS_MAX,
  })
  for await (const { type, data } of events)
    if (type === 'test:pass' || type === 'test:fail') results.push({ title: data.name, passed: type === 'test:pass' })
  return { results, timedOut: performance.now() - startedAt >= RUN_MS_MAX }
}
