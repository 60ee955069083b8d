/**
 * `npm run check`: everything that CI runs, in order. What does not lint or compile is not tried; otherwise one run names
 * everything that fails. One PostgreSQL serves all of it, and what takes how long is told at the end.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globalSetup, globalTeardown } from '../test/support/global-setup.ts'
import { failedFilesIn } from './failed-tests.ts'

/**
 * One after the other; without the first one, no other. Those of one stage run beside each other, each lane in its own order:
 * they leave a core idle.
 */
const STAGES = [
  [['format:check', 'lint'], ['typecheck']],
  [['db:types:check', 'test']],
  [['test:browser:core']],
  [
    ['conformance', 'fields', 'faults'],
    ['exactness -- --calls 2000', 'fuzz'],
  ],
  // Alone: what it measures is time.
  [['neighbours']],
  [['chaos -- --seconds 45', 'soak -- --seconds 60'], ['mutants -- --sample 20 --jobs 2']],
]

/** Suites whose failures are retried once, alone. With more files than the maximum, nothing is learned from it. */
const TESTS: ReadonlySet<string> = new Set(['test', 'test:browser:core'])
const TRIED_ALONE_MAX = 3

const times: string[] = []
// Until the last stage has passed: also a run that ends before it is a failure.
process.exitCode = 1
// PostgreSQL is stopped on exit, and a signal alone is no exit.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
await globalSetup()
try {
  if (await passAll()) process.exitCode = 0
} finally {
  await globalTeardown()
}
console.log(`\ncheck: ${process.exitCode === 0 ? 'passed' : 'FAILED'}\n${times.join('\n')}`)

async function passAll(): Promise<boolean> {
  let isAllRight = true
  for (const [n, lanes] of STAGES.entries()) {
    const results = await Promise.all(lanes.map(passLane))
    if (results.flat().includes(false)) isAllRight = false
    if (n === 0 && !isAllRight) break
  }
  return isAllRight
}

async function passLane(scripts: readonly string[]): Promise<boolean[]> {
  const results: boolean[] = []
  for (const script of scripts) results.push(await passes(script))
  return results
}

async function passes(script: string): Promise<boolean> {
  const startedAt = performance.now()
  const { code, output } = await run(`npm run --silent ${script}`)
  const failed = code === 0 || !TESTS.has(script) ? [] : failedFilesIn(output)
  const passesAlone = failed.length > 0 && failed.length <= TRIED_ALONE_MAX && (await passAlone(failed))
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  const verdict = `  FAILED with ${code}${passesAlone ? `, only beside others: ${failed.join(' ')}` : ''}`
  times.push(`${String(seconds).padStart(5)} s  ${script}${code === 0 ? '' : verdict}`)
  return code === 0
}

/** Says where to look, and changes no verdict: what fails only beside others is a race, in the test or in what it tests. */
async function passAlone(files: readonly string[]): Promise<boolean> {
  console.log(`\ncheck: once more, alone: ${files.join(' ')}`)
  const options = '--import ./test/support/test-process.ts --test --test-concurrency=1'
  const { code } = await run(`node ${options} --test-global-setup=test/support/global-setup.ts ${files.join(' ')}`)
  return code === 0
}

async function run(command: string): Promise<{ code: number | null; output: string }> {
  const child = spawn(command, { shell: true, stdio: ['inherit', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    process.stdout.write(text)
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}
