import type { CampaignLimit, Shortfall } from '../recommendations/chances.ts'

/** The state of a campaign, in one word and in a sentence for its advertiser. */
export type CampaignStanding = 'running' | 'limited' | 'paused' | 'not_started' | 'ended'

interface CampaignDates {
  status: string
  startsAt: Date | null
  endsAt: Date | null
}

export function standingOf(
  { status, startsAt, endsAt }: CampaignDates,
  limit: CampaignLimit | undefined,
  nowMs: number,
): CampaignStanding {
  if (endsAt && endsAt.getTime() <= nowMs) return 'ended'
  if (status !== 'active') return 'paused'
  if (startsAt && startsAt.getTime() > nowMs) return 'not_started'
  return limit === undefined || isShortfall(limit) ? 'running' : 'limited'
}

/** A campaign that is held back by it still takes part. */
function isShortfall(limit: CampaignLimit): limit is Shortfall {
  return limit === 'fit' || limit === 'bid'
}

const LIMITED: Record<CampaignLimit, string> = {
  credit: 'The wallet holds less than one click at the highest bid. Top up to continue.',
  total_budget: 'The total budget has no room for another click. Raise it to continue.',
  daily_budget: 'The daily budget has no room for another click today. It starts again at midnight UTC.',
  pacing: 'The spend is up to plan for now, so it waits. This is pacing at work.',
  fit: 'In the last seven days, few conversations fitted it, or other products fitted better. More hints help most.',
  bid: 'In the last seven days, others bid more where it fitted. A higher bid wins more often.',
}

const STANDINGS: Record<Exclude<CampaignStanding, 'limited'>, string> = {
  running: 'It takes part wherever one of its offers fits.',
  paused: 'It is paused, so none of its offers are recommended.',
  not_started: 'It has not begun yet.',
  ended: 'Its last day is over.',
}

/** Undefined where something else says already why it is not recommended. */
export function shownLimit(standing: CampaignStanding, limit: CampaignLimit | undefined): CampaignLimit | undefined {
  return standing === 'limited' || standing === 'running' ? limit : undefined
}

export function explainCampaign(standing: CampaignStanding, limit: CampaignLimit | undefined): string {
  const shown = shownLimit(standing, limit)
  return shown === undefined ? STANDINGS[standing as Exclude<CampaignStanding, 'limited'>] : LIMITED[shown]
}
