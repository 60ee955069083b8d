import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Secrets } from '../../platform/secrets.ts'
import { createKnownProvider } from '../../providers/create-provider.ts'
import { UpstreamError, type Provider, type UpstreamErrorKind } from '../../providers/provider.ts'
import type { BodyReader } from '../../providers/body-reader.ts'
import type { UpstreamRequest } from '../../providers/upstream-request.ts'
import { createTransport, type Transport } from '../../providers/transport.ts'
import type { Chunk } from '../../rules/calls/chunk.ts'
import type { ModelKind } from '../../rules/catalogue/model-kinds.ts'
import { UPSTREAM_TIMERS } from '../../rules/limits.ts'
import type { Usage } from '../../rules/billing/usage.ts'
import { kindOf } from '../../store/catalogue/catalogue.ts'
import { CliError } from '../failures.ts'

export interface ProviderRecord {
  id: string
  name: string
  kind: string
  base_url: string
  settings: unknown
}

interface SealedKey {
  name: string
  sealed_key: string
}

export interface ProbedModel {
  upstreamModel: string
  modelKind: ModelKind
}

/** The model of a route, as it is asked. */
export function probedModelOf(route: { upstream_model: string; model_kind: string }): ProbedModel {
  return { upstreamModel: route.upstream_model, modelKind: kindOf({ kind: route.model_kind }) }
}

/** One step on the way to an answer. */
export interface Phase {
  phase: 'dns' | 'connect' | 'tls' | 'first byte' | 'first token' | 'total'
  /** From the step before; from the sending of the request for the last three. */
  ms: number
  state: 'ok' | 'failed'
}

export interface Probe {
  phases: Phase[]
  /** Undefined: the provider reported none. */
  usage: Usage | undefined
  /** The problem and what to do about it. Undefined: it answered. */
  failure: string | undefined
}

const TIMERS = { ...UPSTREAM_TIMERS, firstTokenMs: 30_000, totalMs: 60_000 }

/** One real answer of at most eight tokens, or the vector of one word, through the same code as every call. */
export async function probe(
  record: ProviderRecord,
  key: SealedKey | undefined,
  secrets: Secrets,
  { upstreamModel, modelKind }: ProbedModel,
): Promise<Probe> {
  const { name, kind, base_url: baseUrl, settings } = record
  const apiKey = key && apiKeyOf(record, key, secrets)
  const phases = await reach(baseUrl)
  const transport = createTransport()
  const ask: Ask = { phases, upstreamModel, modelKind, apiKey, startedMs: performance.now() }
  try {
    const { provider } = createKnownProvider({ name, kind, baseUrl, settings }, timed(transport, ask))
    return { phases, usage: await askOnce(provider, ask), failure: undefined }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    if (phases.every(({ state }) => state === 'ok')) phases.push(failedPhase(ask))
    return { phases, usage: undefined, failure: reasonOf(error, baseUrl, upstreamModel) }
  } finally {
    await transport.close()
  }
}

export function apiKeyOf(record: ProviderRecord, key: SealedKey, secrets: Secrets): string {
  try {
    return secrets.unseal(key.sealed_key, `provider/${record.id}`)
  } catch {
    throw new CliError(
      `The API key ${key.name} of ${record.name} was sealed under another PARLEY_SECRET. Add that secret back, or add the key again: parley provider key add ${record.name} ${key.name}`,
    )
  }
}

/** Connections of our own: the transport does not tell when one of its own stood. Saying why it failed is left to the call. */
async function reach(baseUrl: string): Promise<Phase[]> {
  const { protocol, hostname, port } = new URL(baseUrl)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = protocol === 'https:'
  const phases: Phase[] = []
  let socket: Socket | undefined
  async function take<Result>(phase: Phase['phase'], work: () => Promise<Result>): Promise<Result> {
    const startedMs = performance.now()
    const ms = () => Math.round(performance.now() - startedMs)
    try {
      const result = await work()
      phases.push({ phase, ms: ms(), state: 'ok' })
      return result
    } catch (error) {
      phases.push({ phase, ms: ms(), state: 'failed' })
      throw error
    }
  }
  try {
    const address = isIP(host) === 0 ? (await take('dns', () => lookup(host))).address : host
    const tcp = connectTcp({ host: address, port: Number(port || (isTls ? 443 : 80)) })
    socket = tcp
    await take('connect', () => once(tcp, 'connect', { signal: AbortSignal.timeout(TIMERS.connectMs) }))
    if (!isTls) return phases
    // A name is asked for by itself; an address has none.
    const tls = connectTls({ socket: tcp, ...(isIP(host) === 0 && { servername: host }) })
    socket = tls
    await take('tls', () => once(tls, 'secureConnect', { signal: AbortSignal.timeout(TIMERS.connectMs) }))
    return phases
  } catch {
    return phases
  } finally {
    socket?.on('error', () => {})
    socket?.destroy()
  }
}

interface Ask extends ProbedModel {
  phases: Phase[]
  apiKey: string | undefined
  startedMs: number
}

/** Notes when the first piece of the body came: before any token, if the wire format opens with something else. */
function timed(transport: Transport, ask: Ask): Transport {
  return {
    exchange<Part, Piece>(request: UpstreamRequest, reader: BodyReader<Part, Piece>, signal: AbortSignal) {
      const noting: BodyReader<Part, Piece> = {
        ...reader,
        split(bytes, parts) {
          if (!isPast(ask, 'first byte')) pass(ask, 'first byte')
          reader.split(bytes, parts)
        },
      }
      return transport.exchange(request, noting, signal)
    },
    close: () => transport.close(),
  }
}

function isPast(ask: Ask, phase: Phase['phase']): boolean {
  return ask.phases.some((done) => done.phase === phase)
}

function pass({ phases, startedMs }: Ask, phase: Phase['phase']): void {
  phases.push({ phase, ms: Math.round(performance.now() - startedMs), state: 'ok' })
}

function failedPhase(ask: Ask): Phase {
  const phase = (['first byte', 'first token'] as const).find((candidate) => !isPast(ask, candidate)) ?? 'total'
  return { phase, ms: Math.round(performance.now() - ask.startedMs), state: 'failed' }
}

async function askOnce(provider: Provider, ask: Ask): Promise<Usage | undefined> {
  let usage: Usage | undefined
  ask.startedMs = performance.now()
  for await (const chunks of answerOf(provider, ask)) {
    // A model that only thinks within its eight tokens still answered: its finish counts.
    if (!isPast(ask, 'first token')) pass(ask, 'first token')
    for (const chunk of chunks) if (chunk.type === 'usage') usage = chunk.usage
  }
  pass(ask, 'total')
  return usage
}

function answerOf(provider: Provider, { upstreamModel, modelKind, apiKey }: Ask): AsyncIterable<readonly Chunk[]> {
  const call = { upstreamModel, apiKey, timers: TIMERS }
  const { signal } = new AbortController()
  if (modelKind === 'embedding') {
    if (!provider.embed) throw new CliError(`${provider.name} does not offer embeddings.`)
    const inputs = ['OK']
    const request = { model: upstreamModel, inputs, isSingle: true, format: 'float' as const, dimensions: undefined }
    return provider.embed({ ...call, request }, signal)
  }
  const request = {
    model: upstreamModel,
    messages: [{ role: 'user' as const, content: 'Say OK.' }],
    stream: true,
    includeUsage: true,
    max_tokens: 8,
  }
  return provider.stream({ ...call, request }, signal)
}

const REASONS: Record<UpstreamErrorKind, string> = {
  refused: 'Nothing listens at that address. Check its base URL, and that the provider is running.',
  dns: 'The host name cannot be found. Check its base URL.',
  connect_timeout: `No connection within ${TIMERS.connectMs / 1000} s. Check its base URL and the firewall.`,
  tls: 'The certificate is not trusted, or TLS failed. Check whether its base URL should begin with http:// or https://.',
  reset: 'The connection broke before an answer began. Check its base URL, then try again.',
  first_token_timeout: `Nothing came within ${TIMERS.firstTokenMs / 1000} s. Try again, or another model.`,
  idle_timeout: 'The answer began and then fell silent. Try again.',
  total_timeout: 'The answer took too long. Try again.',
  rate_limited: 'The provider limits this key (429). Check your quota and credit there.',
  server_error: 'The provider itself has a problem. Try again later.',
  key_rejected: 'The provider refuses the API key. Set another one.',
  rejected: 'The provider refuses the request. Check the API key, its base URL and the upstream model.',
  redirect: 'The address redirects, which is never followed. Set its base URL to where that leads.',
  encoding: 'The answer is compressed, although Parley did not ask for that. Check any proxies in between.',
  protocol: 'The server there does not speak HTTP as expected. Check its base URL.',
  error_in_200: 'It answers, but not with a stream. Check its base URL: it usually ends with a version, such as /v1.',
  bad_event: 'Its events are not those of its wire format. Check the kind of provider.',
  event_too_big: 'It sent an event that is too big to be an answer. Check its base URL.',
  truncated: 'The answer ended without its end marker. Try again.',
  model_failed: 'The model wrote something that its provider could not use. Try again, or use another model.',
  reader_stalled: 'The answer was not read in time. Try again.',
}

export function reasonOf(error: UpstreamError, baseUrl: string, upstreamModel: string): string {
  return `${baseUrl} did not answer with ${upstreamModel}. ${rejectionOf(error) ?? REASONS[error.kind]}`
}

function rejectionOf({ kind, status }: UpstreamError): string | undefined {
  if (kind === 'key_rejected' && status === 402) return 'The provider asks for payment (402). Check your credit there.'
  if (kind === 'key_rejected' && status !== undefined) {
    return `The provider refuses the API key (${status}). Set another one.`
  }
  if (kind !== 'rejected') return undefined
  if (status === 404) return 'There is no such model or address (404). Check the upstream model and its base URL.'
  return `The provider refuses the request (${status}). Check the upstream model and its base URL.`
}
