import { BID_MIN } from '../rules/offers/campaign-settings.ts'
import { auction } from '../rules/recommendations/auction.ts'
import { blocksOf, isCampaignBlocked, isOfferBlocked, type Blocks } from '../rules/recommendations/eligibility.ts'
import type { JudgeReply, JudgeRequest, Match, MatchReply, MatchRequest } from '../rules/recommendations/matching.ts'
import {
  ANSWER_COSINE_MIN,
  contenders,
  rank,
  RELEVANCE_MIN,
  searchWordsOf,
  type Candidate,
  type Ranked,
} from '../rules/recommendations/ranking.ts'
import { cosineInt8, toInt8 } from '../rules/recommendations/vectors.ts'
import type { Campaigns } from './campaigns/campaigns.ts'
import type { ChanceCounter } from './campaigns/chance-counter.ts'
import type { NearHint } from './campaigns/hint-book.ts'
import type { Gates } from './gates/gates.ts'
import { isEnglish } from './gates/language.ts'
import type { FoundOffer, OfferIndex, Question } from './offer-index/offer-index.ts'

/** Everything that a match can touch. */
export interface MatchWorld {
  gates: Gates
  index: OfferIndex
  campaigns: Campaigns
  /** Absent where nothing is decided for readers. */
  chances?: Pick<ChanceCounter, 'note'>
  now(): number
}

/** The parts that judging alone needs. */
interface JudgeWorld {
  gates: Pick<Gates, 'judge'>
  campaigns: Pick<Campaigns, 'isOn'>
}

interface Offer extends FoundOffer, Candidate {
  /** The nearest of its campaign's hints, if any is near. */
  hint: string | undefined
}

/** The most that the gates can take in at all; how much of it is new to them is theirs to limit. */
const SAID_CHARS_MAX = 200_000
/** As much as the language is told from at once. */
const TOLD_CHARS = 4_000
/** Campaigns whose hints are nearest: of each, what fits best is looked for. */
const HINTED_CAMPAIGNS_MAX = 3
const HINTED_OFFERS = 60

/**
 * May this conversation have a recommendation at all? Asked beside the answer, so that whatever is in doubt about people is
 * settled before anything is searched; it is remembered, and asked again with the answer costs next to nothing.
 */
export async function judge(world: JudgeWorld, { turns }: Pick<JudgeRequest, 'turns'>): Promise<JudgeReply> {
  const said = userTextsIn(turns)
  if (!world.campaigns.isOn) return { outcome: 'unavailable' }
  if (said.reduce((sum, text) => sum + text.length, 0) > SAID_CHARS_MAX) return { outcome: 'too_long' }
  if (!isAllEnglish(said.join('\n'))) return { outcome: 'language' }
  const { verdict } = await world.gates.judge(turns)
  return verdict === 'commercial' ? { outcome: 'open' } : { outcome: verdict }
}

/**
 * One offer for a conversation and the answer that was given, or the reason why there is none. The order of the checks is
 * the order of the outcomes, and relevance comes before money.
 */
export async function match(world: MatchWorld, request: MatchRequest, isLate: () => boolean): Promise<MatchReply> {
  const judged = await judge(world, request)
  if (judged.outcome !== 'open') return judged
  const said = userTextsIn(request.turns)
  const words = searchWordsOf([...said, request.answer])
  // Words are searched for while the answer is embedded.
  const answered = world.gates.judgeAnswer(said.at(-1) ?? '', request.answer)
  const finding = world.index.search({ words, vector: answered.then(({ vector }) => vector) })
  // Nobody waits for it when the answer closes the matter.
  finding.catch(() => {})
  const { isSensitive, vector, answer } = await answered
  if (isSensitive) return { outcome: 'answer_sensitive' }
  if (isLate()) return { outcome: 'deadline' }

  const found = await findEligible(world, request, { words, vector }, finding)
  const relevanceMin = Math.max(request.minRelevance, RELEVANCE_MIN)
  const answerVector = toInt8(answer)
  // An advertiser's hint speaks for offers whose own words are about something else.
  const related = found.filter(
    (offer) => offer.hintCosine >= relevanceMin || cosineInt8(answerVector, offer.vector) >= ANSWER_COSINE_MIN,
  )
  const ranked = rank(related)
  const bidders = contenders(ranked, relevanceMin, (id) => liveOf(world, id)?.advertiserId)
    .map((one) => bidderOf(world, one))
    .filter((bidder) => bidder !== undefined)
  const floorNanos = BigInt(request.floorNanos)
  const sale = auction(bidders, floorNanos > BID_MIN ? floorNanos : BID_MIN)
  if (!request.isTest) {
    world.chances?.note({
      fitted: campaignsOf(ranked.filter(({ relevance }) => relevance >= relevanceMin)),
      contended: bidders.map(({ campaign }) => campaign.id),
      won: sale?.winner.campaign.id,
    })
  }
  if (found.length === 0) return { outcome: 'no_match' }
  if (bidders.length === 0) return { outcome: 'below_relevance' }
  if (sale === undefined) return { outcome: 'below_floor' }
  return { outcome: 'matched', match: matchOf(sale.winner, sale.priceNanos) }
}

function campaignsOf(ranked: readonly Ranked[]): Set<string> {
  return new Set(ranked.map(({ candidate }) => candidate.campaignId))
}

function userTextsIn(turns: JudgeRequest['turns']): string[] {
  return turns.filter(({ role }) => role === 'user').map(({ text }) => text)
}

/** Every part of it: what nobody can read, nobody has judged. */
function isAllEnglish(text: string): boolean {
  for (let start = 0; start < text.length; start += TOLD_CHARS) {
    // The last piece begins earlier rather than being too short to tell.
    const from = Math.max(0, Math.min(start, text.length - TOLD_CHARS))
    if (!isEnglish(text.slice(from, from + TOLD_CHARS))) return false
  }
  return text !== ''
}

/** Returns the offers that may be recommended here at all, whether they fit or not. */
async function findEligible(
  world: MatchWorld,
  request: MatchRequest,
  { words, vector }: { words: string; vector: Float32Array },
  finding: Promise<FoundOffer[]>,
): Promise<Offer[]> {
  const blocks = blocksOf(request)
  const asked = toInt8(vector)
  const hints = world.campaigns.hintsNear(asked)
  const hinted = [...hints.keys()]
    .toSorted((a, b) => (hints.get(b)?.cosine ?? 0) - (hints.get(a)?.cosine ?? 0))
    .filter((id) => isTakingPart(world, id, blocks))
    .slice(0, HINTED_CAMPAIGNS_MAX)
  const [found, more] = await Promise.all([
    finding,
    hinted.length === 0 ? [] : world.index.search(hintedQuestion(vector, hinted)),
  ])
  const offers = keepEligible(world, [...found, ...more], blocks, asked, hints)
  if (offers.length > 0 || found.length === 0) return offers
  // Offers that may not take part crowded out all others.
  const without = [...new Set(found.map(({ campaignId }) => campaignId))].filter(
    (id) => !isTakingPart(world, id, blocks),
  )
  if (without.length === 0) return []
  const others = await world.index.search({ words, vector, campaigns: { without } })
  return keepEligible(world, others, blocks, asked, hints)
}

function hintedQuestion(vector: Float32Array, only: readonly string[]): Question {
  return { words: '', vector, vectorsLimit: HINTED_OFFERS, campaigns: { only } }
}

function keepEligible(
  world: MatchWorld,
  found: readonly FoundOffer[],
  blocks: Blocks,
  asked: Int8Array,
  hints: ReadonlyMap<string, NearHint>,
): Offer[] {
  const unwanted = new Map<string, boolean>()
  const isUnwanted = (id: string): boolean => {
    const known = unwanted.get(id) ?? world.campaigns.isUnwanted(id, asked)
    unwanted.set(id, known)
    return known
  }
  return found
    .filter((offer) => isTakingPart(world, offer.campaignId, blocks))
    .filter((offer) => world.campaigns.isFresh(offer.feedId, world.now()))
    .filter((offer) => !isOfferBlocked(offer, blocks))
    .filter((offer) => !isUnwanted(offer.campaignId))
    .map((offer) => {
      const near = hints.get(offer.campaignId)
      return Object.assign(offer, { hintCosine: near?.cosine ?? -1, hint: near?.text })
    })
}

function liveOf({ campaigns, now }: MatchWorld, campaignId: string) {
  return campaigns.findLive(campaignId, now())
}

function isTakingPart(world: MatchWorld, campaignId: string, blocks: Blocks): boolean {
  const campaign = liveOf(world, campaignId)
  return campaign !== undefined && !isCampaignBlocked(campaign, blocks)
}

function bidderOf(world: MatchWorld, { candidate, fit, relevance, isByHint }: Ranked<Offer>) {
  const campaign = liveOf(world, candidate.campaignId)
  if (campaign === undefined) return undefined
  // Nothing is counted yet: all campaigns start from what is assumed of a new one.
  const counts = { clicks: 0, serves: 0, quality: 1 }
  const hint = isByHint ? candidate.hint : undefined
  return { id: candidate.id, bidNanos: campaign.bidNanos, fit, ...counts, offer: candidate, campaign, relevance, hint }
}

function matchOf(winner: NonNullable<ReturnType<typeof bidderOf>>, priceNanos: bigint): Match {
  const { offer, campaign, relevance, hint } = winner
  return {
    offerId: offer.id,
    campaignId: campaign.id,
    advertiserId: campaign.advertiserId,
    advertiser: campaign.advertiser,
    headline: offer.headline,
    benefit: offer.benefit,
    price: offer.price,
    relevance,
    hint,
    priceNanos: priceNanos.toString(),
  }
}
