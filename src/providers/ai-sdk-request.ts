import type { AmazonBedrockProvider } from '@ai-sdk/amazon-bedrock'
import {
  inlineDataOf,
  stopsOf,
  type ChatRequest,
  type ContentPart,
  type InlineData,
  type Message,
} from '../rules/calls/chat-request.ts'
import { toolInputOf } from './tool-input.ts'

/** How a chat request is said to a model of an `@ai-sdk` package, whichever provider is behind it. */

/** All packages have the same interface, so any of them can name it. */
export type LanguageModel = ReturnType<AmazonBedrockProvider['languageModel']>
export type CallOptions = Parameters<LanguageModel['doStream']>[0]
type Prompt = CallOptions['prompt']
type UserPart = Extract<Prompt[number], { role: 'user' }>['content'][number]
type AssistantPart = Extract<Prompt[number], { role: 'assistant' }>['content'][number]
type TextPart = { type: 'text'; text: string }
type Schema = Extract<CallOptions['responseFormat'], { type: 'json' }>['schema']

export function callOptionsOf(request: ChatRequest): CallOptions {
  const stops = stopsOf(request)
  return {
    prompt: promptOf(request.messages),
    maxOutputTokens: request.max_tokens,
    temperature: request.temperature,
    topP: request.top_p,
    stopSequences: stops.length === 0 ? undefined : stops,
    seed: request.seed,
    presencePenalty: request.presence_penalty,
    frequencyPenalty: request.frequency_penalty,
    responseFormat: responseFormatOf(request.response_format),
    tools: request.tools?.map(toolOf),
    toolChoice: request.tools && toolChoiceOf(request.tool_choice),
  }
}

function promptOf(messages: readonly Message[]): Prompt {
  const system = messages.flatMap((message) => (message.role === 'system' ? textsOf(message.content) : []))
  const toolNames = new Map<string, string>()
  const turns: Prompt = []
  for (const message of messages) {
    if (message.role === 'assistant') {
      for (const call of message.tool_calls ?? []) toolNames.set(call.id, call.function.name)
    }
    turns.push(...turnsOf(message, toolNames))
  }
  // Somebody must have spoken: instructions alone are given as what the user said.
  if (turns.length === 0) return [{ role: 'user', content: system }]
  // Instructions stand before the conversation, because most formats have no place for them inside it.
  return [...system.map(({ text }) => ({ role: 'system' as const, content: text })), ...turns]
}

function turnsOf(message: Message, toolNames: ReadonlyMap<string, string>): Prompt {
  switch (message.role) {
    case 'system':
      return []
    case 'user': {
      const content =
        typeof message.content === 'string' ? textsOf(message.content) : message.content.flatMap(userParts)
      return content.length === 0 ? [] : [{ role: 'user', content }]
    }
    case 'assistant': {
      const content: AssistantPart[] = [...textsOf(message.content ?? ''), ...textsOf(message.refusal ?? '')]
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

/** A text of nothing but whitespace is refused by most providers, and says nothing. */
function textsOf(content: string | readonly { text: string }[]): TextPart[] {
  const texts = typeof content === 'string' ? [content] : content.map((part) => part.text)
  return texts.filter((text) => text.trim() !== '').map((text) => ({ type: 'text', text }))
}

function userParts(part: ContentPart): UserPart[] {
  if (part.type === 'text') return textsOf(part.text)
  const inline = part.type === 'file' ? inlineDataOf(part.file.file_data) : inlineImageOf(part.image_url.url)
  if (!inline) return []
  const filename = part.type === 'file' ? part.file.filename : undefined
  return [{ type: 'file', filename, mediaType: inline.mediaType, data: { type: 'data', data: inline.base64 } }]
}

/** An image that comes with the request. Undefined for an address: whoever fetches it must not be us. */
export function inlineImageOf(url: string): InlineData | undefined {
  const inline = inlineDataOf(url)
  if (!inline?.mediaType.startsWith('image/')) return undefined
  // image/jpg is not a media type, and common.
  return { ...inline, mediaType: inline.mediaType.replace(/\/jpg$/, '/jpeg') }
}

const TOOL_ID_CHARACTERS_MAX = 64

/** Other providers write ids that are refused elsewhere. Call and result are changed alike; ids differ at their ends. */
function toolIdOf(id: string): string {
  return id.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(-TOOL_ID_CHARACTERS_MAX) || '_'
}

type Tool = NonNullable<ChatRequest['tools']>[number]

function toolOf({ function: { name, description, parameters, strict } }: Tool) {
  return {
    type: 'function' as const,
    name,
    description,
    // The type may be left out at OpenAI, and nowhere else.
    inputSchema: { type: 'object', ...(parameters ?? { properties: {} }) } as NonNullable<Schema>,
    // False asks for nothing.
    strict: strict === true ? true : undefined,
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
