import { setImmediate as others } from 'node:timers/promises'
import { exhaustedAdvertisers, isCapped } from '../rules/recommendations/caps.ts'
import { answerGate } from '../rules/recommendations/gates.ts'
import { hasCrisisWords } from '../rules/recommendations/lexicon.ts'
import type { Match, MatchRequest, RecommendationOutcome } from '../rules/recommendations/matching.ts'
import type {
  RehearsalSettings,
  RehearsedConversation,
  RehearsedReply,
  Verdict,
} from '../rules/recommendations/rehearsal.ts'
import { judge, match, type MatchWorld } from './match.ts'

/**
 * Rehearses the replies of a conversation one after the other as they were given: a recommendation under one counts for the
 * next. The checks and their order are a gateway's, but for one: whether anything is wished for is found out first, because
 * most replies end there and it is the least work. A topic that only its meaning makes sensitive is therefore not looked for
 * where nobody wants to buy; both keep the reply free.
 */

/** These keep a conversation free from then on. */
const SENSITIVE: ReadonlySet<RecommendationOutcome> = new Set(['sensitive', 'answer_sensitive', 'excluded_topic'])
/** As much of an answer as a gateway sends. */
const ANSWER_CHARACTERS_MAX = 4_000

export interface RehearsalWorld extends MatchWorld {
  /** The score from which a topic is a sensitive one. */
  sensitiveFrom: number
}

interface Shown {
  turn: number
  match: Match
}

export async function rehearseConversation(
  world: RehearsalWorld,
  { turns, replies }: RehearsedConversation,
  settings: RehearsalSettings,
  isOver: () => boolean,
): Promise<Verdict[]> {
  const { gates } = world
  const wishFirst = { ...world, gates: { ...gates, judge: (said: typeof turns) => gates.judge(said, 'wish first') } }
  const verdicts: Verdict[] = []
  const shown: Shown[] = []
  let isFree = false
  for (const reply of replies) {
    if (isOver()) break
    // Live replies are matched in the same process: none waits for more than one of these.
    await others()
    const verdict = isFree && reply.gate === null ? FREE : await verdictOf(wishFirst, { turns, reply, settings, shown })
    if (verdict.outcome === 'matched') shown.push({ turn: reply.turn, match: verdict.match })
    else isFree ||= SENSITIVE.has(verdict.outcome)
    verdicts.push(verdict)
  }
  return verdicts
}

const FREE: Verdict = { outcome: 'sensitive' }

interface Asked {
  turns: RehearsedConversation['turns']
  reply: RehearsedReply
  settings: RehearsalSettings
  shown: readonly Shown[]
}

async function verdictOf(world: RehearsalWorld, { turns, reply, settings, shown }: Asked): Promise<Verdict> {
  if (reply.gate !== null) return { outcome: reply.gate }
  const recommended = shown.map((each) => ({ turn: each.turn, id: each.match.offerId }))
  if (isCapped({ turns: reply.turn - 1, recommended }, undefined, settings)) return { outcome: 'capped' }
  const said = turns.slice(0, reply.before)
  const judged = await judge(world, { turns: said })
  if (judged.outcome !== 'open') return judged
  const text = turns[reply.before]?.text ?? null
  if (answerGate({ text, finishReason: 'stop', hasRefusal: false, hasToolCalls: false }) || text === null)
    return { outcome: 'answer_shape' }
  if (hasCrisisWords(text)) return { outcome: 'answer_sensitive' }
  const found = await match(world, requestOf(said, text, settings, shown), () => false)
  if (!('match' in found)) return found
  const { sensitivity } = await world.gates.judge(said)
  return { ...found, nearSensitive: Math.min(1, sensitivity / world.sensitiveFrom) }
}

function requestOf(
  turns: RehearsedConversation['turns'],
  text: string,
  settings: RehearsalSettings,
  shown: readonly Shown[],
): MatchRequest {
  const { minRelevance, floorNanos, blockedCategories, blockedAdvertisers, blockedDomains } = settings
  const exhausted = exhaustedAdvertisers(shown.map(({ match: { advertiserId } }) => advertiserId))
  return {
    turns,
    answer: text.slice(0, ANSWER_CHARACTERS_MAX),
    minRelevance,
    floorNanos,
    blockedCategories,
    blockedAdvertisers: [...blockedAdvertisers, ...exhausted],
    blockedDomains,
    seenOffers: shown.map(({ match: { offerId } }) => offerId),
    deadlineMs: 1,
  }
}
