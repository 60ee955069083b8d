import type { ReasoningEffort } from '../calls/chat-request.ts'

/** The errors of a provider, and whether its caller may have caused them. */

export type UpstreamErrorKind =
  | 'refused' // nothing listens there
  | 'dns'
  | 'connect_timeout'
  | 'tls' // never retried without verification
  | 'reset' // the connection broke before an answer began
  | 'first_token_timeout'
  | 'idle_timeout'
  | 'total_timeout'
  | 'rate_limited' // 429
  | 'server_error' // 5xx
  | 'key_rejected' // 401, 402, 403: the operator's key, never the caller's
  | 'rejected' // any other 4xx: the request
  | 'model_failed' // what the model wrote was of no use to its provider, before anything of it was sent
  | 'redirect' // never followed
  | 'encoding' // compressed although not asked: never inflated
  | 'protocol' // not HTTP, or not an event stream
  | 'error_in_200'
  | 'bad_event'
  | 'event_too_big'
  | 'truncated' // ended without its end marker
  | 'reader_stalled' // ended while nobody read on, for longer than a provider can be expected to wait

/**
 * `nobody`: it says nothing of a deployment's health. It is about a key, about the request, about how an answer was read, or
 * about an answer as large as it was asked for.
 * `one`: the request was with the provider, so it may be what this publisher asks that fails. Counts for that one alone, and
 * for everybody when it fails for two.
 * `everybody`: nothing was sent yet, so nothing that was asked can be the cause.
 */
export type Blame = 'nobody' | 'one' | 'everybody'

export const BLAME: Readonly<Record<UpstreamErrorKind, Blame>> = {
  refused: 'everybody',
  dns: 'everybody',
  connect_timeout: 'everybody',
  tls: 'everybody',
  reset: 'one',
  first_token_timeout: 'one',
  idle_timeout: 'one',
  total_timeout: 'one',
  rate_limited: 'nobody',
  server_error: 'one',
  key_rejected: 'nobody',
  rejected: 'nobody',
  model_failed: 'nobody',
  redirect: 'one',
  encoding: 'one',
  protocol: 'one',
  error_in_200: 'one',
  bad_event: 'one',
  event_too_big: 'nobody',
  truncated: 'one',
  reader_stalled: 'nobody',
}

/**
 * Callers that ask for thoughts can ask for so many that no time is enough: silence before the first token is then their own
 * doing.
 */
export function isSilenceAskedFor(kind: UpstreamErrorKind, effort: ReasoningEffort = 'none'): boolean {
  return effort !== 'none' && (kind === 'first_token_timeout' || kind === 'total_timeout')
}

/** A probe for everybody, by one publisher. */
export interface Probe {
  publisherId: string
  /** The publisher whose probe failed last. */
  lastFailedOf: string | undefined
}

/** Whether a failure counts for everybody: a probe does, when the one before it was another publisher's and failed, too. */
export function countsForAll(blame: Blame, probe: Probe | undefined): boolean {
  if (blame !== 'one' || !probe) return blame === 'everybody'
  return probe.lastFailedOf !== undefined && probe.lastFailedOf !== probe.publisherId
}
