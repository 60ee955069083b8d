import {
  isPrefilled,
  mustCallTool,
  stopsOf,
  type ChatRequest,
  type ReasoningEffort,
} from '../rules/calls/chat-request.ts'
import { REASONING_TOKENS } from '../rules/calls/reasoning.ts'
import type { RouteField } from '../rules/calls/route-fields.ts'
import { mapSchema, type Schema } from './json-schema.ts'
import { isAtLeast, versionIn, type ModelVersion } from './model-version.ts'

/**
 * Knowledge of Claude models, whoever serves them: what each takes and refuses, and how it is told to think; the numbers of
 * tokens are those of rules/calls/reasoning.ts. Decided by the model's name.
 */

/** How it is told to think: not at all, up to so many tokens, or as hard as a word says. */
export type ClaudeThinking = 'none' | 'budget' | 'adaptive'

/** `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet-20250219`, `us.anthropic.claude-opus-4-6-v1:0`, `claude-sonnet-5` */
function claudeVersionOf(model: string): ModelVersion {
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

const THINKING_TOP_P_MIN = 0.95

/** A model that is to think takes neither another temperature nor a tool that it must call. */
export function unhonouredByThinkingClaude(request: ChatRequest, upstreamModel: string): RouteField | undefined {
  const { reasoning_effort: effort, max_tokens } = request
  if (mustCallTool(request) && !claudeCanBeMadeToCall(upstreamModel)) return 'tool_choice'
  if (effort === 'none' && ALWAYS_THINKING.test(upstreamModel)) return 'reasoning_effort'
  if (effort === undefined || effort === 'none') return undefined
  const kind = claudeThinkingOf(upstreamModel)
  if (kind === 'none' || (kind === 'budget' && !claudeBudgetOf(effort, max_tokens))) return 'reasoning_effort'
  if ((request.temperature ?? 1) !== 1) return 'temperature'
  if (request.top_p !== undefined && request.top_p < THINKING_TOP_P_MIN) return 'top_p'
  if (mustCallTool(request)) return 'tool_choice'
  return isPrefilled(request) ? 'prefill' : undefined
}

/** One is the default of both, and newer models refuse these fields altogether: what changes nothing is left out. */
export function samplingOf(value: number | undefined): number | undefined {
  return value === 1 ? undefined : value
}

export function unhonouredByClaude(request: ChatRequest, upstreamModel: string): RouteField | undefined {
  const { temperature = 1 } = request
  const hasTemperature = samplingOf(temperature) !== undefined
  const hasTopP = samplingOf(request.top_p) !== undefined
  const takesSampling = claudeTakesSampling(upstreamModel)
  // OpenAI's scale ends at 2, Anthropic's at 1: a clamped temperature would be another one than was asked for.
  if (hasTemperature && (!takesSampling || temperature > 1)) return 'temperature'
  // Models since Claude 4.5 refuse the two together.
  if (hasTopP && (!takesSampling || hasTemperature)) return 'top_p'
  return stopsOf(request).some((stop) => stop.trim() === '') ? 'stop' : undefined
}

const BOUNDS = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
])

/** Without parameters, and still to be held to: such an object allows nothing unnamed. */
const NO_PARAMETERS = { properties: {}, additionalProperties: false }

/** Bounds are refused in a schema that is held to. The model is told of them in words instead. */
export function withoutBounds(schema: unknown): Schema {
  const told = mapSchema(schema ?? NO_PARAMETERS, (part) => {
    const entries = Object.entries(part)
    const bounds = entries.filter(
      ([keyword, bound]) => BOUNDS.has(keyword) && !(keyword === 'minItems' && isZeroOrOne(bound)),
    )
    if (bounds.length === 0) return part
    const words = bounds.map(([keyword, bound]) => `${keyword}: ${JSON.stringify(bound)}`).join(', ')
    const description = typeof part.description === 'string' ? `${part.description} (${words})` : words
    return { ...Object.fromEntries(entries.filter((entry) => !bounds.includes(entry))), description }
  })
  return told as Schema
}

function isZeroOrOne(value: unknown): boolean {
  return value === 0 || value === 1
}
