import type { UpstreamTimers } from '../rules/limits.ts'
import type { UpstreamErrorKind } from './provider.ts'

/** One POST to a provider. */
export interface UpstreamRequest {
  url: string
  headers: Record<string, string>
  body: string
  timers: UpstreamTimers
  /** The type that is asked for, and expected. */
  contentType: string
  /**
   * The meaning of a status at this provider, where it differs from the usual one. `body`: that of a 400 or 429, cut at 16
   * KiB; else empty.
   */
  kindOfRefusal?(status: number, body: string): UpstreamErrorKind | undefined
  /** Told when all of it has been handed to the connection. */
  onSent?: (() => void) | undefined
}

export function wireHeadersOf({ headers, contentType }: Pick<UpstreamRequest, 'headers' | 'contentType'>) {
  return { ...headers, 'content-type': 'application/json', accept: contentType, 'accept-encoding': 'identity' }
}
