import { request, type IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import {
  connectPublicly,
  isAboutCertificate,
  responseTo,
  UnaskedUpgrade,
  type PublicConnectionOptions,
} from '../actions/public-connection.ts'
import { SECOND_MS } from '../rules/durations.ts'
import type { DeliveryError } from '../rules/webhooks.ts'

export interface WebhookRequest {
  url: string
  headers: Record<string, string>
  body: string
}

export type Posted = { status: number } | { error: DeliveryError; status: number | null }

/** Sends one event to an address that a publisher has chosen. Never throws: what went wrong is a finding too. */
export type PostWebhook = (webhook: WebhookRequest) => Promise<Posted>

export interface PostWebhookOptions extends PublicConnectionOptions {
  withinMs?: number
}

const WITHIN_MS = 10 * SECOND_MS
const HEADER_BYTES_MAX = 16 * 1024
/** Nobody reads it; a server that is cut off in the middle of a short answer would only log an error. */
const BODY_BYTES_MAX = 16 * 1024
/** A server that trickles it holds a place that others wait for. */
const BODY_MS_MAX = SECOND_MS

/** Redirects are not followed: each would be another address to be led to. */
export function createPostWebhook({ withinMs = WITHIN_MS, ...options }: PostWebhookOptions): PostWebhook {
  return async (webhook) => {
    const { hostname, port } = new URL(webhook.url)
    const through = { ...options, port: options.port ?? (port === '' ? undefined : Number(port)) }
    let socket: TLSSocket | undefined
    try {
      const connection = await connectPublicly(through, hostname, () => AbortSignal.timeout(withinMs))
      if ('refusal' in connection) return { error: connection.refusal, status: null }
      socket = connection.socket
      return await send(socket, webhook, connection.deadline)
    } catch (error) {
      return { error: reasonOf(error), status: null }
    } finally {
      socket?.destroy()
    }
  }
}

async function send(socket: TLSSocket, webhook: WebhookRequest, deadline: AbortSignal): Promise<Posted> {
  const { hostname, host, pathname, search } = new URL(webhook.url)
  const body = Buffer.from(webhook.body)
  const asking = request({
    createConnection: () => socket,
    method: 'POST',
    host: hostname,
    path: `${pathname}${search}`,
    maxHeaderSize: HEADER_BYTES_MAX,
    signal: deadline,
    headers: {
      ...webhook.headers,
      host,
      'user-agent': 'Parley-Webhooks',
      'content-type': 'application/json',
      'content-length': body.length,
      accept: '*/*',
      'accept-encoding': 'identity',
      connection: 'close',
    },
  })
  asking.end(body)
  const response = await responseTo(asking, deadline)
  const status = response.statusCode ?? 0
  if (status >= 300 && status < 400) return { error: 'redirect', status }
  if (status < 200 || status >= 300) return { error: 'status', status }
  await drain(response)
  return { status }
}

/** The status is the answer. Whatever becomes of the rest changes nothing. */
async function drain(response: IncomingMessage): Promise<void> {
  let bytes = 0
  const timer = setTimeout(() => response.destroy(), BODY_MS_MAX)
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > BODY_BYTES_MAX) return
    }
  } catch {
    // Cut short, or too slow.
  } finally {
    clearTimeout(timer)
  }
}

function reasonOf(error: unknown): DeliveryError {
  const { code, name } = error as { code?: unknown; name?: unknown }
  if (name === 'AbortError' || name === 'TimeoutError') return 'timeout'
  if (isAboutCertificate(error)) return 'certificate'
  return error instanceof UnaskedUpgrade || String(code).startsWith('HPE_') ? 'malformed' : 'connection'
}
