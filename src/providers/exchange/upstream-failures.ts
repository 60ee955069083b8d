import type { Dispatcher } from 'undici'
import { UpstreamError, type UpstreamErrorKind } from '../provider.ts'
import type { UpstreamRequest } from '../upstream-request.ts'

/** The meaning of an exchange with an upstream that goes wrong: by its status, its headers, or how the connection ended. */

type ExpectedAnswer = Pick<UpstreamRequest, 'contentType' | 'kindOfRefusal'>

/** Statuses whose body says more than they do. For any other body nobody waits: it may never end. */
const EXPLAINED: ReadonlySet<number> = new Set([400, 429])

/** An answer that is none. */
export interface Refusal {
  /** Its body says more. */
  readonly isExplained: boolean
  /** Returns whether that is enough of the body. */
  add(bytes: Buffer): boolean
  /** The error that it means, by what has come of it. */
  error(): UpstreamError
}

/** Limits for reading the body of a refusal: one that does not end is judged by what has come of it. */
const REFUSAL_BYTES_MAX = 16 * 1024
export const REFUSAL_MS = 500

type Headers = Dispatcher.ResponseData['headers']

/** Undefined: what follows is an answer. */
export function refusalIn(status: number, headers: Headers, expected: ExpectedAnswer): Refusal | undefined {
  if (status !== 200) return createRefusal(status, headers, expected)
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity')
    return unexplained(new UpstreamError('encoding'))
  // A 200 that is not a stream is an error in disguise: we asked for one.
  if (!String(headers['content-type'] ?? '').startsWith(expected.contentType))
    return unexplained(new UpstreamError('error_in_200', { status }))
  return undefined
}

function createRefusal(status: number, headers: Headers, { kindOfRefusal }: ExpectedAnswer): Refusal {
  const decoder = new TextDecoder()
  let body = ''
  return {
    isExplained: EXPLAINED.has(status),
    add(bytes) {
      body += decoder.decode(bytes, { stream: true })
      return body.length >= REFUSAL_BYTES_MAX
    },
    error() {
      const retryAfterSeconds = retryAfterOf(headers['retry-after']) ?? retryDelayIn(body)
      return new UpstreamError(kindOfRefusal?.(status, body) ?? kindOfStatus(status), { status, retryAfterSeconds })
    },
  }
}

function unexplained(error: UpstreamError): Refusal {
  return { isExplained: false, add: () => true, error: () => error }
}

function kindOfStatus(status: number): UpstreamErrorKind {
  if (status === 429) return 'rate_limited'
  if (status === 401 || status === 402 || status === 403) return 'key_rejected'
  if (status >= 500) return 'server_error'
  return status >= 400 ? 'rejected' : status >= 300 ? 'redirect' : 'protocol'
}

const RETRY_AFTER_SECONDS_MAX = 60

function retryAfterOf(header: string | string[] | undefined): number | undefined {
  const text = String(header ?? '')
  return secondsWithin(/^\d{1,10}$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000)
}

/** Google's way of saying it, in the details of the error: `"retryDelay": "34.07s"`. */
function retryDelayIn(body: string): number | undefined {
  return secondsWithin(Number(/"retryDelay"\s*:\s*"(\d{1,10}(?:\.\d{1,9})?)s"/.exec(body)?.[1] ?? NaN))
}

function secondsWithin(seconds: number): number | undefined {
  return Number.isFinite(seconds) ? Math.min(Math.max(Math.ceil(seconds), 1), RETRY_AFTER_SECONDS_MAX) : undefined
}

export function upstreamErrorOf(error: unknown, isStarted: boolean): UpstreamError {
  if (error instanceof UpstreamError) return error
  const cause = error instanceof Error && error.cause instanceof UpstreamError ? error.cause : undefined
  if (cause) return cause
  const { code, name } = error as { code?: unknown; name?: unknown }
  // Some parser errors have a name and no code.
  return new UpstreamError(kindOf(typeof code === 'string' ? code : String(name), isStarted))
}

function kindOf(code: string, isStarted: boolean): UpstreamErrorKind {
  if (code === 'ECONNREFUSED' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return 'refused'
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect_timeout'
  if (TLS_CODES.test(code)) return 'tls'
  if (/^HPE_|^HTTPParserError$|^UND_ERR_HEADERS_OVERFLOW$/.test(code)) return isStarted ? 'truncated' : 'protocol'
  if (isStarted) return 'truncated'
  return 'reset'
}

/** Codes of OpenSSL and Node for a certificate, or a peer, that they do not accept. */
const TLS_CODES =
  /CERT|TLS|SSL|CRL|SIGNATURE|EPROTO|^INVALID_(?:CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$|^HOSTNAME_MISMATCH$/
