/** The memory that one more held stream takes in a process. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { HELD, HELD_PATH, type Case } from './cases.ts'
import { runLoad } from './load.ts'
import { residentKbOf } from './processes.ts'
import type { Running } from './subject.ts'

export interface HeldLevels {
  readonly few: number
  readonly many: number
}

export const HELD_LEVELS: HeldLevels = { few: 500, many: 2_500 }

const OPENED_AT_ONCE = 50
const SETTLE_MS = 3_000
const SAMPLES = 10
const SAMPLE_EVERY_MS = 200
/** A process that has worked for a while has the heap that short-lived objects need: it is not what a stream takes. */
const WARM_UP_CALLS = 1_000

/** KB per stream, from one level to the other, of a process that is fresh. */
export async function kbPerHeldStream(target: Running, warmUp: Case, { few, many }: HeldLevels): Promise<number> {
  const { pid } = target
  if (pid === undefined) throw new Error('there is no process to look at')
  await runLoad(target, warmUp, { calls: WARM_UP_CALLS, atOnce: 16 })
  // No limit of connections, and nobody gives up while nothing comes.
  const pool = new Pool(target.url, { connections: null, bodyTimeout: 0 })
  try {
    await openStreams(pool, target, few)
    const fewKb = await settledKbOf(pid)
    await openStreams(pool, target, many - few)
    return ((await settledKbOf(pid)) - fewKb) / (many - few)
  } finally {
    await pool.destroy()
  }
}

/** Each has had its first byte when this ends, and is not read any further than it comes. */
async function openStreams(pool: Pool, { headers }: Running, count: number): Promise<void> {
  let left = count
  const open = async () => {
    while (left > 0) {
      left -= 1
      const { statusCode, body } = await pool.request({
        path: HELD_PATH,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: HELD().body,
      })
      if (statusCode !== 200) throw new Error(`a stream was answered with ${statusCode}: ${await body.text()}`)
      // It ends when the pool is destroyed.
      body.on('error', () => undefined)
      await new Promise((resolve) => body.once('data', resolve))
    }
  }
  await Promise.all(Array.from({ length: OPENED_AT_ONCE }, open))
}

/** The least of a few seconds: garbage that is about to be collected is not what is held. */
async function settledKbOf(pid: number): Promise<number> {
  await sleep(SETTLE_MS)
  let least = Infinity
  for (let n = 0; n < SAMPLES; n++) {
    least = Math.min(least, residentKbOf(pid))
    await sleep(SAMPLE_EVERY_MS)
  }
  return least
}
