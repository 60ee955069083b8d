import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Metrics } from '../../metrics.ts'
import { createLane, LaneFull, LaneTimeout } from '../../platform/batch.ts'
import { errorFields, type Log } from '../../platform/log.ts'
import { timeOfUuid, uuidv7 } from '../../platform/uuid.ts'
import { MINUTE_MS, SECOND_MS } from '../../rules/durations.ts'
import { judgeClick, type ClickVerdict } from '../../rules/clicks/verdict.ts'
import { isFunctionMissing, isTooSlow, isUnavailable, type Db } from '../../store/database.ts'
import { applyClicks, type ClickRecord, type ShownRecommendation } from '../../store/recommendations/clicks.ts'
import type { NetworkTags } from './network-tags.ts'

/**
 * Turns a click into a verdict, a row, and for a valid one the money. The redirect waits for it, so that every reader who got
 * as far as the offer was counted; but not for long, because readers must not notice that the store is away.
 */
export interface Clicks {
  /** Resolves with its id when the click is stored, or after a moment if that takes longer. Never rejects. */
  record(request: FastifyRequest, shown: ShownRecommendation): Promise<string>
  /** Resolves when everything is stored, or given up: the process ends, and what the store has not taken by then is lost. */
  stop(): Promise<void>
}

export interface ClicksOptions {
  db: Db
  networkTags: NetworkTags
  isDataCentre(address: string): boolean
  log: Log
  metrics: Pick<Metrics, 'clicks' | 'clicksDropped'>
  redirectWaitMs?: number
  stopWaitMs?: number
}

/** How long a reader waits for the store. */
const REDIRECT_WAIT_MS = 500
/** How long a click waits for a store that is away: longer than a failover takes. */
const STORED_WITHIN_MS = 10 * MINUTE_MS
/** How long a process that ends waits for it: less than until a drain that hangs is ended. */
const STOP_WAIT_MS = 10 * SECOND_MS
const RETRY_EVERY_MS = 100
const WAITING_MAX = 10_000
/**
 * Clicks on one link beyond this many (per process) are not stored: no reader follows a link that often. Clicks that do not
 * look like a reader's are counted apart: a hundred programs that check the link do not take the reader's click away.
 */
const STORED_OF_ONE_MAX = 20
const REMEMBERED_MAX = 50_000

type Follow = Pick<FastifyRequest, 'method' | 'headers' | 'ip'> & { id: string; at: Date }

export function createClicks(options: ClicksOptions): Clicks {
  const { db, metrics } = options
  const { redirectWaitMs = REDIRECT_WAIT_MS, stopWaitMs = STOP_WAIT_MS } = options
  const stored = new LRUCache<string, number>({ max: REMEMBERED_MAX })
  const running = new Set<Promise<void>>()
  const losses = tellLosses(options)
  const judge = createJudge(options)
  const lane = createLane<ClickRecord, ClickVerdict>({
    run: (clicks) => applyClicks(db, clicks),
    batchMax: 128,
    queueMax: WAITING_MAX,
    isTransient: (error) => isUnavailable(error) || isFunctionMissing(error),
    isTooLong: isTooSlow,
    retryEveryMs: RETRY_EVERY_MS,
  })

  async function store(follow: Follow, shown: ShownRecommendation): Promise<void> {
    try {
      if (running.size >= WAITING_MAX) throw new LaneFull('too many clicks wait for the store')
      const click = await judge(follow, shown)
      const kind = `${shown.id} ${click.verdict === 'valid'}`
      const times = (stored.get(kind) ?? 0) + 1
      stored.set(kind, times)
      if (times > STORED_OF_ONE_MAX) return metrics.clicksDropped.inc({ why: 'too_often' })
      const verdict = await lane.submit(click, STORED_WITHIN_MS)
      metrics.clicks.inc({ outcome: verdict })
      losses.taken()
    } catch (error) {
      losses.lost(error)
    }
  }

  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.all(running)
  }

  return {
    async record({ method, headers, ip }, shown) {
      let timer: NodeJS.Timeout | undefined
      const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, redirectWaitMs)))
      const at = new Date()
      const id = uuidv7(at.getTime())
      const storing = store({ id, at, method, headers, ip }, shown).finally(() => running.delete(storing))
      running.add(storing)
      await Promise.race([storing, patience])
      clearTimeout(timer)
      return id
    },
    async stop() {
      await Promise.race([idle(), sleep(stopWaitMs, undefined, { ref: false })])
      losses.leftBehind(running.size)
    },
  }
}

/** As far as the click itself tells. */
function createJudge({ networkTags, isDataCentre }: Pick<ClicksOptions, 'networkTags' | 'isDataCentre'>) {
  async function judgeOnce({ id, at, method, headers, ip }: Follow, shown: ShownRecommendation): Promise<ClickRecord> {
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

  /** A store that is away cannot say which network it came from, and to guess would cost a reader's click its money. */
  return async (follow: Follow, shown: ShownRecommendation): Promise<ClickRecord> => {
    const untilMs = performance.now() + STORED_WITHIN_MS
    for (;;) {
      try {
        return await judgeOnce(follow, shown)
      } catch (error) {
        if (!isUnavailable(error) || performance.now() > untilMs) throw error
        await sleep(RETRY_EVERY_MS)
      }
    }
  }
}

/** A reader was led on, and the click is not in the store: nobody pays for it. That is counted, and told when it begins and ends. */
function tellLosses({ log, metrics }: Pick<ClicksOptions, 'log' | 'metrics'>) {
  let lost = 0
  let isOver = false
  return {
    lost(error: unknown): void {
      // Clicks that were left behind have been counted already.
      if (isOver) return
      const isAway = error instanceof LaneFull || error instanceof LaneTimeout || isUnavailable(error)
      metrics.clicksDropped.inc({ why: isAway ? 'store_away' : 'refused' })
      lost += 1
      if (lost > 1) return
      log.error(
        errorFields(error),
        isAway ? 'clicks are lost: the store is away' : 'a click is lost: the store refuses it',
      )
    },
    taken(): void {
      if (lost > 0) log.info({ lost }, 'clicks are stored again')
      lost = 0
    },
    leftBehind(clicks: number): void {
      isOver = true
      if (clicks === 0) return
      metrics.clicksDropped.inc({ why: 'store_away' }, clicks)
      log.error({ clicks }, 'clicks are lost: the store did not take them before this process ended')
    },
  }
}
