import type { Dispatcher } from 'undici'
import { UpstreamError, type UpstreamErrorKind } from '../provider.ts'

/** What it means when an exchange with an upstream goes wrong: by its status, its headers, or how the connection ended. */

export interface ExpectedAnswer {
  /** That is asked for, and expected. */
  contentType: string
  /** What a status means at this provider, where it differs from what it means everywhere. `body`: of a 400, cut at 16 KiB. */
  kindOfRefusal?(status: number, body: string): UpstreamErrorKind | undefined
}

/** Of these the body says more than the status. For any other nobody waits: it may never end. */
const EXPLAINED: ReadonlySet<number> = new Set([400, 429])

export async function refuseUnlessAnswer(
  response: Dispatcher.ResponseData<unknown>,
  expected: ExpectedAnswer,
): Promise<void> {
  const { statusCode: status, headers } = response
  if (status !== 200) {
    const body = EXPLAINED.has(status) ? await beginningOf(response.body) : ''
    throw new UpstreamError(expected.kindOfRefusal?.(status, body) ?? kindOfStatus(status), {
      status,
      retryAfterSeconds: retryAfterOf(headers['retry-after']) ?? retryDelayIn(body),
    })
  }
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity')
    throw new UpstreamError('encoding')
  // A 200 that is not a stream is an error in disguise: we asked for one.
  if (!String(headers['content-type'] ?? '').startsWith(expected.contentType))
    throw new UpstreamError('error_in_200', { status })
}

function kindOfStatus(status: number): UpstreamErrorKind {
  if (status === 429) return 'rate_limited'
  if (status === 401 || status === 402 || status === 403) return 'key_rejected'
  if (status >= 500) return 'server_error'
  return status >= 400 ? 'rejected' : status >= 300 ? 'redirect' : 'protocol'
}

const REFUSAL_BYTES_MAX = 16 * 1024
const REFUSAL_MS = 500

/** A refusal that does not end in time is judged by what has come of it. */
async function beginningOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  let text = ''
  const timer = setTimeout(() => body.destroy(), REFUSAL_MS)
  try {
    const decoder = new TextDecoder()
    for await (const bytes of body as AsyncIterable<Buffer>) {
      text += decoder.decode(bytes, { stream: true })
      if (text.length >= REFUSAL_BYTES_MAX) break
    }
  } catch {
    // The status stands, however the body ends.
  } finally {
    clearTimeout(timer)
  }
  return text
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

/** What OpenSSL and Node call a certificate, or a peer, that they do not accept. */
const TLS_CODES =
  /CERT|TLS|SSL|CRL|SIGNATURE|EPROTO|^INVALID_(?:CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$|^HOSTNAME_MISMATCH$/
