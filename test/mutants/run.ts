/**
 * `npm run mutants`: plants each known bug in a private copy and runs the test that must notice it.
 *
 *   npm run mutants -- [--only "text of the bug or its file"] [--sample 20] [--seed text] [--jobs 2]
 */
import { execFile, execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
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
process.once('exit', () => rmSync(home, { recursive: true, force: true }))
// Nothing is left behind, PostgreSQL included: its starter stops it on exit, and a signal alone is no exit.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
// No other run has files where the copies are.
process.env.NODE_COMPILE_CACHE = join(home, 'compile-cache')
await globalSetup()
try {
  await judge(chosen)
} finally {
  await globalTeardown()
}

function choose(): Mutant[] {
  const wanted = MUTANTS.filter(({ bug, file }) => `${file} ${bug}`.includes(options.only))
  if (wanted.length === 0) throw new Error(`no file or sentence of a bug has "${options.only}" in it`)
  if (options.sample === undefined) return wanted
  const seed = options.seed ?? commit()
  console.log(`a sample of ${options.sample}, with --seed ${seed}`)
  return sampleOf(wanted, Number(options.sample), seed)
}

function commit(): string {
  return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
}

async function judge(mutants: Mutant[]): Promise<void> {
  const copies = await Promise.all(
    Array.from({ length: Number(options.jobs) }, (_, number) => copyTree(join(home, String(number)))),
  )
  const groups = [...Map.groupBy(mutants, ({ test, isStory }) => `${test} ${isStory}`).values()]
  const before = await inTurn(copies, groups, checkUntouched)
  const verdicts = await inTurn(copies, mutants, tryMutant)
  // Had the database or the disk given out on the way, everything since would seem to be caught.
  const last = groups.find(([first]) => first?.test.startsWith('test/')) ?? groups[0] ?? []
  const unsound = new Set([...before.flat(), ...(await inTurn(copies.slice(0, 1), [last], checkUntouched)).flat()])
  const caught = verdicts.filter((verdict) => verdict === 'caught' || verdict === 'hung').length
  const doubt = unsound.size === 0 ? '' : `, and ${unsound.size} of the tests prove nothing: see UNSOUND`
  console.log(`\nmutants: ${caught} caught, ${verdicts.length - caught} survived${doubt}`)
  if (mutants.length > 0 && caught === mutants.length && unsound.size === 0) process.exitCode = 0
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

/** Checks the tests of bugs that share a test file. Returns the titles that do not pass on the code as it is. */
async function checkUntouched(copy: Copy, mutants: Mutant[]): Promise<string[]> {
  const { results, timedOut } = await runTests(copy, mutants)
  const titles = titlesOf(mutants)
  const unsound = timedOut ? titles : unsoundTitles(titles, results)
  const hint = mutants[0]?.isStory ? '' : ' when it runs alone (a test that needs those before it is a story: isStory)'
  for (const title of unsound)
    console.log(`UNSOUND   ${mutants[0]?.test}: "${title}" does not pass on the code as it is${hint}`)
  return unsound
}

async function tryMutant(copy: Copy, mutant: Mutant): Promise<Verdict> {
  const startedAt = performance.now()
  const { results, timedOut } = await copy.withBug(mutant, () => runTests(copy, [mutant]))
  const verdict = verdictOf(mutant.title, results, timedOut)
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  console.log(`${verdict.padEnd(8)}  ${seconds.padStart(5)} s  ${mutant.file.padEnd(46)}  ${mutant.bug}`)
  if (verdict !== 'caught') console.log(`${' '.repeat(19)}${mutant.test}: "${mutant.title}"`)
  return verdict
}

async function runTests({ dir }: Copy, mutants: readonly Mutant[]): Promise<{ results: Result[]; timedOut: boolean }> {
  const results: Result[] = []
  const [{ test, isStory } = { test: '' }] = mutants
  const limit = AbortSignal.timeout(RUN_MS_MAX)
  // A browser is given what was built, and what cannot be built is tested by nobody.
  if (test.startsWith('test/browser/') && !(await build(dir, limit))) return { results, timedOut: limit.aborted }
  const events = run({
    cwd: dir,
    files: [join(dir, test)],
    ...(!isStory && { testNamePatterns: titlesOf(mutants).map(RegExp.escape) }),
    // Ends the process of the test. A `timeout` would only be told to it, and what loops does not listen.
    signal: limit,
  })
  for await (const { type, data } of events)
    if (type === 'test:pass' || type === 'test:fail') results.push({ title: data.name, passed: type === 'test:pass' })
  return { results, timedOut: limit.aborted }
}

async function build(cwd: string, signal: AbortSignal): Promise<boolean> {
  const built = promisify(execFile)('npm', ['run', 'build'], { cwd, signal })
  return built.then(
    () => true,
    () => false,
  )
}
