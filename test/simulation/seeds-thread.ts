/** One thread of run.ts: its share of the seeds. */
import { parentPort, workerData } from 'node:worker_threads'
import { runSeeds, type SeedRange } from './seeds.ts'

/** Often enough for a progress line, rarely enough to cost nothing. */
const SEEDS_PER_MESSAGE = 100

let done = 0
const report = () => {
  parentPort?.postMessage({ done })
  done = 0
}
await runSeeds({
  ...(workerData as SeedRange),
  onSeed(failure) {
    done += 1
    if (failure) parentPort?.postMessage({ done: 0, failure })
    if (done === SEEDS_PER_MESSAGE) report()
  },
})
report()
