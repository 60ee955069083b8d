import {
  filesOf,
  imageUrlsOf,
  isJsonAsked,
  isPrefilled,
  mustCallTool,
  stopsOf,
  type ChatRequest,
} from '../../rules/calls/chat-request.ts'
import { fieldsOf, type RouteField } from '../../rules/calls/route-fields.ts'
import { isRecord } from '../../rules/record.ts'
import { documentOf, imageSourceOf, SIGNED_BY, systemOf, turnsOf } from './anthropic-turns.ts'
import {
  claudeBudgetOf,
  claudeEffortOf,
  claudeHoldsToSchema,
  claudeTakesPrefill,
  claudeThinkingOf,
  samplingOf,
  unhonouredByClaude,
  unhonouredByThinkingClaude,
  withoutBounds,
} from '../claude-models.ts'
import { UpstreamError } from '../provider.ts'
import { areThoughtsKept } from '../reasoning-signature.ts'

/** A chat request in the words of Anthropic's Messages, always streamed: timers, metering and cancelling work the same. */
export function requestBodyOf(request: ChatRequest, upstreamModel: string, defaultMaxTokens: number, endUser?: string) {
  const system = systemOf(request)
  const turns = turnsOf(request.messages)
  // Somebody must have spoken: instructions alone are given as what the user said.
  const isOnlySystem = turns.length === 0
  if (isOnlySystem && system.length === 0) throw new UpstreamError('rejected')
  const max_tokens = request.max_tokens ?? defaultMaxTokens
  const { thinking, effort } = thinkingOf(request, upstreamModel, max_tokens)
  return {
    model: upstreamModel,
    max_tokens,
    stream: true,
    system: system.length === 0 || isOnlySystem ? undefined : system,
    messages: isOnlySystem ? [{ role: 'user', content: system }] : turns,
    temperature: samplingOf(request.temperature),
    top_p: samplingOf(request.top_p),
    stop_sequences: stopsOf(request).length === 0 ? undefined : stopsOf(request),
    tools: request.tools?.map(toolOf),
    tool_choice: request.tools && toolChoiceOf(request),
    thinking,
    output_config: outputConfigOf(request.response_format, effort),
    metadata: endUser === undefined ? undefined : { user_id: endUser },
  }
}

/** This wire format has no place for them. */
const WITHOUT_PLACE: ReadonlySet<RouteField> = new Set([
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'verbosity',
  'logprobs',
  'top_logprobs',
  'prediction',
  'input_audio',
])

/**
 * Returns a field that this wire format has no place for, or that the model is known to refuse. A field at the value that it
 * has anyway asks for nothing and is honoured.
 */
export function unhonouredIn(request: ChatRequest, upstreamModel: string): RouteField | undefined {
  const without = fieldsOf(request).find((field) => WITHOUT_PLACE.has(field))
  if (without) return without
  const refused = unhonouredByClaude(request, upstreamModel)
  if (refused) return refused
  if (!isFormatHonoured(request, upstreamModel)) return 'response_format'
  if (!request.tools && mustCallTool(request)) return 'tool_choice'
  if (isPrefilled(request) && !claudeTakesPrefill(upstreamModel)) return 'prefill'
  if (!imageUrlsOf(request).every((url) => imageSourceOf(url) !== undefined)) return 'images'
  if (!filesOf(request).every((part) => documentOf(part) !== undefined)) return 'files'
  return unhonouredByThinkingClaude(request, upstreamModel)
}

/** How the model is told to think, if at all. */
function thinkingOf({ reasoning_effort: effort, messages }: ChatRequest, upstreamModel: string, maxTokens: number) {
  if (effort === undefined) return {}
  const kind = claudeThinkingOf(upstreamModel)
  if (kind === 'adaptive') {
    if (effort === 'none') return { thinking: { type: 'disabled' } }
    // Newer ones show nothing of it unless they are asked to.
    const thinking = { type: 'adaptive', display: 'summarized' }
    return { thinking, effort: claudeEffortOf(upstreamModel, effort) }
  }
  // Where the hold has lowered the maximum, or a caller brings the results of tools without what led to the calls, the
  // model answers without thinking: with it, the request would be refused.
  const budget_tokens = kind === 'budget' ? claudeBudgetOf(effort, maxTokens) : undefined
  if (effort === 'none' || budget_tokens === undefined || !areThoughtsKept(SIGNED_BY, messages)) return {}
  return { thinking: { type: 'enabled', budget_tokens } }
}

function toolOf({ function: { name, description, parameters, strict } }: NonNullable<ChatRequest['tools']>[number]) {
  const isStrict = strict === true
  return {
    name,
    description,
    // The type is mandatory here and may be left out at OpenAI.
    input_schema: { type: 'object', ...(isStrict ? withoutBounds(parameters) : (parameters ?? { properties: {} })) },
    strict: isStrict ? true : undefined,
  }
}

function toolChoiceOf({ tool_choice: choice, parallel_tool_calls }: ChatRequest) {
  const isOneByOne = parallel_tool_calls === false && choice !== 'none'
  if (choice === undefined && !isOneByOne) return undefined
  const one = isOneByOne ? { disable_parallel_tool_use: true } : {}
  if (typeof choice === 'object') return { type: 'tool', name: choice.function.name, ...one }
  return { type: choice === 'required' ? 'any' : (choice ?? 'auto'), ...one }
}

type ResponseFormat = ChatRequest['response_format']

function outputConfigOf(format: ResponseFormat, effort: string | undefined) {
  const schema = format?.type === 'json_schema' ? format.json_schema?.schema : undefined
  if (schema === undefined && effort === undefined) return undefined
  return { effort, format: schema === undefined ? undefined : { type: 'json_schema', schema: withoutBounds(schema) } }
}

/** Any JSON at all cannot be asked for, only that of a schema, and only of one whose objects allow nothing unnamed. */
function isFormatHonoured(request: ChatRequest, upstreamModel: string): boolean {
  if (!isJsonAsked(request)) return true
  const schema = request.response_format?.json_schema?.schema
  return (
    request.response_format?.type === 'json_schema' &&
    claudeHoldsToSchema(upstreamModel) &&
    isRecord(schema) &&
    isClosed(schema)
  )
}

/** Enums, constants and examples hold values, which may look like schemas and are none. */
const VALUE_KEYWORDS = new Set(['enum', 'const', 'default', 'examples'])

function isClosed(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed)
  if (!isRecord(schema)) return true
  const isObject = [schema.type].flat().includes('object')
  if (isObject && schema.additionalProperties !== false) return false
  return Object.entries(schema).every(([keyword, value]) => VALUE_KEYWORDS.has(keyword) || isClosed(value))
}
