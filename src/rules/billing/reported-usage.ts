import { completionTokensOf, promptTokensOf, type Usage } from './usage.ts'

/**
 * The provider's count rules, unless it is physically impossible. Then the nearest possible count is charged and the
 * report is flagged: it is a defect or a lie, and must neither empty a publisher's wallet nor go unnoticed.
 */

/**
 * The two that concern a whole call, missing and falling, are noticed by gateway/metering/conclusion.ts; docs/operations.md
 * explains all of them.
 */
export const ANOMALIES = [
  'missing', // a finished answer without a report
  'not_a_count', // negative, fractional, a text
  'zero', // nothing, for an answer that is there
  'falling', // less than was reported before
  'prompt_too_large', // more prompt tokens than bytes were sent
  'cache_too_large', // more cached tokens than the prompt has
  'output_too_large', // more than was allowed, or than bytes came
  'unexpected_reasoning', // of a model that does not reason
] as const
export type Anomaly = (typeof ANOMALIES)[number]

/** The size of an answer, as far as it could be seen. */
export interface SeenAnswer {
  /** In text and tool calls. */
  bytes: number
  /** In thoughts that were shown. */
  thoughtBytes: number
  toolCalls: number
}

/** The physical limits of one call's usage. */
export interface UsageBounds {
  prompt: number
  visible: number
  reasoning: number
  /** Visible and reasoning together. */
  output: number
  /** Something of the answer was seen. */
  isAnswered: boolean
}

export interface JudgedUsage {
  usage: Usage
  /** `estimated`: where the report said nothing, our own count stands. */
  source: 'reported' | 'estimated'
  anomalies: Anomaly[]
}

/** Beyond this a count does not fit the ledger's columns, and no model is that long. */
const TOKENS_MAX = 1_000_000_000

/**
 * The tokens that providers count beyond the text: the end of the answer, and the syntax of a tool call. In 2,600 captured
 * answers of real providers no model without hidden thoughts exceeded its bytes by more than 50 tokens per call.
 */
const ANSWER_TOKENS = 64
const TOKENS_PER_TOOL_CALL = 64

/**
 * A token has at least one byte. A model that may think unseen (its figure of reasoning is not 0) is held to what it was
 * allowed in all, because some providers count thoughts without telling them apart.
 */
export function usageBounds(
  promptMax: number,
  outputMax: number,
  { bytes, thoughtBytes, toolCalls }: SeenAnswer,
  { reasoning }: { reasoning: number | undefined },
): UsageBounds {
  const isShown = reasoning === 0
  const isAnswered = bytes + thoughtBytes + toolCalls > 0
  return {
    prompt: promptMax,
    visible: isShown ? bytes + ANSWER_TOKENS + TOKENS_PER_TOOL_CALL * toolCalls : outputMax,
    reasoning: isShown ? thoughtBytes && thoughtBytes + ANSWER_TOKENS : outputMax,
    output: outputMax,
    isAnswered,
  }
}

/** Whether the model has thought unseen. Some providers count that as output, and do not tell it apart. */
export function isMoreThanSeen(usage: Usage, { bytes, thoughtBytes, toolCalls }: SeenAnswer): boolean {
  const visible = bytes + ANSWER_TOKENS + TOKENS_PER_TOOL_CALL * toolCalls
  return usage.reasoning > thoughtBytes || completionTokensOf(usage) > visible + thoughtBytes
}

/** Whether a report says something of everything, so that our own count is not needed beside it. */
export function isWhole(reported: Usage, { isAnswered }: UsageBounds): boolean {
  const prompt = promptTokensOf(reported)
  const completion = completionTokensOf(reported)
  return isCount(prompt) && prompt > 0 && isCount(completion) && (completion > 0 || !isAnswered)
}

/** `counted` is our own count of the same call: it stands in for the part of a report that says nothing. */
export function judgeReport(reported: Usage, counted: Usage, bounds: UsageBounds): JudgedUsage {
  const anomalies = new Set<Anomaly>()
  const prompt = judgePrompt(reported, counted, bounds, anomalies)
  const completion = judgeCompletion(reported, counted, bounds, anomalies)
  return {
    usage: { ...prompt, ...completion },
    source: isWhole(reported, bounds) ? 'reported' : 'estimated',
    anomalies: [...anomalies],
  }
}

function judgePrompt(reported: Usage, counted: Usage, bounds: UsageBounds, anomalies: Set<Anomaly>) {
  const total = promptTokensOf(reported)
  if (!isCount(total) || total === 0) {
    anomalies.add(total === 0 ? 'zero' : 'not_a_count')
    const { input, cachedInput, cacheWrite } = counted
    return { input, cachedInput, cacheWrite }
  }
  if (total > bounds.prompt) anomalies.add('prompt_too_large')
  // Adapters subtract what was cached from the prompt: a cache that is larger than the prompt leaves less than nothing.
  if (reported.input < 0) anomalies.add('cache_too_large')
  else if (![reported.input, reported.cachedInput, reported.cacheWrite].every(isCount)) anomalies.add('not_a_count')
  const possible = Math.min(total, bounds.prompt)
  const cachedInput = within(reported.cachedInput, possible)
  const cacheWrite = within(reported.cacheWrite, possible - cachedInput)
  return { input: possible - cachedInput - cacheWrite, cachedInput, cacheWrite }
}

function judgeCompletion(reported: Usage, counted: Usage, bounds: UsageBounds, anomalies: Set<Anomaly>) {
  const total = completionTokensOf(reported)
  const isEmpty = total === 0 && bounds.isAnswered
  if (!isCount(total) || isEmpty) {
    anomalies.add(isEmpty ? 'zero' : 'not_a_count')
    const { output, reasoning } = counted
    return { output, reasoning }
  }
  const isSplit = isCount(reported.output) && isCount(reported.reasoning)
  if (!isSplit) anomalies.add('not_a_count')
  const visible = isSplit ? reported.output : total
  const thoughts = isSplit ? reported.reasoning : 0
  const output = Math.min(visible, bounds.visible, bounds.output)
  const reasoning = Math.min(thoughts, bounds.reasoning, bounds.output - output)
  if (thoughts > 0 && bounds.reasoning === 0) anomalies.add('unexpected_reasoning')
  if (output < visible || (reasoning < thoughts && bounds.reasoning > 0)) anomalies.add('output_too_large')
  return { output, reasoning }
}

/** Also false for a sum in which anything is a fraction or not a number. */
function isCount(count: number): boolean {
  return Number.isSafeInteger(count) && count >= 0 && count <= TOKENS_MAX
}

function within(count: number, most: number): number {
  return isCount(count) ? Math.min(count, most) : 0
}
