/** The simulator's memory of the calls that it answered. */
import type { IncomingHttpHeaders } from 'node:http'

export interface SimulatedCall {
  /** The upstream's own completion id. */
  readonly id: string
  readonly model: string
  readonly authorization: string | undefined
  /** Without the credential, so that a call can be shown. */
  readonly headers: Record<string, string>
  readonly body: unknown
  readonly promptTokens: number
  /** How many tokens had been written to the socket when it ended. */
  generatedTokens: number
  /** The `mark` of its script. */
  mark: string | undefined
  /** The provider's bill for it. Undefined: the provider did nothing. */
  bill: Bill | undefined
  ended: 'running' | 'completed' | 'cancelled' | 'fault'
}

/** Tokens, each in one place. */
export interface Bill {
  /** Tokens of the prompt that were neither read from the cache nor written to it. */
  fresh: number
  cached: number
  cacheWrite: number
  /** Tokens of the answer that were written to the socket. */
  completion: number
  /** Thoughts, as far as they had come. */
  reasoning: number
}

/** Enough to look at every call of a test with 10,000 streams; a benchmark runs for longer than memory lasts. */
const CALLS_MAX = 20_000
const BODY_BYTES_MAX = 64 * 1024 * 1024

export interface CallLog {
  readonly calls: readonly SimulatedCall[]
  readonly total: () => number
  readonly running: () => number
  add(call: SimulatedCall, bodyBytes: number): void
  end(call: SimulatedCall, as: SimulatedCall['ended']): void
  clear(): void
}

export function createCallLog(): CallLog {
  const calls: SimulatedCall[] = []
  const bodyBytes: number[] = []
  let bodyBytesSum = 0
  let total = 0
  let running = 0

  // Removing from the front of an array moves all the rest, so it is done a tenth at a time.
  function forgetOldest(): void {
    const count = Math.ceil(calls.length / 10)
    calls.splice(0, count)
    for (const bytes of bodyBytes.splice(0, count)) bodyBytesSum -= bytes
  }

  return {
    calls,
    total: () => total,
    running: () => running,
    add(call, bytes) {
      total++
      running++
      calls.push(call)
      bodyBytes.push(bytes)
      bodyBytesSum += bytes
      while (calls.length > CALLS_MAX || bodyBytesSum > BODY_BYTES_MAX) forgetOldest()
    },
    end(call, as) {
      running--
      call.ended = as
    },
    clear() {
      calls.length = 0
      bodyBytes.length = 0
      bodyBytesSum = 0
    },
  }
}

const CREDENTIAL_HEADERS = new Set(['authorization', 'x-api-key', 'x-goog-api-key'])

export function shownHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const shown: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !CREDENTIAL_HEADERS.has(name)) shown[name] = String(value)
  }
  return shown
}
