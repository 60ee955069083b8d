import { stopsOf, type ChatRequest } from '../../rules/calls/chat-request.ts'
import type { AssistantMessage, Message, TextPart } from '../../rules/calls/message.ts'
import type { OpenAICompatibleSettings } from './openai-settings.ts'
import type { UpstreamCall } from '../provider.ts'
import { nineCharacterIdOf } from '../tool-ids.ts'

/** A chat request as providers of OpenAI's format take it: as it came, but for what some of them refuse. */

export type Asked = Pick<UpstreamCall, 'request' | 'upstreamModel' | 'unsupportedFields' | 'endUser' | 'cache'>

/** Always streamed, also for callers who want one JSON body: timers, metering and cancelling then work the same. */
export function requestBodyOf(
  { request, upstreamModel, unsupportedFields, endUser, cache }: Asked,
  settings: OpenAICompatibleSettings,
): Record<string, unknown> {
  const { model: _, models: __, stream: ___, includeUsage: ____, max_tokens, messages, ...rest } = request
  // The caller's own key of a cache stays with us: see ConversationCache.
  const { prompt_cache_key: _____, ...fields } = rest
  const body: Record<string, unknown> = {
    ...fields,
    stop: stopOf(request),
    logit_bias: Object.keys(fields.logit_bias ?? {}).length === 0 ? undefined : fields.logit_bias,
    response_format: formatOf(request),
    messages: messages.map((message) => messageOf(message, settings)),
    [settings.maxTokensField]: max_tokens,
    model: upstreamModel,
    stream: true,
    ...(settings.askForUsage && { stream_options: { include_usage: true } }),
    prompt_cache_key: settings.promptCacheKey ? cache?.key : undefined,
    ...(endUser !== undefined && settings.endUserField !== 'none' && { [settings.endUserField]: endUser }),
  }
  // Routing has turned away the requests that need these fields. What is left asks for nothing, and would be refused all the same.
  for (const field of settings.unsupportedFields) delete body[field]
  for (const field of unsupportedFields ?? []) delete body[field]
  // They say how to call tools, and are refused where there are none.
  if (!request.tools) {
    delete body.parallel_tool_calls
    delete body.tool_choice
  }
  return body
}

function stopOf(request: ChatRequest): ChatRequest['stop'] {
  const stops = stopsOf(request)
  if (stops.length === 0) return undefined
  return typeof request.stop === 'string' ? request.stop : stops
}

/** SDKs write null for what is not given, and not everybody reads it so. */
function formatOf({ response_format: format }: ChatRequest): ChatRequest['response_format'] {
  if (!format?.json_schema) return format
  const given = Object.entries(format.json_schema).filter(([, value]) => value !== null)
  return { ...format, json_schema: Object.fromEntries(given) }
}

function messageOf(message: Message, settings: OpenAICompatibleSettings): object {
  if (message.role === 'assistant') return assistantOf(message, settings)
  const content = contentOf(message.content, settings)
  switch (message.role) {
    case 'tool':
      return { ...message, content, tool_call_id: idOf(message.tool_call_id, settings) }
    case 'developer':
      return { role: settings.developerRole ? message.role : 'system', content }
    default:
      return content === message.content ? message : { ...message, content }
  }
}

function contentOf(content: Message['content'], { cacheControl }: OpenAICompatibleSettings): unknown {
  if (!Array.isArray(content)) return content
  return content.map(({ cache_control: mark, ...part }) =>
    cacheControl && mark ? { ...part, cache_control: mark } : part,
  )
}

/** A null that means nothing is refused by some. */
function assistantOf(message: AssistantMessage, settings: OpenAICompatibleSettings): object {
  const { role, refusal, tool_calls, reasoning_content } = message
  const { reasoningField } = settings
  const said = settings.refusals ? message.content : saidOf(message)
  // Thoughts are wanted back for the calls that they led to, and refused elsewhere.
  const hasThoughts = reasoning_content != null && tool_calls != null && reasoningField !== 'none'
  return {
    role,
    // Some refuse a call without any content, and one refuses thoughts beside none.
    content: contentOf(said, settings) ?? (hasThoughts ? '' : null),
    ...(refusal != null && settings.refusals && { refusal }),
    ...(hasThoughts && { [reasoningField]: reasoning_content }),
    ...(tool_calls != null && {
      tool_calls: tool_calls.map(({ id, type, function: { name, arguments: written } }) => ({
        id: idOf(id, settings),
        type,
        // A call without arguments is one of an empty object; nothing at all is not JSON.
        function: { name, arguments: written === '' ? '{}' : written },
      })),
    }),
  }
}

function saidOf({ content, refusal }: AssistantMessage): AssistantMessage['content'] {
  if (refusal == null) return content
  if (content == null || content === '') return refusal
  const parts: TextPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return [...parts, { type: 'text', text: refusal }]
}

function idOf(id: string, { toolCallIds }: OpenAICompatibleSettings): string {
  return toolCallIds === 'any' ? id : nineCharacterIdOf(id)
}
