import { isPrefilled, type ChatRequest, type ReasoningEffort } from '../rules/calls/chat-request.ts'
import type { RouteField } from '../rules/calls/route-fields.ts'
import { REASONING_TOKENS } from '../rules/calls/reasoning.ts'

/**
 * What `reasoning_effort` is called by makers that have words or numbers of their own for it; the numbers of tokens are those of
 * rules/calls/reasoning.ts. Decided by the model's name. A maker's own name without a version counts as its newest model.
 */

/** How a Claude model is told to think: not at all, up to so many tokens, or as hard as a word says. */
export type ClaudeThinking = 'none' | 'budget' | 'adaptive'

interface Version {
  major: number
  minor: number
}

const NEWEST: Version = { major: Infinity, minor: 0 }

function versionIn(model: string, maker: string, pattern: RegExp, ofOthers: Version): Version {
  if (!model.includes(maker)) return ofOthers
  const [, major, minor = '0'] = pattern.exec(model) ?? []
  return major === undefined ? NEWEST : { major: Number(major), minor: Number(minor) }
}

function isAtLeast({ major, minor }: Version, [leastMajor, leastMinor]: [number, number]): boolean {
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}

/** `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet-20250219`, `us.anthropic.claude-opus-4-6-v1:0`, `claude-sonnet-5` */
function claudeVersionOf(model: string): Version {
  // Models of other makers are treated as Claude 4.5: they take a budget, if they think at all.
  return versionIn(model, 'claude-', /claude-(?:[a-z]+-)?(\d{1,2})(?:-(\d{1,2}))?(?!\d)/, { major: 4, minor: 5 })
}

export function claudeThinkingOf(model: string): ClaudeThinking {
  const version = claudeVersionOf(model)
  if (isAtLeast(version, [4, 6])) return 'adaptive'
  return isAtLeast(version, [3, 7]) ? 'budget' : 'none'
}

/** Newer models refuse to go on from what the assistant has said already. */
export function claudeTakesPrefill(model: string): boolean {
  return !isAtLeast(claudeVersionOf(model), [4, 6])
}

/** Newer models take no temperature and no top_p: theirs are always 1. */
export function claudeTakesSampling(model: string): boolean {
  return !isAtLeast(claudeVersionOf(model), [4, 7])
}

/** Older models can be held to a schema only by a tool that they must call. */
export function claudeHoldsToSchema(model: string): boolean {
  return isAtLeast(claudeVersionOf(model), [4, 1])
}

export function claudeCanBeMadeToCall(model: string): boolean {
  return !/claude-(?:fable-5-1|(?:sonnet|opus)-5-5)/.test(model)
}

const ALWAYS_THINKING = /claude-(?:fable-5|(?:sonnet|opus)-5-5)/

/** The word for an adaptive model. There is none below "low", and "xhigh" came a version later. */
export function claudeEffortOf(model: string, effort: Exclude<ReasoningEffort, 'none'>) {
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' && !isAtLeast(claudeVersionOf(model), [4, 7]) ? 'high' : effort
}

/** Fewer are refused, and so is a budget that leaves nothing of the answer's maximum. */
const CLAUDE_BUDGET_MIN = 1_024

/** Undefined: the maximum leaves no room to think. */
export function claudeBudgetOf(effort: ReasoningEffort, maxTokens: number | undefined): number | undefined {
  const budget = Math.min(REASONING_TOKENS[effort], (maxTokens ?? Infinity) - 1)
  return budget < CLAUDE_BUDGET_MIN ? undefined : budget
}

/** A model that is to think takes neither another temperature nor a tool that it must call. */
export function unhonouredByThinkingClaude(request: ChatRequest, upstreamModel: string): RouteField | undefined {
  const { reasoning_effort: effort, max_tokens } = request
  if (mustCallTool(request.tool_choice) && !claudeCanBeMadeToCall(upstreamModel)) return 'tool_choice'
  if (effort === 'none' && ALWAYS_THINKING.test(upstreamModel)) return 'reasoning_effort'
  if (effort === undefined || effort === 'none') return undefined
  const kind = claudeThinkingOf(upstreamModel)
  if (kind === 'none' || (kind === 'budget' && !claudeBudgetOf(effort, max_tokens))) return 'reasoning_effort'
  if ((request.temperature ?? 1) !== 1) return 'temperature'
  if (request.top_p !== undefined && request.top_p < THINKING_TOP_P_MIN) return 'top_p'
  if (mustCallTool(request.tool_choice)) return 'tool_choice'
  return isPrefilled(request) ? 'prefill' : undefined
}

const THINKING_TOP_P_MIN = 0.95

export function mustCallTool(choice: ChatRequest['tool_choice']): boolean {
  return typeof choice === 'object' || choice === 'required'
}

export interface GeminiThinking {
  thinkingBudget?: number
  thinkingLevel?: 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH'
  includeThoughts?: boolean
}

function geminiVersionOf(model: string): Version {
  return versionIn(model, 'gemini-', /gemini-(\d+)(?:\.(\d+))?/, { major: 1, minor: 0 })
}

/** They are refused since the models think. */
export function geminiTakesPenalties(model: string): boolean {
  return !isAtLeast(geminiVersionOf(model), [2, 5])
}

export function isGemini3(model: string): boolean {
  return isAtLeast(geminiVersionOf(model), [3, 0])
}

const GEMINI_BUDGET_MAX = { pro: 32_768, flash: 24_576 }
const GEMINI_LEVELS = {
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
  max: 'HIGH',
} as const

/** Undefined: the model cannot. Those named "pro" always think, and older ones never: nothing has to be said to them. */
export function geminiThinkingOf(model: string, effort: ReasoningEffort): GeminiThinking | undefined {
  const isPro = model.includes('pro')
  if (!isAtLeast(geminiVersionOf(model), [2, 5])) return effort === 'none' ? {} : undefined
  if (effort === 'none' && isPro) return undefined
  if (isGemini3(model)) {
    if (effort === 'none') return { thinkingLevel: 'MINIMAL' }
    return { thinkingLevel: isPro ? proLevelOf(model, effort) : GEMINI_LEVELS[effort], includeThoughts: true }
  }
  if (effort === 'none') return { thinkingBudget: 0 }
  const most = isPro ? GEMINI_BUDGET_MAX.pro : GEMINI_BUDGET_MAX.flash
  return { thinkingBudget: Math.min(REASONING_TOKENS[effort], most), includeThoughts: true }
}

/** They have no "minimal", and the first of them no "medium": there a level too high is better than one too low. */
function proLevelOf(model: string, effort: Exclude<ReasoningEffort, 'none'>) {
  if (effort === 'minimal') return GEMINI_LEVELS.low
  return effort === 'medium' && !isAtLeast(geminiVersionOf(model), [3, 1]) ? GEMINI_LEVELS.high : GEMINI_LEVELS[effort]
}
