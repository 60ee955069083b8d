/** How the tests talk to a gateway, and how they look at what became of it: real sockets, the simulator, the store. */
import { connect } from 'node:net'
import { callIdOf } from '../../src/rules/billing/receipts.ts'
import { addModel, complete, eventsOf, until, type TestModel, type TestProject, type World } from '../support/world.ts'

export interface CompletionBody {
  id: string
  object: string
  created: number
  model: string
  choices: { index: number; message: ReplyMessage; logprobs?: Logprobs; finish_reason: string }[]
  usage: UsageBody
}

export interface ReplyMessage {
  role: string
  content: string | null
  reasoning_content?: string
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[]
}

interface Logprobs {
  content: { token: string; top_logprobs: unknown[] }[]
}

export interface UsageBody {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
}

export interface ChunkBody {
  id: string
  object: string
  created: number
  model: string
  choices: { index: number; delta: Record<string, unknown>; logprobs?: Logprobs; finish_reason: string | null }[]
  usage?: UsageBody
}

export interface ErrorBody {
  statusCode: number
  message: string
  error: string
}

export interface ModelEntry {
  id: string
  object: string
  created: number
  owned_by: string
  pricing?: Record<string, string>
}

export interface Answer<Body> {
  status: number
  headers: Headers
  text: string
  body: Body
}

interface AskOptions {
  project?: TestProject
  headers?: Record<string, string>
  signal?: AbortSignal
}

type Target = Pick<World, 'url' | 'project'>

/** POST /v1/chat/completions, read to its end. */
export async function ask<Body = CompletionBody>(
  world: Target,
  body: unknown,
  options: AskOptions = {},
): Promise<Answer<Body>> {
  return answerOf<Body>(await complete(world, body, options))
}

export function refused(world: Target, body: unknown, options: AskOptions = {}): Promise<Answer<ErrorBody>> {
  return ask<ErrorBody>(world, body, options)
}

/** Any other request, with no headers but those given. */
export async function send<Body = ErrorBody>(
  world: Target,
  path: string,
  init: { method?: string; headers?: Record<string, string>; body?: string | Uint8Array } = {},
): Promise<Answer<Body>> {
  return answerOf<Body>(await fetch(`${world.url}${path}`, init))
}

export function listModels(world: Target, options: AskOptions = {}) {
  const headers = { ...(options.project ?? world.project).headers, ...options.headers }
  return send<{ object: string; data: ModelEntry[] } & ErrorBody>(world, '/v1/models', { headers })
}

async function answerOf<Body>(response: Response): Promise<Answer<Body>> {
  const text = await response.text()
  const isJson = (response.headers.get('content-type') ?? '').startsWith('application/json')
  const body = (isJson && text !== '' ? JSON.parse(text) : undefined) as Body
  return { status: response.status, headers: response.headers, text, body }
}

/** A streamed completion, read to its end. */
export async function stream(world: Target, body: Record<string, unknown>, options: AskOptions = {}) {
  const answer = await ask<never>(world, { ...body, stream: true }, options)
  const events = eventsOf(answer.text)
  const chunks = events.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data) as ChunkBody)
  return { ...answer, events, chunks }
}

export function contentOf(chunks: readonly ChunkBody[]): string {
  return chunks.map((chunk) => (chunk.choices[0]?.delta.content as string | undefined) ?? '').join('')
}

export interface RawConnection {
  /** Everything received so far. */
  readonly text: string
  readonly isClosed: boolean
  write(text: string): void
  destroy(): void
}

/** A bare socket to the gateway, for what HTTP clients do not let happen or do not let see. */
export function connectTo(world: Target): RawConnection {
  const { hostname, port } = new URL(world.url)
  const socket = connect({ host: hostname, port: Number(port) })
  let text = ''
  let isClosed = false
  socket.setEncoding('utf8')
  socket.on('data', (piece: string) => (text += piece))
  socket.on('error', () => undefined)
  socket.on('close', () => (isClosed = true))
  return {
    get text() {
      return text
    },
    get isClosed() {
      return isClosed
    },
    write: (more) => void socket.write(more),
    destroy: () => void socket.destroy(),
  }
}

/** A completion request as it stands on the wire. */
export function requestText(project: TestProject, body: string, headers: Record<string, string> = {}): string {
  const all: Record<string, string> = {
    host: 'parley.test',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...project.headers,
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /v1/chat/completions HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** Resolves when the gateway serves them: it follows the store within a second or so. */
export async function addModels(world: World, ...models: TestModel[]): Promise<void> {
  for (const model of models) await addModel(world.store, model)
  const served = models.filter((model) => model.price !== null).map((model) => model.id)
  await until(async () => {
    const { body } = await listModels(world)
    return served.every((id) => body.data.some((entry) => entry.id === id))
  })
}

/** Returns the body of the last request to the provider. */
export function upstreamBody(world: World): Record<string, unknown> {
  const call = world.simulator.calls.at(-1)
  if (!call) throw new Error('the provider was not called')
  return call.body as Record<string, unknown>
}

/** The money side of a call, once its `chatcmpl-…` is settled. */
export async function receiptOf(world: World, completionId: string) {
  const charges = world.store.db.selectFrom('charges').selectAll()
  return charges.where('id', '=', callIdOf(completionId) ?? '').executeTakeFirstOrThrow()
}

/** Returns the charges for the project's calls, oldest first. Waits until there are `count` and no call is open. */
export async function chargesOf(world: World, projectId: string, count: number) {
  const read = () => world.store.db.selectFrom('charges').selectAll().where('project_id', '=', projectId).orderBy('id')
  const isSettled = async () => {
    const open = await world.store.db.selectFrom('holds').select('id').where('project_id', '=', projectId).execute()
    return open.length === 0 && (await read().execute()).length >= count
  }
  await until(isSettled)
  return read().execute()
}

/** Limits count by the minute: a test of them must not straddle two. */
export async function minuteWithRoom(seconds: number): Promise<void> {
  await until(() => new Date().getUTCSeconds() < 60 - seconds, (seconds + 2) * 1000)
}
