import type { Log } from '../../platform/log.ts'
import { isRunning, type CampaignDates, type LiveCampaign } from '../../rules/recommendations/eligibility.ts'
import {
  adjustPace,
  hindranceOf,
  isInMoment,
  shareOfMoments,
  type Funds,
  type Pace,
} from '../../rules/recommendations/pacing.ts'
import { fundsOf } from '../../store/offers/campaign-funds.ts'
import { readCampaignSnapshot, type CampaignRow } from '../../store/offers/campaign-snapshot.ts'
import type { Db } from '../../store/database.ts'
import type { Embedder } from '../embedding/embedder.ts'
import { createHintBook, type NearHint } from './hint-book.ts'

/**
 * The campaigns that take part at this moment, in memory: a campaign that is paused or has spent its budget, an advertiser
 * that is suspended or without credit, a feed that grew old and the operator's switch take effect with the next refresh,
 * without touching the index.
 */
export interface Campaigns {
  readonly isOn: boolean
  /** Undefined: it does not take part now. */
  findLive(campaignId: string, nowMs: number): LiveCampaign | undefined
  /** The campaigns that could be recommended, each with its share of all moments. */
  present(nowMs: number): { id: string; share: number }[]
  /** Does its feed still say so? */
  isFresh(feedId: string, nowMs: number): boolean
  /** The nearest hint of every campaign that has one near. */
  hintsNear(said: Int8Array): Map<string, NearHint>
  /** Is this what the advertiser does not want to stand beside? */
  isUnwanted(campaignId: string, said: Int8Array): boolean
  refresh(): Promise<void>
  /** Reads and embeds hints that are new since the last refresh. Campaigns take part only when theirs are known. */
  learnHints(): Promise<void>
}

export interface CampaignsOptions {
  db: Db
  embedder: Embedder
  log: Log
}

export function createCampaigns(options: CampaignsOptions): Campaigns {
  const { db } = options
  let isOn = false
  let campaigns = new Map<string, KnownCampaign>()
  let feeds = new Map<string, number>()
  let rows: readonly CampaignRow[] = []
  const hints = createHintBook(options)

  return {
    get isOn() {
      return isOn
    },
    findLive(campaignId, nowMs) {
      const campaign = campaigns.get(campaignId)
      if (!campaign || !canTakePart(campaign, nowMs)) return undefined
      return isInMoment(campaign.id, campaign, campaign.pace, nowMs) ? campaign : undefined
    },
    present: (nowMs) =>
      [...campaigns.values()]
        .filter((campaign) => canTakePart(campaign, nowMs))
        .map((campaign) => ({ id: campaign.id, share: shareOfMoments(campaign, campaign.pace) })),
    isFresh: (feedId, nowMs) => (feeds.get(feedId) ?? 0) > nowMs,
    hintsNear: (said) => hints.near(said),
    isUnwanted: (campaignId, said) => hints.isUnwanted(campaignId, said),
    async refresh() {
      const snapshot = await readCampaignSnapshot(db)
      isOn = snapshot.isOn
      campaigns = new Map(snapshot.campaigns.map((row) => [row.id, campaignOf(row, campaigns.get(row.id)?.pace)]))
      feeds = new Map(snapshot.feeds.map(({ id, expiresAt }) => [id, expiresAt.getTime()]))
      rows = snapshot.campaigns
    },
    learnHints: () => hints.learn(rows),
  }
}

function canTakePart(campaign: KnownCampaign, nowMs: number): boolean {
  return isRunning(campaign, nowMs) && hindranceOf(campaign, nowMs) === undefined
}

type KnownCampaign = LiveCampaign & CampaignDates & Funds & { pace: Pace }

function campaignOf(row: CampaignRow, pace: Pace | undefined): KnownCampaign {
  const funds = fundsOf(row)
  const dates = { startsAtMs: row.startsAt?.getTime(), endsAtMs: row.endsAt?.getTime() }
  return { ...row, ...funds, ...dates, pace: adjustPace(pace, funds, Date.now()) }
}
