/** E4 and E5: where there must be no recommendation. */
import type { MatchReply, MatchRequest, RecommendationOutcome } from '../../src/rules/recommendations/matching.ts'
import { upperBoundOfNone } from './metrics.ts'
import { createProgress } from './progress.ts'
import type { Result } from './report.ts'
import type { Talk } from './sets.ts'

export interface Matching {
  match(request: MatchRequest): Promise<MatchReply>
}

/** Outcomes that end a match before any offer is looked at. */
const GATES: ReadonlySet<string> = new Set<RecommendationOutcome>([
  'language',
  'too_long',
  'sensitive',
  'not_commercial',
])
const DEADLINE_MS = 60_000
const EVERYDAY_SHOWN_MAX = 0.02
const EXAMPLES_MAX = 40

export interface Heard {
  talk: Talk
  reply: MatchReply
  /** No gate stopped it; whether something is shown then depends on what there is to show. */
  hasPassed: boolean
  isShown: boolean
}

/**
 * As a project would ask that allows everything. Where a set has no answers, the last question stands in for one: it is
 * on the same subject, and nearer to what is for sale than most answers are.
 */
export function requestOf(
  { turns, answer }: Pick<Talk, 'turns'> & { answer?: string },
  minRelevance = 0,
): MatchRequest {
  return {
    turns,
    answer: answer ?? turns.at(-1)?.text ?? '',
    minRelevance,
    floorNanos: '0',
    blockedCategories: [],
    blockedAdvertisers: [],
    blockedDomains: [],
    seenOffers: [],
    deadlineMs: DEADLINE_MS,
  }
}

const WISH = 'Which noise-cancelling over-ear headphones should I buy for long flights?'

/** Silence proves nothing of a matcher that never speaks: an empty index would pass every bar below. */
export async function mustSpeak(matcher: Matching): Promise<void> {
  const { outcome } = await matcher.match(requestOf({ turns: [{ role: 'user', text: WISH }] }))
  if (outcome !== 'matched') throw new Error(`a plain wish for headphones has nothing: ${outcome}`)
}

export async function hearAll(name: string, talks: readonly Talk[], matcher: Matching): Promise<Heard[]> {
  const progress = createProgress(name, talks.length)
  const heard: Heard[] = []
  for (const talk of talks) {
    const reply = await matcher.match(requestOf(talk))
    // A matcher that is not there would pass every bar of silence.
    if (reply.outcome === 'unavailable' || reply.outcome === 'deadline') throw new Error(`${talk.id}: ${reply.outcome}`)
    heard.push({ talk, reply, hasPassed: !GATES.has(reply.outcome), isShown: reply.outcome === 'matched' })
    progress.add()
  }
  progress.end()
  return heard
}

export function everydayResult(name: string, heard: readonly Heard[]): Result {
  const shown = heard.filter(({ isShown }) => isShown)
  return {
    bar: `E4 ${name}`,
    figures: [
      { name: 'prompts', value: heard.length, unit: 'count', bar: { atLeast: 300 } },
      { name: 'shown', value: shown.length / heard.length, unit: 'percent', bar: { atMost: EVERYDAY_SHOWN_MAX } },
      { name: 'passed the gates', value: shareOf(heard, 'hasPassed'), unit: 'percent' },
    ],
    details: shown.slice(0, EXAMPLES_MAX).map(exampleOf),
  }
}

export function sensitiveResult(name: string, heard: readonly Heard[], promptsMin: number, topicsMin: number): Result {
  const shown = heard.filter(({ isShown }) => isShown)
  const passed = heard.filter(({ hasPassed }) => hasPassed)
  const bound = upperBoundOfNone(heard.length) * 100
  return {
    bar: `E5 ${name}`,
    figures: [
      { name: 'prompts', value: heard.length, unit: 'count', bar: { atLeast: promptsMin } },
      { name: 'classes', value: topicsOf(heard).length, unit: 'count', bar: { atLeast: topicsMin } },
      { name: 'shown', value: shown.length, unit: 'count', bar: { atMost: 0 } },
      { name: 'passed the gates', value: passed.length, unit: 'count' },
    ],
    details: [
      ...(shown.length === 0 ? [`none shown: at most ${bound.toFixed(2)} % with 95 % confidence`] : []),
      ...shown.map((one) => `SHOWN ${exampleOf(one)}`),
      ...passed.filter(({ isShown }) => !isShown).map((one) => `passed the gates, not shown: ${exampleOf(one)}`),
    ],
  }
}

function topicsOf(heard: readonly Heard[]): string[] {
  return [...new Set(heard.map(({ talk }) => talk.topic))]
}

function shareOf(heard: readonly Heard[], what: 'hasPassed' | 'isShown'): number {
  return heard.filter((one) => one[what]).length / heard.length
}

function exampleOf({ talk, reply }: Heard): string {
  const said = talk.turns.map(({ text }) => text.replaceAll(/\s+/g, ' ')).join(' / ')
  const offer = reply.outcome === 'matched' ? ` -> ${reply.match.headline} (${reply.match.relevance.toFixed(2)})` : ''
  return `${talk.id} ${talk.topic}: ${said.slice(-160)}${offer}`
}
