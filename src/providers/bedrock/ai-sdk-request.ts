import type { AmazonBedrockProvider } from '@ai-sdk/amazon-bedrock'
import { stopsOf, type ChatRequest } from '../../rules/calls/chat-request.ts'
import {
  isInstruction,
  withoutMarks,
  type CacheControl,
  inlineDataOf,
  type ContentPart,
  type InlineData,
  type Message,
} from '../../rules/calls/message.ts'
import { withoutBounds } from '../claude-models.ts'
import { UpstreamError } from '../provider.ts'
import { thoughtsOf, type Thought } from '../reasoning-signature.ts'
import { toolIdOf } from '../tool-ids.ts'
import { createToolInputs, type ToolInputOf } from '../tool-input.ts'

/** How a chat request is said to a model of an `@ai-sdk` package, whichever provider is behind it. */

/** All packages have the same interface, so any of them can name it. */
export type LanguageModel = ReturnType<AmazonBedrockProvider['languageModel']>
export type CallOptions = Parameters<LanguageModel['doStream']>[0]
type Prompt = CallOptions['prompt']
type UserPart = Extract<Prompt[number], { role: 'user' }>['content'][number]
type AssistantPart = Extract<Prompt[number], { role: 'assistant' }>['content'][number]
type TextPart = Extract<UserPart, { type: 'text' }>
type Schema = Extract<CallOptions['responseFormat'], { type: 'json' }>['schema']

/** Begins the `reasoning_signature` of answers in this format. */
export const SIGNED_BY = 'bedrock'

/** Options that depend on the model. They take precedence over what the request says. */
export type ModelOptions = Pick<
  CallOptions,
  'reasoning' | 'maxOutputTokens' | 'providerOptions' | 'temperature' | 'topP'
>

interface Beside extends ModelOptions {
  /** Whether the model takes marks of where its prompt may be cached. */
  hasMarks?: boolean
}

export function callOptionsOf(request: ChatRequest, { hasMarks = false, ...ofModel }: Beside = {}): CallOptions {
  const stops = stopsOf(request)
  return {
    prompt: promptOf(hasMarks ? request.messages : request.messages.map(withoutMarks)),
    maxOutputTokens: request.max_tokens,
    temperature: request.temperature,
    topP: request.top_p,
    stopSequences: stops.length === 0 ? undefined : stops,
    seed: request.seed,
    // Zero asks for nothing, and packages warn of fields that their provider does not have.
    presencePenalty: request.presence_penalty || undefined,
    frequencyPenalty: request.frequency_penalty || undefined,
    responseFormat: responseFormatOf(request.response_format),
    tools: request.tools?.map(toolOf),
    toolChoice: request.tools && toolChoiceOf(request.tool_choice),
    ...ofModel,
  }
}

function promptOf(messages: readonly Message[]): Prompt {
  const system = messages.filter(isInstruction).flatMap(({ content }) => textsOf(content))
  const toolNames = new Map<string, string>()
  const toolInputOf = createToolInputs()
  const turns: Prompt = []
  for (const message of messages) {
    if (message.role === 'assistant') {
      for (const call of message.tool_calls ?? []) toolNames.set(call.id, call.function.name)
    }
    turns.push(...turnsOf(message, toolNames, toolInputOf))
  }
  // Somebody must have spoken: instructions alone are given as what the user said.
  if (turns.length === 0) {
    if (system.length === 0) throw new UpstreamError('rejected')
    return [{ role: 'user', content: system }]
  }
  // Instructions stand before the conversation, because most formats have no place for them inside it.
  return [
    ...system.map(({ text, providerOptions }) => ({ role: 'system' as const, content: text, providerOptions })),
    ...turns,
  ]
}

function turnsOf(message: Message, toolNames: ReadonlyMap<string, string>, toolInputOf: ToolInputOf): Prompt {
  switch (message.role) {
    case 'system':
    case 'developer':
      return []
    case 'user': {
      const content =
        typeof message.content === 'string' ? textsOf(message.content) : message.content.flatMap(userParts)
      return content.length === 0 ? [] : [{ role: 'user', content }]
    }
    case 'assistant': {
      const texts = [...textsOf(message.content ?? ''), ...textsOf(message.refusal ?? '')]
      const content: AssistantPart[] = [...thoughtsOf(SIGNED_BY, message).map(reasoningPartOf), ...texts]
      for (const { id, function: called } of message.tool_calls ?? []) {
        const input = toolInputOf(called.arguments)
        content.push({ type: 'tool-call', toolCallId: toolIdOf(id), toolName: called.name, input })
      }
      return content.length === 0 ? [] : [{ role: 'assistant', content }]
    }
    case 'tool': {
      const id = message.tool_call_id
      const output = { type: 'content' as const, value: textsOf(message.content) }
      const toolName = toolNames.get(id) ?? id
      return [{ role: 'tool', content: [{ type: 'tool-result', toolCallId: toolIdOf(id), toolName, output }] }]
    }
  }
}

function reasoningPartOf(thought: Thought): AssistantPart {
  if ('redacted' in thought)
    return { type: 'reasoning', text: '', providerOptions: { amazonBedrock: { redactedContent: thought.redacted } } }
  const { text, signature } = thought
  return { type: 'reasoning', text, providerOptions: { amazonBedrock: { signature } } }
}

/** A text of nothing but whitespace is refused by most providers, and says nothing. */
function textsOf(content: string | readonly Marked<{ text: string }>[]): TextPart[] {
  const parts = typeof content === 'string' ? [{ text: content }] : content
  return parts
    .filter(({ text }) => text.trim() !== '')
    .map((part) => ({ type: 'text', text: part.text, providerOptions: cachePointOf(part) }))
}

type Marked<Part> = Part & { cache_control?: CacheControl | null | undefined }

function cachePointOf({ cache_control: mark }: Marked<object>): TextPart['providerOptions'] {
  if (!mark) return undefined
  return { amazonBedrock: { cachePoint: { type: 'default' } } }
}

function userParts(part: ContentPart): UserPart[] {
  if (part.type === 'text') return textsOf([part])
  // Requests with sound are not sent here.
  if (part.type === 'input_audio') return []
  const inline = part.type === 'file' ? inlineDataOf(part.file.file_data) : inlineImageOf(part.image_url.url)
  if (!inline) return []
  const filename = part.type === 'file' ? part.file.filename : undefined
  const data = { type: 'data' as const, data: inline.base64 }
  return [{ type: 'file', filename, mediaType: inline.mediaType, data, providerOptions: cachePointOf(part) }]
}

/** An image that comes with the request. Undefined for an address: whoever fetches it must not be us. */
export function inlineImageOf(url: string): InlineData | undefined {
  const inline = inlineDataOf(url)
  if (!inline?.mediaType.startsWith('image/')) return undefined
  // image/jpg is not a media type, and common.
  return { ...inline, mediaType: inline.mediaType.replace(/\/jpg$/, '/jpeg') }
}

type Tool = NonNullable<ChatRequest['tools']>[number]

function toolOf({ function: { name, description, parameters, strict } }: Tool) {
  const isStrict = strict === true
  return {
    type: 'function' as const,
    name,
    description,
    // The type may be left out at OpenAI, and nowhere else.
    inputSchema: {
      type: 'object',
      ...(isStrict ? withoutBounds(parameters) : (parameters ?? { properties: {} })),
    } as NonNullable<Schema>,
    // False asks for nothing.
    strict: isStrict ? true : undefined,
  }
}

function toolChoiceOf(choice: ChatRequest['tool_choice']): CallOptions['toolChoice'] {
  if (choice === undefined) return undefined
  return typeof choice === 'object' ? { type: 'tool', toolName: choice.function.name } : { type: choice }
}

function responseFormatOf(format: ChatRequest['response_format']): CallOptions['responseFormat'] {
  if (format === undefined || format.type === 'text') return undefined
  if (format.type === 'json_object') return { type: 'json' }
  const { name, description, schema } = format.json_schema ?? {}
  return {
    type: 'json',
    schema: schema as Schema,
    name: typeof name === 'string' ? name : undefined,
    description: typeof description === 'string' ? description : undefined,
  }
}
