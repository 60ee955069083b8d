import type { ReasoningEffort } from '../../rules/calls/chat-request.ts'
import { REASONING_TOKENS } from '../../rules/calls/reasoning.ts'
import { isAtLeast, versionIn, type ModelVersion } from '../model-version.ts'

/**
 * Knowledge of Gemini models: what each takes and refuses, and how it is told to think; the numbers of tokens are those of
 * rules/calls/reasoning.ts. Decided by the model's name.
 */

export interface GeminiThinking {
  thinkingBudget?: number
  thinkingLevel?: 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH'
  includeThoughts?: boolean
}

function geminiVersionOf(model: string): ModelVersion {
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
