import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Secrets } from '../platform/secrets.ts'
import { createProvider } from '../providers/create-provider.ts'
import { UpstreamError, type Provider, type UpstreamErrorKind } from '../providers/provider.ts'
import { createTransport } from '../providers/transport.ts'
import { UPSTREAM_TIMERS } from '../rules/limits.ts'
import { CliError } from './failures.ts'

export interface ProviderRecord {
  id: string
  name: string
  kind: string
  base_url: string
  settings: unknown
  keys: readonly { sealed_key: string }[]
}

export interface Probe {
  /** Undefined: the connection that was made only to measure did not come about, although the call did. */
  connectMs: number | undefined
  firstTokenMs: number
  totalMs: number
}

const TIMERS = { ...UPSTREAM_TIMERS, firstTokenMs: 30_000, totalMs: 60_000 }

/** One real answer of at most eight tokens, through the same code as every call. Throws a CliError that says why not. */
export async function probe(record: ProviderRecord, secrets: Secrets, upstreamModel: string): Promise<Probe> {
  const transport = createTransport()
  try {
    const { name, kind, base_url: baseUrl, settings } = record
    const provider = createProvider({ name, kind, baseUrl, settings }, transport)
    const connectMs = await timeToConnect(baseUrl)
    return { connectMs, ...(await timeToAnswer(provider, upstreamModel, apiKeyOf(record, secrets))) }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    throw new CliError(reasonOf(error, record.base_url, upstreamModel))
  } finally {
    await transport.close()
  }
}

export function apiKeyOf(record: ProviderRecord, secrets: Secrets): string | undefined {
  const [key] = record.keys
  if (!key) return undefined
  try {
    return secrets.unseal(key.sealed_key, `provider/${record.id}`)
  } catch {
    throw new CliError(
      `The API key of ${record.name} was sealed under another PARLEY_SECRET. Add that secret back, or seal the key anew: parley provider set ${record.name} --api-key-stdin`,
    )
  }
}

async function timeToAnswer(provider: Provider, upstreamModel: string, apiKey: string | undefined) {
  const startedMs = performance.now()
  let firstTokenMs: number | undefined
  const request = {
    model: upstreamModel,
    messages: [{ role: 'user' as const, content: 'Say OK.' }],
    stream: true,
    includeUsage: true,
    max_tokens: 8,
  }
  const call = { request, upstreamModel, apiKey, timers: TIMERS }
  for await (const _ of provider.stream(call, new AbortController().signal)) {
    firstTokenMs ??= performance.now() - startedMs
  }
  const totalMs = performance.now() - startedMs
  return { firstTokenMs: firstTokenMs ?? totalMs, totalMs }
}

/** A connection of its own: the transport does not tell when one of its own stood. Failing is left to the call. */
async function timeToConnect(baseUrl: string): Promise<number | undefined> {
  const { protocol, hostname, port } = new URL(baseUrl)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = protocol === 'https:'
  const startedMs = performance.now()
  const socket = isTls
    ? connectTls({ host, port: Number(port || 443) })
    : connectTcp({ host, port: Number(port || 80) })
  try {
    await once(socket, isTls ? 'secureConnect' : 'connect', { signal: AbortSignal.timeout(TIMERS.connectMs) })
    return performance.now() - startedMs
  } catch {
    return undefined
  } finally {
    socket.on('error', () => {})
    socket.destroy()
  }
}

const REASONS: Record<UpstreamErrorKind, string> = {
  refused: 'Nothing listens at that address. Check its base URL, and that the provider runs.',
  dns: 'The host name cannot be found. Check its base URL.',
  connect_timeout: `No connection within ${TIMERS.connectMs / 1000} s. Check its base URL and the firewall.`,
  tls: 'The certificate is not trusted or TLS failed. Check that its base URL begins with http:// or https:// as it should.',
  reset: 'The connection broke before an answer began. Check its base URL, then try again.',
  first_token_timeout: `Nothing came within ${TIMERS.firstTokenMs / 1000} s. Try again, or another model.`,
  idle_timeout: 'The answer began and then fell silent. Try again.',
  total_timeout: 'The answer took too long. Try again.',
  rate_limited: 'The provider limits this key (429). Check its quota and its credit there.',
  server_error: 'The provider has a problem of its own. Try again later.',
  key_rejected: 'The provider refuses the API key. Set another one.',
  rejected: 'The provider refuses the request. Check the API key, its base URL and the upstream model.',
  redirect: 'The address redirects, which is never followed. Set its base URL to where that leads.',
  encoding: 'The answer is compressed although that was not asked for. Check what stands between.',
  protocol: 'What answers there does not speak HTTP as expected. Check its base URL.',
  error_in_200: 'It answers, but not with an event stream. Check its base URL: it usually ends in /v1.',
  bad_event: 'Its events are not those of the OpenAI format. Check the kind of provider.',
  event_too_big: 'It sent an event that is too big to be an answer. Check its base URL.',
  truncated: 'The answer ended without its end marker. Try again.',
}

export function reasonOf(error: UpstreamError, baseUrl: string, upstreamModel: string): string {
  return `${baseUrl} did not answer with ${upstreamModel}. ${rejectionOf(error) ?? REASONS[error.kind]}`
}

function rejectionOf({ kind, status }: UpstreamError): string | undefined {
  if (kind !== 'rejected' && kind !== 'key_rejected') return undefined
  if (status === 401 || status === 403) return `The provider refuses the API key (${status}). Set another one.`
  if (status === 402) return 'The provider asks for payment (402). Check its credit there.'
  if (status === 404) return 'There is no such model or address (404). Check the upstream model and its base URL.'
  return `The provider refuses the request (${status}). Check the upstream model and its base URL.`
}
