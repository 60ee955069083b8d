/** E3: our own conversations, with what two people thought of the offers that any engine had found for them. */
import { hasCrisisWords } from '../../src/rules/recommendations/lexicon.ts'
import { answerGate } from '../../src/rules/recommendations/gates.ts'
import type { Engine } from './engines.ts'
import type { MatcherInProcess } from './matcher-in-process.ts'
import { kappaOf, mean } from './metrics.ts'
import { createProgress } from './progress.ts'
import { baselineLine, type Figure, type Result } from './report.ts'
import { isInTestHalf, type Annotations, type Conversation } from './sets.ts'
import { requestOf } from './silence-bars.ts'

const [HIT_MIN, COVERAGE_MIN, ABSURD_MAX, KAPPA_MIN, CONVERSATIONS_MIN] = [0.8, 0.5, 0.02, 0.6, 200]
const TURNS_MAX = 6
const THRESHOLDS = Array.from({ length: 11 }, (_, i) => 0.34 + i * 0.02)

export interface Annotated {
  conversations: readonly Conversation[]
  a: Annotations
  b: Annotations
  /** Decides where the two disagree. */
  c: Annotations
}

/** The offer shown with a conversation, if any, and the reason for showing none. */
export interface Shown {
  conversation: Conversation
  offerId: string | undefined
  relevance: number
  outcome: string
}

export type Verdict = 'relevant' | 'not relevant' | 'absurd' | 'not judged'

/**
 * Two annotators judged every pair, and a third one those that they disagreed about: relevant is what two of them find at
 * least acceptable, absurd or harmful what two of them find so. What nobody judged is not relevant, so that an engine
 * cannot gain by finding what the pool lacks.
 */
export function verdictOf(
  { a, b, c }: Pick<Annotated, 'a' | 'b' | 'c'>,
  conversationId: string,
  offerId: string,
): Verdict {
  const grades = [a, b, c].flatMap((annotations) => annotations.get(conversationId)?.get(offerId) ?? [])
  if (grades.length < 2) return 'not judged'
  if (grades.filter((grade) => grade < 0).length >= 2) return 'absurd'
  return grades.filter((grade) => grade >= 1).length >= 2 ? 'relevant' : 'not relevant'
}

/** Over all pairs that both have judged: do they agree about what is relevant, and about the very grade? */
export function agreementOf({ a, b }: Pick<Annotated, 'a' | 'b'>): { pairs: number; relevant: number; grade: number } {
  const grades: [number, number][] = []
  for (const [conversationId, ofA] of a) {
    for (const [offerId, gradeA] of ofA) {
      const gradeB = b.get(conversationId)?.get(offerId)
      if (gradeB !== undefined) grades.push([gradeA, gradeB])
    }
  }
  return {
    pairs: grades.length,
    relevant: kappaOf(grades.map(([gradeA, gradeB]) => [Number(gradeA >= 1), Number(gradeB >= 1)])),
    grade: kappaOf(grades),
  }
}

export interface ConversationFigures {
  conversations: number
  /** As a share of the offers shown. */
  hit: number
  absurd: number
  /** As a share of all conversations, also those for which the catalogue has nothing. */
  coverage: number
  /** As a share of the conversations that have an offer with the verdict `relevant`. */
  coverageOfAnswerable: number
  notJudged: number
}

export function figuresOf(annotated: Annotated, shown: readonly Shown[]): ConversationFigures {
  const answerable = shown.filter(({ conversation: { id } }) =>
    [...(annotated.a.get(id)?.keys() ?? [])].some((offerId) => verdictOf(annotated, id, offerId) === 'relevant'),
  )
  const verdicts = shown.flatMap(({ conversation, offerId }) =>
    offerId === undefined ? [] : [verdictOf(annotated, conversation.id, offerId)],
  )
  const share = (verdict: Verdict) => mean(verdicts.map((one) => Number(one === verdict)))
  return {
    conversations: shown.length,
    hit: share('relevant'),
    absurd: share('absurd'),
    coverage: mean(shown.map(({ offerId }) => Number(offerId !== undefined))),
    coverageOfAnswerable: mean(answerable.map(({ offerId }) => Number(offerId !== undefined))),
    notJudged: verdicts.filter((verdict) => verdict === 'not judged').length,
  }
}

/** On the frozen half: `shown` is what the whole matcher decides, the engines are shown without any gate. */
export async function conversationResult(
  annotated: Annotated,
  shown: readonly Shown[],
  engines: readonly Engine[],
  titleOf: (offerId: string) => string,
): Promise<Result> {
  const tested = shown.filter(({ conversation }) => isInTestHalf(conversation.id))
  const figures = figuresOf(annotated, tested)
  const agreement = agreementOf(annotated)
  const details = [
    `${figures.conversations} conversations of the test half; relevant or absurd: two annotators say so, a third decided where they disagreed; ${figures.notJudged} shown were not judged and count as wrong`,
    `${agreement.pairs} pairs judged by both; kappa of the four grades ${agreement.grade.toFixed(3)}; coverage where the pool has something relevant ${percent(figures.coverageOfAnswerable)}`,
    `why nothing was shown: ${outcomesOf(tested)}`,
  ]
  for (const engine of engines) {
    const baseline = figuresOf(annotated, await showFirst(engine, annotated.conversations.filter(isTested)))
    details.push(baselineLine(`${engine.name}, question and answer, no gates`, wordsOf(baseline)))
  }
  details.push(...mistakesOf(annotated, tested, titleOf))
  return {
    bar: 'E3 conversations',
    figures: [
      { name: 'set', value: usableOf(annotated.conversations), unit: 'count', bar: { atLeast: CONVERSATIONS_MIN } },
      { name: 'kappa', value: agreement.relevant, bar: { atLeast: KAPPA_MIN } },
      { name: 'P@1', value: figures.hit, bar: { atLeast: HIT_MIN } },
      { name: 'coverage', value: figures.coverage, unit: 'percent', bar: { atLeast: COVERAGE_MIN } },
      { name: 'absurd', value: figures.absurd, unit: 'percent', bar: { atMost: ABSURD_MAX } },
    ],
    details,
  }
}

/** Shows what a gateway would show to a caller that names its conversations, so that all caps are known to be kept. */
export async function showAll(
  conversations: readonly Conversation[],
  matcher: MatcherInProcess,
  minRelevance = 0,
): Promise<Shown[]> {
  const progress = createProgress('E3', conversations.length)
  const shown: Shown[] = []
  for (const conversation of conversations) {
    shown.push(await showOne(conversation, matcher, minRelevance))
    progress.add()
  }
  progress.end()
  return shown
}

async function showOne(conversation: Conversation, matcher: MatcherInProcess, minRelevance: number): Promise<Shown> {
  const { answer } = conversation
  const silent = (outcome: string): Shown => ({ conversation, offerId: undefined, relevance: 0, outcome })
  const shape = answerGate({ text: answer, finishReason: 'stop', hasRefusal: false, hasToolCalls: false })
  if (shape) return silent(shape)
  if (hasCrisisWords(answer)) return silent('answer_sensitive')
  const reply = await matcher.match(requestOf(conversation, minRelevance))
  if (!('match' in reply)) return silent(reply.outcome)
  const { offerId, relevance } = reply.match
  return { conversation, offerId: matcher.offerOf(offerId).id, relevance, outcome: 'matched' }
}

/**
 * How precision and coverage of the development half change with the least relevance. `matcher` is one whose gates are all
 * open: they lose conversations whatever is offered, and would only make the figures of the few that are left coarser.
 */
export async function tuningLines(annotated: Annotated, matcher: MatcherInProcess): Promise<string[]> {
  const developed = annotated.conversations.filter(({ id }) => !isInTestHalf(id))
  const lines: string[] = []
  for (const threshold of THRESHOLDS) {
    const figures = figuresOf(annotated, await showAll(developed, matcher, threshold))
    const name = `dev half, gates open, relevance >= ${threshold.toFixed(2)}, ${figures.notJudged} not judged`
    lines.push(baselineLine(name, wordsOf(figures)))
  }
  return lines
}

async function showFirst(engine: Engine, conversations: readonly Conversation[]): Promise<Shown[]> {
  const progress = createProgress(`E3 by ${engine.name}`, conversations.length)
  const shown: Shown[] = []
  for (const conversation of conversations) {
    const [offerId] = await engine.rank(conversation, 1)
    shown.push({ conversation, offerId, relevance: 1, outcome: offerId === undefined ? 'no_match' : 'matched' })
    progress.add()
  }
  progress.end()
  return shown
}

function wordsOf({ hit, coverage, absurd }: ConversationFigures): Figure[] {
  return [
    { name: 'P@1', value: hit },
    { name: 'coverage', value: coverage, unit: 'percent' },
    { name: 'absurd', value: absurd, unit: 'percent' },
  ]
}

function mistakesOf(annotated: Annotated, shown: readonly Shown[], titleOf: (offerId: string) => string): string[] {
  return shown.flatMap(({ conversation, offerId, relevance }) => {
    if (offerId === undefined) return []
    const verdict = verdictOf(annotated, conversation.id, offerId)
    if (verdict === 'relevant') return []
    const last = conversation.turns.at(-1)?.text.replaceAll(/\s+/g, ' ') ?? ''
    return [`${verdict}: ${conversation.id} "${last.slice(0, 120)}" -> ${titleOf(offerId)} (${relevance.toFixed(2)})`]
  })
}

function outcomesOf(shown: readonly Shown[]): string {
  const counts = new Map<string, number>()
  for (const { offerId, outcome } of shown) {
    if (offerId === undefined) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  }
  return [...counts].map(([outcome, count]) => `${outcome} ${count}`).join(', ') || 'never'
}

function usableOf(conversations: readonly Conversation[]): number {
  return conversations.filter(({ turns }) => {
    const asked = turns.filter(({ role }) => role === 'user').length
    return asked >= 1 && asked <= TURNS_MAX
  }).length
}

function isTested({ id }: Conversation): boolean {
  return isInTestHalf(id)
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
