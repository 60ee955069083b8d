import { setTimeout as sleep } from 'node:timers/promises'
import type { Repeat } from '../platform/every.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../metrics.ts'
import { createCampaigns, type Campaigns } from '../recommend/campaigns/campaigns.ts'
import { createChanceCounter, type ChanceCounter } from '../recommend/campaigns/chance-counter.ts'
import type { Embedder } from '../recommend/embedding/embedder.ts'
import { createFollowing } from '../recommend/offer-index/following.ts'
import type { OfferIndex } from '../recommend/offer-index/offer-index.ts'
import { MINUTE_MS } from '../rules/durations.ts'
import type { Db } from '../store/database.ts'
import { addChances } from '../store/offers/campaign-chances.ts'

/** Keeps what this process knows of offers and campaigns current, each at its own pace. */
export interface Upkeep {
  readonly campaigns: Campaigns
  readonly chances: ChanceCounter
  /** Undefined: it is not built yet, or there was no news from the store for a while. */
  readonly index: OfferIndex | undefined
  readonly offers: number
  stop(): Promise<void>
}

export interface UpkeepOptions {
  db: Db
  log: Log
  metrics: Metrics
  directory: string
  followEveryMs?: number | undefined
  refreshEveryMs?: number | undefined
  chancesEveryMs?: number | undefined
  repeat: Repeat
  /** Told when the index is there for the first time. */
  onReady(): void
}

const FOLLOW_EVERY_MS = 2_000
const REFRESH_EVERY_MS = 2_000
/** Asked for after every refresh too. */
const HINTS_EVERY_MS = MINUTE_MS
/** A campaign's limits are reported over a week, so a minute is often enough. */
const CHANCES_EVERY_MS = MINUTE_MS
/** Without news for so long, a campaign that was paused or a switch that was turned may be unknown here. */
const NEWS_OLD_MS = 10_000
/** A first build may be in the middle of something that cannot be interrupted. */
const STOP_WITHIN_MS = 5_000

export function startUpkeep(embedder: Embedder, options: UpkeepOptions): Upkeep {
  const { db, log, metrics, directory, repeat } = options
  const { followEveryMs = FOLLOW_EVERY_MS, refreshEveryMs = REFRESH_EVERY_MS } = options
  const { chancesEveryMs = CHANCES_EVERY_MS } = options
  const campaigns = createCampaigns({ db, embedder, log })
  const following = createFollowing({ db, embedder, directory, log })
  const chances = createChanceCounter()
  let offers = 0
  let refreshedMs = -Infinity
  let followed: Promise<void> = Promise.resolve()

  async function refresh(): Promise<void> {
    await campaigns.refresh()
    refreshedMs = performance.now()
    hints.soon()
  }

  async function follow(): Promise<void> {
    const wasReady = following.index !== undefined
    await following.follow()
    offers = (await following.index?.count()) ?? 0
    metrics.matcherOffers.set(offers)
    metrics.matcherFollowed.set(Date.now() / 1_000)
    if (!wasReady) options.onReady()
    if (following.hasBacklog) offersJob.soon()
  }

  async function writeChances(): Promise<void> {
    const counted = chances.take(campaigns.present(Date.now()))
    await addChances(db, counted).catch((error: unknown) => {
      chances.giveBack(counted)
      throw error
    })
  }

  // For itself, because it may take a while: what was paused or switched off must not wait for it.
  const hints = repeat(HINTS_EVERY_MS, () => campaigns.learnHints(), 'learn hints')
  const offersJob = repeat(followEveryMs, () => (followed = follow()), 'follow offers')
  const jobs = [hints, offersJob, repeat(refreshEveryMs, refresh, 'read campaigns')]
  const chancesJob = repeat(chancesEveryMs, writeChances, 'count chances')

  return {
    campaigns,
    chances,
    get index() {
      return performance.now() - refreshedMs > NEWS_OLD_MS ? undefined : following.index
    },
    get offers() {
      return offers
    },
    async stop() {
      for (const job of [...jobs, chancesJob]) job.stop()
      const closed = Promise.all([following.close(), followed.catch(() => {})])
      await Promise.race([closed, sleep(STOP_WITHIN_MS, undefined, { ref: false })])
    },
  }
}
