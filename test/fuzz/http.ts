/** Requests that are handed to the server in this process: fast enough for tens of thousands of them. */
import { duplexPair } from 'node:stream'
import type { Random } from '../support/random.ts'
import { complaintAbout } from './answers.ts'
import { minimised, type Part, type Trial } from './part.ts'
import { inputOf, type HttpInput } from './requests.ts'
import { answersIn } from './wire.ts'
import { openWorld, type World } from './world.ts'

const ANSWERED_WITHIN_MS = 2_000

export async function createHttpPart(): Promise<Part> {
  const world = await openWorld()
  const slow: { n: number; input: HttpInput }[] = []
  return {
    atOnce: 12,
    async try(random: Random, n: number): Promise<Trial> {
      const input = inputOf(random, world, n)
      const alarms = world.alarms.length
      const { status, ms, complaint } = await ask(world, input)
      if (ms > ANSWERED_WITHIN_MS) slow.push({ n, input })
      const logged = world.alarms.length > alarms && status === 500 ? `, logged ${world.alarms.at(-1)}` : ''
      return {
        ending: String(status),
        complaint: complaint && complaint + logged,
        shown: async () =>
          shownOf(await minimised(input, smallerOnes, async (one) => hasFailed(world, one, complaint))),
      }
    },
    async complaints() {
      const found: string[] = []
      // Inputs that were only slow are asked again alone, so that no other input can be the reason.
      for (const { n, input } of slow) {
        const { ms } = await ask(world, input)
        if (ms > ANSWERED_WITHIN_MS) found.push(`it took ${Math.round(ms)} ms, --only http:${n}: ${shownOf(input)}`)
      }
      return [...found, ...(await world.complaints())]
    },
    standstill: () => world.standstill(),
    close: () => world.close(),
  }
}

async function ask(world: World, input: HttpInput) {
  const startedMs = performance.now()
  const { method, headers } = input
  const bytes = await exchange(world, input)
  const { answers, problem } = answersIn(bytes, () => method === 'HEAD')
  const [answer, ...others] = answers
  const asked = { method, isOpenAIErrors: headers['x-error-format'] === 'openai' }
  const complaint =
    others.length > 0
      ? 'more than one answer'
      : (problem ?? (answer ? complaintAbout(asked, answer) : 'nothing was answered'))
  return { status: answer?.status ?? 0, ms: performance.now() - startedMs, complaint }
}

/** One request on a connection of its own, which is no socket: the server reads and writes it in this process. */
async function exchange({ app }: World, { method, path, headers, body, address }: HttpInput): Promise<Buffer> {
  const [ours, theirs] = duplexPair()
  Object.defineProperty(theirs, 'remoteAddress', { value: address })
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  if (body !== undefined) lines.push(`content-length: ${body.length}\r\n`)
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}connection: close\r\n\r\n`, 'latin1')
  const received: Buffer[] = []
  const end = Promise.withResolvers<void>()
  ours.on('data', (piece: Buffer) => received.push(piece))
  ours
    .on('end', end.resolve)
    .on('close', end.resolve)
    .on('error', () => {})
  theirs.on('error', () => {})
  app.server.emit('connection', theirs)
  ours.write(body === undefined ? head : Buffer.concat([head, body]))
  await end.promise
  ours.destroy()
  theirs.destroy()
  return Buffer.concat(received)
}

/** For the same reason, as far as its beginning tells. */
async function hasFailed(world: World, input: HttpInput, complaint: string | undefined): Promise<boolean> {
  const again = await ask(world, input).catch(() => undefined)
  return again?.complaint !== undefined && again.complaint.slice(0, 12) === complaint?.slice(0, 12)
}

const KEPT = new Set(['x-publishable-key', 'x-secret-key', 'host'])

function* smallerOnes(input: HttpInput): Generator<HttpInput> {
  for (const name of Object.keys(input.headers)) {
    const { [name]: _, ...headers } = input.headers
    if (!KEPT.has(name)) yield { ...input, headers }
  }
  const [path = '', query] = input.path.split('?')
  if (query !== undefined) yield { ...input, path }
  if (input.body === undefined) return
  for (const text of smallerTexts(input.body.toString())) yield { ...input, body: Buffer.from(text) }
}

/** Without a field, at the top or one level below. */
function* smallerTexts(text: string): Generator<string> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return
  for (const name of Object.keys(value)) {
    const { [name]: removed, ...rest } = value as Record<string, unknown>
    yield JSON.stringify(rest)
    if (Array.isArray(removed) && removed.length > 1)
      for (const n of removed.keys()) yield JSON.stringify({ ...rest, [name]: removed.toSpliced(n, 1) })
  }
}

const SHOWN_CHARACTERS = 1_500

function shownOf({ method, path, headers, body }: HttpInput): string {
  const { 'x-publishable-key': _publishable, 'x-secret-key': _secret, ...others } = headers
  const text = body === undefined ? '' : ` ${JSON.stringify(body.toString()).slice(0, SHOWN_CHARACTERS)}`
  return `${method} ${path.slice(0, 300)} ${JSON.stringify(others)}${text}`
}
