import { SANDBOX_REFUSALS } from '../sandbox.ts'
import type { MonetizationSettings } from './matching.ts'

/** The settings that a publisher may choose for a project, and when recommendations may be shown to its readers at all. */

/** The settings of a project that has never chosen any, as the table has them. */
export const DEFAULT_SETTINGS: MonetizationSettings = {
  mode: 'off',
  label: 'Ad',
  format: 'markdown',
  audience: 'general',
  minRelevance: 0,
  firstTurn: 1,
  minTurnGap: 3,
  maxPerConversation: 3,
  floorNanos: 0n,
  blockedCategories: [],
  blockedAdvertisers: [],
  blockedDomains: [],
  excludedTopics: [],
}

export const BLOCKED_ADVERTISERS_MAX = 1_000

/** The safety bench's result for the gates that this version runs with. */
export interface SafetyProof {
  isProven: boolean
  /** How many sensitive texts were tried, and how many of them would have had a recommendation. */
  prompts: number
  shown: number
}

/** Why readers cannot be shown recommendations, as a sentence for the publisher; undefined when they can. */
export function obstacleToOn(
  { audience, isSandbox }: Pick<MonetizationSettings, 'audience'> & { isSandbox: boolean },
  { isProven, shown }: SafetyProof,
): string | undefined {
  if (isSandbox) return SANDBOX_REFUSALS.recommendations
  if (audience !== 'general')
    return 'Recommendations are for a general audience only, and this project’s audience is set to another one.'
  if (shown > 0)
    return 'The safety check of this version has failed: some sensitive conversations would have had a recommendation. It cannot be switched on until the operator has installed one that passes.'
  if (!isProven)
    return 'This version has not passed the safety check that keeps sensitive conversations free of recommendations. It cannot be switched on until the operator has installed one that has.'
  return undefined
}

export const MATCHER_STANDINGS = ['ready', 'paused', 'starting', 'switched_off', 'absent', 'no_offers'] as const
export type MatcherStanding = (typeof MATCHER_STANDINGS)[number]

export interface MatchersNow {
  /** The operator's switch for the whole installation. */
  isOn: boolean
  /** How many have told in the last seconds that they are … */
  ready: number
  starting: number
  switchedOff: number
  /** The number of offers that the fullest ready one can choose from. */
  offers: bigint
}

/** Whether anything can be recommended at this moment, and if not, why. */
export function standingOf({ isOn, ready, starting, switchedOff, offers }: MatchersNow): MatcherStanding {
  if (!isOn) return 'paused'
  if (ready > 0) return offers > 0n ? 'ready' : 'no_offers'
  if (starting > 0) return 'starting'
  return switchedOff > 0 ? 'switched_off' : 'absent'
}

/** "Home>  Garden " and "home > garden" are the same beginning of a category: spelled as feeds do, each once. */
export function categoriesOf(texts: readonly string[]): string[] {
  const spelled = texts.map((text) =>
    text
      .split('>')
      .map((part) => part.replaceAll(/\s+/g, ' ').trim())
      .filter((part) => part !== '')
      .join(' > '),
  )
  return eachOnce(spelled)
}

export function topicsOf(texts: readonly string[]): string[] {
  return eachOnce(texts.map((text) => text.replaceAll(/\s+/g, ' ').trim()))
}

/** In any case; the first spelling stays, and what is empty goes. */
function eachOnce(texts: readonly string[]): string[] {
  const byKey = new Map<string, string>()
  for (const text of texts) {
    const key = text.toLowerCase()
    if (text !== '' && !byKey.has(key)) byKey.set(key, text)
  }
  return [...byKey.values()]
}
