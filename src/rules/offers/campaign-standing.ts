import type { Hindrance } from '../recommendations/pacing.ts'

/** What a campaign does now, in one word and in a sentence for its advertiser. */
export type CampaignStanding = 'running' | 'limited' | 'paused' | 'not_started' | 'ended'

interface CampaignDates {
  status: string
  startsAt: Date | null
  endsAt: Date | null
}

export function standingOf(
  { status, startsAt, endsAt }: CampaignDates,
  hindrance: Hindrance | undefined,
  nowMs: number,
): CampaignStanding {
  if (endsAt && endsAt.getTime() <= nowMs) return 'ended'
  if (status !== 'active') return 'paused'
  if (startsAt && startsAt.getTime() > nowMs) return 'not_started'
  return hindrance === undefined ? 'running' : 'limited'
}

const LIMITED: Record<Hindrance, string> = {
  credit: 'The wallet holds less than one click at the highest bid. Top up to continue.',
  total_budget: 'The total budget has no room for another click. Raise it to continue.',
  daily_budget: 'The daily budget has no room for another click today. It starts again at midnight UTC.',
  pacing: 'As much has been spent as is planned until now, so it waits. This is the pacing at work.',
}

const STANDINGS: Record<Exclude<CampaignStanding, 'limited'>, string> = {
  running: 'It takes part wherever one of its offers fits.',
  paused: 'It is paused, so nothing of it is recommended.',
  not_started: 'It has not begun yet.',
  ended: 'Its last day is over.',
}

export function explainCampaign(standing: CampaignStanding, hindrance: Hindrance | undefined): string {
  return standing === 'limited' ? LIMITED[hindrance ?? 'pacing'] : STANDINGS[standing]
}
