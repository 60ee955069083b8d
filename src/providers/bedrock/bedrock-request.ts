import { filesOf, imageUrlsOf, isPrefilled, type ChatRequest } from '../../rules/calls/chat-request.ts'
import { inlineDataOf, type ContentPart } from '../../rules/calls/message.ts'
import { fieldsOf, type RouteField } from '../../rules/calls/route-fields.ts'
import { inlineImageOf, SIGNED_BY, type ModelOptions } from './ai-sdk-request.ts'
import { samplingOf, unhonouredByClaude } from '../claude-rules.ts'
import type { UpstreamCall } from '../provider.ts'
import {
  claudeBudgetOf,
  claudeEffortOf,
  claudeTakesPrefill,
  claudeThinkingOf,
  unhonouredByThinkingClaude,
} from '../reasoning-effort.ts'
import { areThoughtsKept } from '../reasoning-signature.ts'

/** What Bedrock's Converse API can honour of a chat request, and how its models are told to think. */

const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** This wire format has no place for them. */
const WITHOUT_PLACE: ReadonlySet<RouteField> = new Set([
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'parallel_tool_calls',
  'verbosity',
  'logprobs',
  'top_logprobs',
  'prediction',
  'input_audio',
])

/** A field at the value that it has anyway asks for nothing and is honoured. */
export function cannotHonour(request: ChatRequest, upstreamModel: string): RouteField | undefined {
  const without = fieldsOf(request).find((field) => WITHOUT_PLACE.has(field))
  if (without) return without
  // OpenAI's scale ends at 2, this one at 1: a clamped temperature would be another one than was asked for.
  if (request.temperature !== undefined && request.temperature > 1) return 'temperature'
  if (!isFormatHonoured(request)) return 'response_format'
  // Calls of tools that are no longer offered are refused there.
  if (!request.tools && hasToolTurns(request)) return 'tools'
  if (!isChoiceHonoured(request)) return 'tool_choice'
  if (!imageUrlsOf(request).every(isImageHonoured)) return 'images'
  if (!filesOf(request).every(({ file }) => isPdf(file.file_data)) || hasWordlessFile(request)) return 'files'
  return unhonouredSampling(request, upstreamModel) ?? unhonouredThoughts(request, upstreamModel)
}

/** OpenAI's models have no stops there, and the closed ones have their own temperature. */
function unhonouredSampling(request: ChatRequest, upstreamModel: string): RouteField | undefined {
  if (isClaude(upstreamModel)) return unhonouredByClaude(request, upstreamModel)
  if (!isOpenAI(upstreamModel)) return undefined
  const refused = upstreamModel.includes('gpt-oss') ? ['stop'] : ['stop', 'temperature', 'top_p']
  return fieldsOf(request).find((field) => refused.includes(field))
}

/** Models of some makers think as hard as they are told to, and the package knows how to tell them. */
function unhonouredThoughts(request: ChatRequest, upstreamModel: string): RouteField | undefined {
  if (isClaude(upstreamModel)) {
    if (isPrefilled(request) && !claudeTakesPrefill(upstreamModel)) return 'prefill'
    return unhonouredByThinkingClaude(request, upstreamModel)
  }
  const { reasoning_effort: effort = 'none' } = request
  if (effort === 'none' || isOpenAI(upstreamModel)) return undefined
  // From "high" on it takes no maximum, and then nobody could bound what it costs.
  const isHonoured = upstreamModel.includes('amazon.nova-2-lite') && ['minimal', 'low', 'medium'].includes(effort)
  return isHonoured ? undefined : 'reasoning_effort'
}

function isClaude(upstreamModel: string): boolean {
  return upstreamModel.includes('anthropic')
}

function isOpenAI(upstreamModel: string): boolean {
  return /(?:^|\.)openai\./.test(upstreamModel)
}

type Options = NonNullable<ModelOptions['providerOptions']>[string]

/** How the model is to think, what it refuses to be told, and what else the operator wants sent. */
export function modelOptionsOf(call: UpstreamCall): ModelOptions {
  const { request, upstreamModel } = call
  const reasoning = reasoningOf(call)
  if (!isClaude(upstreamModel) && !isOpenAI(upstreamModel)) return reasoning
  return { ...reasoning, temperature: samplingOf(request.temperature), topP: samplingOf(request.top_p) }
}

function reasoningOf({ request, upstreamModel, extraBody }: UpstreamCall): ModelOptions {
  const { reasoning_effort: effort = 'none', max_tokens, messages } = request
  const extra = extraBody as Options | undefined
  const optionsWith = (reasoningConfig?: Options): ModelOptions => ({
    providerOptions: {
      amazonBedrock: {
        ...(extra && { additionalModelRequestFields: extra }),
        ...(reasoningConfig && { reasoningConfig }),
      },
    },
  })
  if (effort === 'none') return optionsWith()
  if (!isClaude(upstreamModel)) return { ...optionsWith(), reasoning: effort === 'max' ? 'xhigh' : effort }
  if (claudeThinkingOf(upstreamModel) === 'adaptive') {
    const maxReasoningEffort = claudeEffortOf(upstreamModel, effort)
    return optionsWith({ type: 'adaptive', maxReasoningEffort, display: 'summarized' })
  }
  const budgetTokens = claudeBudgetOf(effort, max_tokens)
  if (budgetTokens === undefined || !areThoughtsKept(SIGNED_BY, messages)) return optionsWith()
  // The package adds the budget to the maximum, which includes it here.
  const maxOutputTokens = max_tokens && max_tokens - budgetTokens
  return { ...optionsWith({ type: 'enabled', budgetTokens }), maxOutputTokens }
}

/** A schema is held to by a tool that the model must call, so it leaves no room for the caller's tools. */
function isFormatHonoured({ response_format: format, tools }: ChatRequest): boolean {
  if (format === undefined || format.type === 'text') return true
  const schema = format.json_schema?.schema
  return format.type === 'json_schema' && typeof schema === 'object' && schema !== null && !tools
}

/** There is no "none": tools are left out instead, which cannot be where the conversation has used them. */
function isChoiceHonoured(request: ChatRequest): boolean {
  const choice = request.tool_choice
  if (choice === undefined || choice === 'auto') return true
  return choice === 'none' ? !hasToolTurns(request) : request.tools !== undefined
}

function hasToolTurns({ messages }: ChatRequest): boolean {
  return messages.some((m) => m.role === 'tool' || (m.role === 'assistant' && m.tool_calls != null))
}

function isImageHonoured(url: string): boolean {
  return IMAGE_TYPES.has(inlineImageOf(url)?.mediaType ?? '')
}

/** A document is refused in a message that says nothing beside it. */
function hasWordlessFile({ messages }: ChatRequest): boolean {
  return messages.some(
    ({ content }) => Array.isArray(content) && content.some((part) => part.type === 'file') && !content.some(isWords),
  )
}

function isWords(part: ContentPart): boolean {
  return part.type === 'text' && part.text.trim() !== ''
}

function isPdf(url: string): boolean {
  return inlineDataOf(url)?.mediaType === 'application/pdf'
}
