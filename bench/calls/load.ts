/** The callers: so many calls in flight at once, each read to its end and looked at. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import type { CallRequest, Case } from './cases.ts'
import type { Running } from './subject.ts'

export interface Load {
  readonly calls: number
  readonly atOnce: number
  /** Ends sooner when so much time has passed. */
  readonly seconds?: number | undefined
}

export interface Loaded {
  readonly calls: number
  /** How often a call was told to come again (503), and did. */
  readonly repeats: number
  /** From sending to the first byte of the answer's body, in ms, of each call. */
  readonly firstBytesMs: readonly number[]
}

const UNAVAILABLE = 503
const REPEATS_MAX = 5
const REPEAT_AFTER_MS = 100

export async function runLoad(target: Running, work: Case, { calls, atOnce, seconds }: Load): Promise<Loaded> {
  const pool = new Pool(target.url, { connections: atOnce })
  const deadline = seconds === undefined ? Infinity : performance.now() + seconds * 1_000
  const firstBytesMs: number[] = []
  let started = 0
  let repeats = 0
  const caller = async () => {
    const lane = work.lane()
    let answer: string | undefined
    while (started < calls && performance.now() < deadline) {
      started += 1
      const request = lane(answer)
      let answered = await callOnce(pool, target, work.path, request)
      // A busy machine makes a gateway refuse a call now and then. Its callers repeat it; what refusing cost is counted.
      for (let tries = 0; answered.status === UNAVAILABLE && tries < REPEATS_MAX; tries++) {
        repeats += 1
        await sleep(REPEAT_AFTER_MS * 2 ** tries)
        answered = await callOnce(pool, target, work.path, request)
      }
      const { status, text, firstByteMs } = answered
      if (status !== 200) throw new Error(`answered with ${status}: ${text.slice(0, 300)}`)
      if (work.isStream && !text.endsWith('data: [DONE]\n\n'))
        throw new Error(`a stream broke off: ${text.slice(-200)}`)
      firstBytesMs.push(firstByteMs)
      answer = text
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(atOnce, calls) }, caller))
  } finally {
    await pool.destroy()
  }
  return { calls: firstBytesMs.length, repeats, firstBytesMs }
}

async function callOnce(
  pool: Pool,
  { headers }: Running,
  path: string,
  request: CallRequest,
): Promise<{ status: number; text: string; firstByteMs: number }> {
  const sentMs = performance.now()
  const { statusCode, body } = await pool.request({
    path,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers, ...request.headers },
    body: request.body,
  })
  let firstByteMs = 0
  const parts: Buffer[] = []
  for await (const part of body as AsyncIterable<Buffer>) {
    if (parts.length === 0) firstByteMs = performance.now() - sentMs
    parts.push(part)
  }
  return { status: statusCode, text: Buffer.concat(parts).toString(), firstByteMs }
}
