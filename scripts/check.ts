/**
 * `npm run check`: everything that CI runs, in order. What does not lint or compile is not tried; otherwise one run names
 * everything that fails. One PostgreSQL serves all of it, and what takes how long is told at the end.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globalSetup, globalTeardown } from '../test/support/global-setup.ts'

/** One after the other; without the first one, no other. Those of one stage run beside each other, each lane in its own order: they leave a core idle. */
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
  [['chaos -- --seconds 45'], ['mutants -- --sample 20 --jobs 2']],
]

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
  const child = spawn(`npm run --silent ${script}`, { shell: true, stdio: 'inherit' })
  const [code] = (await once(child, 'close')) as [number | null]
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  times.push(`${String(seconds).padStart(5)} s  ${script}${code === 0 ? '' : `  FAILED with ${code}`}`)
  return code === 0
}
