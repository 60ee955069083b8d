import { Pool } from 'undici'
import { BUSY_REASONS, type BusyReason, type Verdict } from '../rules/recommendations/rehearsal.ts'
import { rehearsalReplySchema, type RehearsalRequest } from './rehearsal-wire.ts'

/**
 * Asks a matcher for rehearsals. It has connections of its own: the places at the matcher that live replies share are
 * never taken by it. Unlike for replies, somebody waits here and is told what went wrong.
 */
export interface RehearsalClient {
  ask(request: RehearsalRequest, signal: AbortSignal): Promise<Verdict[][]>
  /** The matcher has no more to do for it. Never rejects. */
  end(rehearsal: Pick<RehearsalRequest, 'id' | 'projectId'>): Promise<void>
  close(): Promise<void>
}

/** Why there is no rehearsal. */
export class RehearsalRefused extends Error {
  override name = 'RehearsalRefused'
  readonly reason: BusyReason | 'unavailable'
  constructor(reason: BusyReason | 'unavailable') {
    super(reason)
    this.reason = reason
  }
}

const REPLY_BYTES_MAX = 4 * 1024 * 1024
const CONNECTIONS = 8
const END_WITHIN_MS = 2_000

export function createRehearsalClient({ url, token }: { url: string; token: string }): RehearsalClient {
  const pool = new Pool(new URL(url).origin, { connections: CONNECTIONS, pipelining: 1 })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

  async function post(path: string, body: unknown, signal: AbortSignal): Promise<{ status: number; heard: unknown }> {
    const response = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body), signal })
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of response.body as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > REPLY_BYTES_MAX) throw new RehearsalRefused('unavailable')
      pieces.push(piece)
    }
    return { status: response.statusCode, heard: JSON.parse(Buffer.concat(pieces).toString('utf8')) }
  }

  return {
    async ask(request, signal) {
      const answer = await post('/rehearse', request, signal).catch((error: unknown) => {
        if (signal.aborted) throw error
        throw new RehearsalRefused('unavailable')
      })
      if (answer.status !== 200) throw new RehearsalRefused(reasonIn(answer.heard))
      const parsed = rehearsalReplySchema.safeParse(answer.heard)
      if (!parsed.success) throw new RehearsalRefused('unavailable')
      const { verdicts } = parsed.data
      // A matcher that is stopped in the middle answers with what it has.
      const isWhole = request.conversations.every(({ replies }, n) => verdicts[n]?.length === replies.length)
      if (!isWhole) throw new RehearsalRefused('unavailable')
      return verdicts
    },
    async end({ id, projectId }) {
      await post('/rehearse/end', { id, projectId }, AbortSignal.timeout(END_WITHIN_MS)).catch(() => {})
    },
    close: () => pool.destroy(),
  }
}

function reasonIn(heard: unknown): BusyReason | 'unavailable' {
  const said = (heard as { error?: unknown } | null)?.error
  return BUSY_REASONS.find((reason) => reason === said) ?? 'unavailable'
}
