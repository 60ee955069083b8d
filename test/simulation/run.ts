/**
 * Runs many seeds on all cores, and tells in full what happened in the first that breaks an invariant:
 *
 *     node test/simulation/run.ts --seeds 20000
 *     node test/simulation/run.ts --seed 4711
 *     node test/simulation/run.ts --planted 'sweep: never comes'
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { traceSeed, type Failure, type SeedRange } from './seeds.ts'

const PROGRESS_EVERY_SEEDS = 2_000
const FAILURES_LISTED_MAX = 20

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    planted: { type: 'string' },
    threads: { type: 'string', default: String(availableParallelism()) },
  },
})

if (values.seed === undefined) await runAll(Number(values.from), Number(values.seeds), Number(values.threads))
else conclude(1, await tell(Number(values.seed)))

async function runAll(from: number, seeds: number, threads: number): Promise<void> {
  const startedMs = performance.now()
  const failures: Failure[] = []
  let done = 0
  const onMessage = ({ done: more, failure }: { done: number; failure?: Failure }) => {
    const before = Math.floor(done / PROGRESS_EVERY_SEEDS)
    done += more
    if (failure) failures.push(failure)
    if (Math.floor(done / PROGRESS_EVERY_SEEDS) === before) return
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
    print(`${done} of ${seeds} seeds, ${failures.length} with violations, ${seconds} s`)
  }
  const shares = Array.from({ length: threads }, (_, n): SeedRange => {
    return { from: from + n, count: Math.ceil((seeds - n) / threads), step: threads, planted: values.planted }
  })
  await Promise.all(shares.map((share) => runThread(share, onMessage)))

  failures.sort((a, b) => a.seed - b.seed)
  for (const { seed, violations } of failures.slice(0, FAILURES_LISTED_MAX)) print(`seed ${seed}: ${violations[0]}`)
  const [first] = failures
  if (first) await tell(first.seed)
  conclude(seeds, failures.flatMap(({ violations }) => violations).length)
}

function runThread(share: SeedRange, onMessage: (message: { done: number; failure?: Failure }) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('seeds-thread.ts', import.meta.url), { workerData: share })
    thread.on('message', onMessage).once('error', reject)
    thread.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a thread ended with code ${code}`))))
  })
}

/** Prints what happened in a seed; returns how many violations it has. */
async function tell(seed: number): Promise<number> {
  const { lines, violations } = await traceSeed(seed, values.planted)
  print(`\nseed ${seed}:`)
  for (const line of lines) print(line)
  for (const violation of violations) print(`violation: ${violation}`)
  return violations.length
}

function conclude(seeds: number, violations: number): void {
  print(`simulation: seeds=${seeds} violations=${violations}`)
  process.exitCode = violations > 0 ? 1 : 0
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
