/**
 * The one way to the server: `api('GET /api/projects/:project/keys', { params })`. The key is method and path, and its
 * types come from the server's contract, so that nothing of the schemas themselves reaches the browser.
 */
import type { BodyOf, Contract, ParamOf, QueryOf, ReplyOf } from '../../src/console/contract.ts'
import { askForProof } from './proof/proof-requests.ts'

export type Endpoint = keyof Contract
type Params<K extends string> = [ParamOf<K>] extends [never]
  ? { params?: undefined }
  : { params: Record<ParamOf<K>, string> }
type Query<K extends Endpoint> = [QueryOf<K>] extends [undefined]
  ? { query?: undefined }
  : { query?: Partial<QueryOf<K>> }
type Body<K extends Endpoint> = [BodyOf<K>] extends [undefined] ? { body?: undefined } : { body: BodyOf<K> }

export type Call<K extends Endpoint> = Params<K> & Query<K> & Body<K>
export type Reply<K extends Endpoint> = ReplyOf<K>
/** One row of a list's reply. */
export type Item<K extends Endpoint> = Reply<K> extends { items: (infer I)[] } ? I : never

export interface FieldError {
  path: string
  message: string
}

export class ApiError extends Error {
  readonly status: number
  /** The error's name in the server's catalogue. */
  readonly code: string | undefined
  readonly fields: FieldError[]
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    status: number,
    message: string,
    details: { code?: string; fields?: FieldError[]; requestId?: string; retryAfterSeconds?: number } = {},
  ) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = details.code
    this.fields = details.fields ?? []
    this.requestId = details.requestId
    this.retryAfterSeconds = details.retryAfterSeconds
  }
}

const NO_ANSWER = 'The server cannot be reached. Check your connection and try again.'
const NO_SENTENCE = 'Something went wrong on our side. Try again in a moment.'
/** The server's own words are for programs, and a proxy in front of it has none. */
const BUSY = 'Parley is busy or being updated right now. Try again in a moment.'
const TOO_MANY = 'Too many requests at once. Wait a moment and try again.'

export async function api<K extends Endpoint>(endpoint: K, call: Call<K>, signal?: AbortSignal): Promise<Reply<K>> {
  const { params, query, body } = call as { params?: Record<string, string>; query?: object; body?: unknown }
  const [method = 'GET', path = ''] = endpoint.split(' ')
  const address = `${pathFor(path, params ?? {})}${searchFor(query ?? {})}`
  try {
    return (await send(method, address, body, signal)) as Reply<K>
  } catch (error) {
    // Asked for here, for every change alike: whoever sent it waits, with all that was typed, and then goes on.
    if (!(error instanceof ApiError) || error.code !== 'proof_needed' || !(await askForProof())) throw error
    return (await send(method, address, body, signal)) as Reply<K>
  }
}

/** For an endpoint that takes a file as its body. */
export async function sendFile<K extends Endpoint>(endpoint: K, call: Call<K>, file: Blob): Promise<Reply<K>> {
  const [method = 'POST'] = endpoint.split(' ')
  return (await send(method, addressOf(endpoint, call), file)) as Reply<K>
}

/** The address of an endpoint; of one with GET also for what the browser itself loads: downloads and event streams. */
export function addressOf<K extends Endpoint>(endpoint: K, call: Call<K>): string {
  const { params, query } = call as { params?: Record<string, string>; query?: object }
  return `${pathFor(endpoint.slice(endpoint.indexOf(' ') + 1), params ?? {})}${searchFor(query ?? {})}`
}

export async function send(method: string, address: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
  let response: Response
  try {
    response = await fetch(address, {
      method,
      credentials: 'same-origin',
      headers: body === undefined ? { accept: 'application/json' } : { 'content-type': typeOf(body) },
      body: body === undefined ? null : body instanceof Blob ? body : JSON.stringify(body),
      signal: signal ?? null,
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiError(0, NO_ANSWER)
  }
  const answer = await jsonOf(response)
  if (!response.ok) throw errorOf(response, answer)
  return answer
}

function typeOf(body: unknown): string {
  return body instanceof Blob ? 'application/octet-stream' : 'application/json'
}

function pathFor(path: string, params: Record<string, string>): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
}

function searchFor(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()
  return search === '' ? '' : `?${search}`
}

async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text()
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

function errorOf(response: Response, answer: unknown): ApiError {
  const { message, code, fields } = (answer ?? {}) as { message?: unknown; code?: unknown; fields?: FieldError[] }
  const retryAfter = Number(response.headers.get('retry-after') ?? NaN)
  const sentence = typeof message === 'string' && message !== '' ? message : undefined
  return new ApiError(response.status, sentenceFor(response.status, sentence), {
    fields: Array.isArray(fields) ? fields : [],
    ...(typeof code === 'string' && { code }),
    ...(response.headers.has('x-request-id') && { requestId: String(response.headers.get('x-request-id')) }),
    ...(Number.isFinite(retryAfter) && { retryAfterSeconds: retryAfter }),
  })
}

function sentenceFor(status: number, sentence: string | undefined): string {
  if (status === 503) return BUSY
  return sentence ?? (status === 429 ? TOO_MANY : NO_SENTENCE)
}
