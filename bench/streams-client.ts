/**
 * The callers of the streams benchmark. Opens streams at a steady rate when it is told to, reads what comes, and says what
 * became of them. It hangs up on all of them at once when it is killed.
 */
import { Agent, request } from 'node:http'

export interface Callers {
  urls: string[]
  headers: Record<string, string>
  /** Out of a hundred streams, this many are of the first model, and the rest of the second. */
  activePercent: number
  models: [active: string, idle: string]
}

/** How the streams opened so far are doing. */
export interface StreamsSoFar {
  open: number
  ended: number
  p50: number
  p99: number
}

const OPENED_PER_SECOND = 400
const TICK_MS = 50

const { urls, headers, activePercent, models } = JSON.parse(process.argv[2] ?? '{}') as Callers
const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })
const firstTokens: number[] = []
let opened = 0
let ended = 0

/** Resolves with its first token, or when it has ended without one. */
function open(url: string, model: string): Promise<void> {
  const startedMs = performance.now()
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello' }] })
  return new Promise((resolve) => {
    const end = () => {
      ended += 1
      resolve()
    }
    const req = request(
      `${url}/v1/chat/completions`,
      { method: 'POST', agent, headers: { ...headers, 'content-type': 'application/json' } },
      (res) => {
        res.once('data', () => {
          firstTokens.push(performance.now() - startedMs)
          resolve()
        })
        res.resume()
        res.once('close', end)
        res.once('error', () => undefined)
      },
    )
    req.once('error', end)
    req.end(body)
  })
}

async function openMore(streams: number): Promise<void> {
  const opening: Promise<void>[] = []
  for (let n = 0; n < streams; n++) {
    const i = opened++
    const model = i % 100 < activePercent ? models[0] : models[1]
    opening.push(open(urls[i % urls.length] ?? '', model))
    if (n % ((OPENED_PER_SECOND * TICK_MS) / 1_000) === 0) await new Promise((resolve) => setTimeout(resolve, TICK_MS))
  }
  await Promise.all(opening)
}

function soFar(): StreamsSoFar {
  const sorted = firstTokens.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)
  return { open: opened - ended, ended, p50: at(0.5), p99: at(0.99) }
}

process.on('message', (streams: number) => void openMore(streams).then(() => process.send?.(soFar())))
