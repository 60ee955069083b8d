import { Pool } from 'undici'
import type { Metrics } from '../metrics.ts'
import type { HintPreview, HintPreviewRequest } from '../rules/offers/hint-preview.ts'
import type { JudgeReply, JudgeRequest, MatchReply, MatchRequest } from '../rules/recommendations/matching.ts'
import { hintPreviewSchema, judgeReplySchema, matchReplySchema, REPLY_BYTES_MAX } from './wire.ts'

/**
 * Asks the matcher of this host. Nothing here ever rejects: a recommendation is worth less than the reply that it would
 * stand in, so every fault, delay or odd answer is a reason for none.
 */
export interface MatcherClient {
  judge(request: JudgeRequest, signal: AbortSignal): Promise<JudgeReply>
  match(request: MatchRequest, signal: AbortSignal): Promise<MatchReply>
  /** Undefined: no matcher can tell now. */
  previewHints(request: HintPreviewRequest, signal: AbortSignal): Promise<HintPreview | undefined>
  close(): Promise<void>
}

export interface MatcherClientOptions {
  url: string
  token: string
  metrics: Metrics
}

/** A matcher does about 100 matches a second and each waits 200 ms at most: more than these would only grow old together. */
const IN_FLIGHT_MAX = 64
/** After so many faults in a row nobody asks for a while, so that a dead matcher costs microseconds. Then one call tries. */
const FAULTS_MAX = 5
const REST_MS = 1_000

type Heard<Reply> = { reply: Reply } | { fault: 'unavailable' | 'deadline' | 'aborted' }

export function createMatcherClient({ url, token, metrics }: MatcherClientOptions): MatcherClient {
  const pool = new Pool(new URL(url).origin, { connections: IN_FLIGHT_MAX, pipelining: 1 })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const places = createPlaces(metrics)
  let faults = 0
  let restsUntilMs = 0
  let heardMs = -Infinity

  function mayAsk(): boolean {
    const nowMs = performance.now()
    if (nowMs < restsUntilMs) return false
    // One call finds out whether it is back; the others rest on until it has.
    if (faults >= FAULTS_MAX) restsUntilMs = nowMs + REST_MS
    return true
  }

  function learn(isFault: boolean): void {
    faults = isFault ? faults + 1 : 0
    restsUntilMs = faults >= FAULTS_MAX ? performance.now() + REST_MS : 0
  }

  async function ask<Reply>(
    path: string,
    request: Pick<JudgeRequest, 'projectId' | 'deadlineMs'>,
    schema: { safeParse(value: unknown): { success: true; data: Reply } | { success: false } },
    hungUp: AbortSignal,
  ): Promise<Heard<Reply>> {
    if (hungUp.aborted) return { fault: 'aborted' }
    const { projectId = '' } = request
    if (!places.areLeftFor(projectId) || !mayAsk()) return { fault: 'unavailable' }
    const askedMs = performance.now()
    const stopped = new AbortController()
    const stop = () => stopped.abort()
    // Not undici's own timers, which are up to half a second late.
    const timer = setTimeout(stop, request.deadlineMs)
    hungUp.addEventListener('abort', stop, { once: true })
    places.take(projectId)
    try {
      const heard = await post({ pool, headers }, path, request, stopped.signal)
      const parsed = schema.safeParse(heard)
      heardMs = performance.now()
      learn(!parsed.success && heard !== NOT_NOW)
      return parsed.success ? { reply: parsed.data } : { fault: 'unavailable' }
    } catch {
      if (hungUp.aborted) return { fault: 'aborted' }
      // A matcher that answered others since is busy with this project's questions, not broken.
      learn(heardMs < askedMs)
      return { fault: stopped.signal.aborted ? 'deadline' : 'unavailable' }
    } finally {
      clearTimeout(timer)
      hungUp.removeEventListener('abort', stop)
      places.leave(projectId)
    }
  }

  return {
    async judge(request, signal) {
      const heard = await ask('/judge', request, judgeReplySchema, signal)
      return 'reply' in heard ? heard.reply : { outcome: heard.fault }
    },
    async match(request, signal) {
      const heard = await ask('/match', request, matchReplySchema, signal)
      const reply: MatchReply = 'reply' in heard ? heard.reply : { outcome: heard.fault }
      metrics.matcherReplies.inc({ outcome: reply.outcome })
      return reply
    },
    previewHints: async (request, signal) => replyIn(await ask('/preview-hints', request, hintPreviewSchema, signal)),
    close: () => pool.destroy(),
  }
}

function replyIn<Reply>(heard: Heard<Reply>): Reply | undefined {
  return 'reply' in heard ? heard.reply : undefined
}

/** Places at the matcher. A project takes no more of them than are left, so that there is always one for another. */
function createPlaces(metrics: Metrics) {
  const taken = new Map<string, number>()
  let left = IN_FLIGHT_MAX
  return {
    areLeftFor(projectId: string): boolean {
      const isWithin = (taken.get(projectId) ?? 0) < left
      if (!isWithin) metrics.matcherDeclined.inc({ by: 'gateway' })
      return isWithin
    },
    take(projectId: string): void {
      left -= 1
      taken.set(projectId, (taken.get(projectId) ?? 0) + 1)
    },
    leave(projectId: string): void {
      left += 1
      const rest = (taken.get(projectId) ?? 0) - 1
      if (rest > 0) taken.set(projectId, rest)
      else taken.delete(projectId)
    },
  }
}

const NOT_NOW = Symbol('not now')
const DECLINED: ReadonlySet<number> = new Set([400, 413, 503])

async function post(
  { pool, headers }: { pool: Pool; headers: Record<string, string> },
  path: string,
  body: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const response = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body), signal })
  if (response.statusCode !== 200) {
    await response.body.dump({ limit: REPLY_BYTES_MAX, signal })
    // Busy is not broken, and neither is who refuses an odd request: one caller's requests must not cost all others
    // their recommendations.
    return DECLINED.has(response.statusCode) ? NOT_NOW : undefined
  }
  let bytes = 0
  const pieces: Buffer[] = []
  for await (const piece of response.body as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > REPLY_BYTES_MAX) return undefined
    pieces.push(piece)
  }
  return JSON.parse(Buffer.concat(pieces).toString('utf8'))
}
