import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Metrics } from '../../metrics.ts'
import { createLane } from '../../platform/batch.ts'
import { timeOfUuid, uuidv7 } from '../../platform/uuid.ts'
import { MINUTE_MS } from '../../rules/durations.ts'
import { judgeClick, type ClickVerdict } from '../../rules/clicks/verdict.ts'
import { isUnavailable, type Db } from '../../store/database.ts'
import { applyClicks, type ClickRecord, type ShownRecommendation } from '../../store/recommendations/clicks.ts'
import type { NetworkTags } from './network-tags.ts'

/**
 * What becomes of a click: a verdict, a row, and for a valid one the money. The redirect waits for it, so that whoever got as
 * far as the offer was counted; but not for long, because readers must not notice that the store is away.
 */
export interface Clicks {
  /** Resolves with its id when the click is stored, or after a moment if that takes longer. Never rejects. */
  record(request: FastifyRequest, shown: ShownRecommendation): Promise<string>
  /** Resolves when everything is stored, or given up. */
  idle(): Promise<void>
}

export interface ClicksOptions {
  db: Db
  networkTags: NetworkTags
  isDataCentre(address: string): boolean
  metrics: Pick<Metrics, 'clicks' | 'clicksDropped'>
  redirectWaitMs?: number
}

/** How long a reader waits for the store. */
const REDIRECT_WAIT_MS = 500
/** How long a click waits for a store that is away: longer than a failover takes. */
const STORED_WITHIN_MS = 10 * MINUTE_MS
/** Who follows one link more often than this is no reader, and fills no table. By one process. What does not look like a reader is
 * counted for itself: a hundred programs that check the link do not take the reader's click away. */
const STORED_OF_ONE_MAX = 20
const REMEMBERED_MAX = 50_000

export function createClicks(options: ClicksOptions): Clicks {
  const { db, networkTags, isDataCentre, metrics, redirectWaitMs = REDIRECT_WAIT_MS } = options
  const stored = new LRUCache<string, number>({ max: REMEMBERED_MAX })
  const running = new Set<Promise<void>>()
  const lane = createLane<ClickRecord, ClickVerdict>({
    run: (clicks) => applyClicks(db, clicks),
    batchMax: 128,
    queueMax: 10_000,
    isTransient: isUnavailable,
    retryEveryMs: 100,
  })

  async function judge(
    { method, headers, ip }: FastifyRequest,
    shown: ShownRecommendation,
    { id, at }: { id: string; at: Date },
  ): Promise<ClickRecord> {
    const { state, shownAt } = shown
    const [networkTag, isCallersNetwork] = await Promise.all([networkTags.tagOf(ip, at), isNetworkOf(shown, ip)])
    const facts = { method, headers, state, shownAt, at, isCallersNetwork, isDataCentre: isDataCentre(ip) }
    return { id, feeId: uuidv7(at.getTime()), recommendationId: shown.id, verdict: judgeClick(facts), networkTag }
  }

  /** By the day in its id, as it was tagged. */
  async function isNetworkOf({ id, networkTag }: ShownRecommendation, address: string): Promise<boolean | undefined> {
    if (networkTag === null) return false
    return (await networkTags.tagOf(address, timeOfUuid(id)))?.equals(networkTag)
  }

  async function store(
    request: FastifyRequest,
    shown: ShownRecommendation,
    named: { id: string; at: Date },
  ): Promise<void> {
    const click = await judge(request, shown, named)
    const kind = `${shown.id} ${click.verdict === 'valid'}`
    const times = (stored.get(kind) ?? 0) + 1
    stored.set(kind, times)
    if (times > STORED_OF_ONE_MAX) return metrics.clicksDropped.inc({ why: 'too_often' })
    try {
      const verdict = await lane.submit(click, STORED_WITHIN_MS)
      metrics.clicks.inc({ outcome: verdict })
    } catch {
      metrics.clicksDropped.inc({ why: 'store_away' })
    }
  }

  return {
    async record(request, shown) {
      let timer: NodeJS.Timeout | undefined
      const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, redirectWaitMs)))
      const at = new Date()
      const id = uuidv7(at.getTime())
      const storing = store(request, shown, { id, at }).finally(() => running.delete(storing))
      running.add(storing)
      await Promise.race([storing, patience])
      clearTimeout(timer)
      return id
    },
    async idle() {
      await Promise.all([lane.idle(), ...running])
    },
  }
}
