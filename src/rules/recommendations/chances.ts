import { hindranceOf, type Funds, type Hindrance } from './pacing.ts'

/** How often a campaign could have been recommended lately, and how far it came. */
export interface Chances {
  /** Conversations that were open to a recommendation while it took part. */
  open: bigint
  /** In which something of it fitted. */
  fitted: bigint
  /** In which it fitted nearly as well as what fitted best, so that bids decided. */
  contended: bigint
  won: bigint
}

/** The obstacle of a campaign that takes part: too little fits it, or others bid more. */
export type Shortfall = 'fit' | 'bid'

export const CHANCES_DAYS = 7
/** Nothing is said of fewer conversations. */
const OPEN_MIN = 100n
/** One in so many has something that it fits, or it is limited by fit. */
const FITTED_ONE_IN = 100n

export function shortfallOf({ open, fitted, contended, won }: Chances): Shortfall | undefined {
  if (open < OPEN_MIN) return undefined
  if (fitted * FITTED_ONE_IN < open) return 'fit'
  if (won * 2n >= fitted) return undefined
  // Where it lost more often: before bids counted, or by them.
  return contended - won >= fitted - contended ? 'bid' : 'fit'
}

/** One word for what limits a campaign: what keeps it out now comes before what holds it back. */
export type CampaignLimit = Hindrance | Shortfall

export function limitOf(funds: Funds, chances: Chances | undefined, nowMs: number): CampaignLimit | undefined {
  return hindranceOf(funds, nowMs) ?? (chances && shortfallOf(chances))
}
