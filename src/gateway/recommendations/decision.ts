import type { MatcherClient } from '../../recommend/matcher-client.ts'
import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import type { Message } from '../../rules/calls/message.ts'
import type { FinishReason } from '../../rules/calls/chunk.ts'
import { hasCrisisWords } from '../../rules/recommendations/lexicon.ts'
import type {
  Match,
  MatchRequest,
  MonetizationSettings,
  NoRecommendation,
} from '../../rules/recommendations/matching.ts'
import {
  exhaustedAdvertisers,
  isCapped,
  isUnknown,
  RELEVANCE_MIN_UNKNOWN,
  turnOf,
  type History,
} from '../../rules/recommendations/caps.ts'
import { answerGate, requestGate, turnsOf } from '../../rules/recommendations/gates.ts'
import type { ConversationDigest, Recommended, RememberedRestraint } from '../../store/recommendations/records.ts'
import type { Call } from '../call.ts'

/** Whether a reply has a recommendation: first by what was asked, beside the answer; then by what was answered. */

/** Decided by the question. */
export type Opening = { outcome: NoRecommendation } | { outcome: 'open'; question: Question; turn: number }
/** Decided by the answer. */
export type Decision = { outcome: NoRecommendation } | { outcome: 'served'; match: Match; turn: number }

/** The question to the matcher, but for the answer. */
type Question = Omit<MatchRequest, 'answer' | 'deadlineMs'>

export interface Situation {
  call: Call
  request: ChatRequest
  history: History
  settings: MonetizationSettings
  conversation: ConversationDigest | undefined
}

/** The sources of everything that a decision needs beyond the request. */
export interface Sources {
  matcher: MatcherClient
  /** Counts the turn, and tells what is remembered of the conversation. */
  restraintOf(conversation: ConversationDigest): Promise<RememberedRestraint>
  recommendedUnder(projectId: string, ids: readonly string[]): Promise<Recommended>
  /** How long a complete answer waits for what goes with it. */
  answerWaitMs: number
}

const JUDGE_WAIT_MS = 2_000
/** How much of an answer is looked at to find what goes with it. */
const ANSWER_CHARACTERS_MAX = 4_000

/** May this conversation have one at all, here and now? Asked beside the answer. */
export async function open(
  { matcher, restraintOf, recommendedUnder }: Sources,
  { call, request, history, settings, conversation }: Situation,
): Promise<Opening> {
  const gate = requestGate({ request, body: call.body, header: call.monetizationHeader, settings })
  if (gate) return { outcome: gate }
  const restraint = conversation && (await restraintOf(conversation))
  if (restraint?.isSensitive) return { outcome: 'sensitive' }
  if (isCapped(history, restraint, settings)) return { outcome: 'capped' }
  const turns = turnsOf(request.messages)
  const { projectId } = call.caller
  const [judged, seen] = await Promise.all([
    matcher.judge({ turns, projectId, deadlineMs: JUDGE_WAIT_MS }, call.signal),
    recommendedUnder(
      projectId,
      history.recommended.map(({ id }) => id),
    ),
  ])
  if (judged.outcome !== 'open') return judged
  const exhausted = [seen.advertisers, restraint?.advertisers ?? []].flatMap(exhaustedAdvertisers)
  const leastRelevance = isUnknown(history, conversation !== undefined) ? RELEVANCE_MIN_UNKNOWN : 0
  const question = {
    turns,
    projectId,
    minRelevance: Math.max(settings.minRelevance, leastRelevance),
    floorNanos: settings.floorNanos.toString(),
    blockedCategories: settings.blockedCategories,
    blockedAdvertisers: [...settings.blockedAdvertisers, ...exhausted],
    blockedDomains: settings.blockedDomains,
    seenOffers: [...new Set([...(call.caller.stoppedOffers ?? []), ...seen.offers, ...(restraint?.offers ?? [])])],
    isTest: settings.mode === 'test',
  }
  return { outcome: 'open', question, turn: turnOf(history, restraint) }
}

/**
 * Decides on a recommendation for the answer: by its shape, by whether there is anything in it to be careful of, and then by
 * the matcher.
 */
export async function decide(
  { matcher, answerWaitMs }: Sources,
  opening: Extract<Opening, { outcome: 'open' }>,
  reply: Message,
  finishReason: FinishReason,
  signal: AbortSignal,
): Promise<Decision> {
  const text = typeof reply.content === 'string' ? reply.content : null
  const hasRefusal = 'refusal' in reply && Boolean(reply.refusal)
  const hasToolCalls = 'tool_calls' in reply && reply.tool_calls !== undefined
  const shape = answerGate({ text, finishReason, hasRefusal, hasToolCalls })
  if (shape || text === null) return { outcome: 'answer_shape' }
  if (hasCrisisWords(text)) return { outcome: 'answer_sensitive' }
  const answer = text.slice(0, ANSWER_CHARACTERS_MAX)
  const found = await matcher.match({ ...opening.question, answer, deadlineMs: answerWaitMs }, signal)
  if (!('match' in found)) return found
  return { outcome: 'served', match: found.match, turn: opening.turn }
}
