/** The callers of the streams benchmark: opens all streams at a steady rate and reads each to its end. */
import { Agent, request } from 'node:http'

interface Order {
  urls: string[]
  headers: Record<string, string>
  streams: number
}

const OPENED_PER_SECOND = 1_000

const { urls, headers, streams } = JSON.parse(process.argv[2] ?? '{}') as Order
const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })
const body = JSON.stringify({ model: 'bench', stream: true, messages: [{ role: 'user', content: 'Hello' }] })
const firstTokens: number[] = []
let open = 0
let most = 0
let completed = 0
let broken = 0

function runStream(url: string): Promise<void> {
  const startedMs = performance.now()
  open += 1
  most = Math.max(most, open)
  return new Promise((resolve) => {
    let isDone = false
    let hasToken = false
    const end = () => {
      if (isDone) completed += 1
      else broken += 1
      open -= 1
      resolve()
    }
    const req = request(
      `${url}/v1/chat/completions`,
      { method: 'POST', agent, headers: { ...headers, 'content-type': 'application/json' } },
      (res) => {
        res.on('data', (bytes: Buffer) => {
          if (!hasToken) firstTokens.push(performance.now() - startedMs)
          hasToken = true
          isDone ||= bytes.includes('data: [DONE]')
        })
        res.once('close', end)
      },
    )
    req.once('error', end)
    req.end(body)
  })
}

const running: Promise<void>[] = []
for (let i = 0; i < streams; i++) {
  running.push(runStream(urls[i % urls.length] ?? ''))
  if (i % (OPENED_PER_SECOND / 20) === 0) await new Promise((resolve) => setTimeout(resolve, 50))
}
await Promise.all(running)
const sorted = firstTokens.toSorted((a, b) => a - b)
const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)
process.send?.({ completed, broken, most, p50: at(0.5), p99: at(0.99) })
process.disconnect()
