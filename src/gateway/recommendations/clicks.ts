import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Metrics } from '../../metrics.ts'
import { createLane } from '../../platform/batch.ts'
import { uuidv7 } from '../../platform/uuid.ts'
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
  /** Resolves when the click is stored, or after a moment if that takes longer. Never rejects. */
  record(request: FastifyRequest, shown: ShownRecommendation): Promise<void>
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
/** Who follows one link more often than this is no reader, and fills no table. By one process. */
const STORED_OF_ONE_MAX = 20
const REMEMBERED_MAX = 50_000

export function createClicks(options: ClicksOptions): Clicks {
  const { db, networkTags, isDataCentre, metrics, redirectWaitMs = REDIRECT_WAIT_MS } = options
  const stored = new LRUCache<string, number>({ max: REMEMBERED_MAX })
  const lane = createLane<ClickRecord, ClickVerdict>({
    run: (clicks) => applyClicks(db, clicks),
    batchMax: 128,
    queueMax: 10_000,
    isTransient: isUnavailable,
    retryEveryMs: 100,
  })

  async function judge({ method, headers, ip }: FastifyRequest, shown: ShownRecommendation): Promise<ClickRecord> {
    const at = new Date()
    const id = uuidv7(at.getTime())
    const { state, shownAt } = shown
    const [networkTag, tagThen] = await Promise.all([networkTags.tagOf(ip, at), networkTags.tagOf(ip, shownAt)])
    const isCallersNetwork = tagThen !== undefined && shown.networkTag?.equals(tagThen) === true
    const facts = { method, headers, state, shownAt, at, isCallersNetwork, isDataCentre: isDataCentre(ip) }
    return { id, feeId: uuidv7(at.getTime()), recommendationId: shown.id, verdict: judgeClick(facts), networkTag }
  }

  async function store(request: FastifyRequest, shown: ShownRecommendation): Promise<void> {
    const times = (stored.get(shown.id) ?? 0) + 1
    stored.set(shown.id, times)
    if (times > STORED_OF_ONE_MAX) return metrics.clicksDropped.inc({ why: 'too_often' })
    try {
      const verdict = await lane.submit(await judge(request, shown), STORED_WITHIN_MS)
      metrics.clicks.inc({ outcome: verdict })
    } catch {
      metrics.clicksDropped.inc({ why: 'store_away' })
    }
  }

  return {
    async record(request, shown) {
      let timer: NodeJS.Timeout | undefined
      const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, redirectWaitMs)))
      await Promise.race([store(request, shown), patience])
      clearTimeout(timer)
    },
    idle: () => lane.idle(),
  }
}
