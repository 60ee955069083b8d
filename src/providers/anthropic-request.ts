import {
  filesOf,
  imageUrlsOf,
  inlineDataOf,
  plainTextOf,
  stopsOf,
  type ChatRequest,
  type ContentPart,
  type FilePart,
  type Message,
  type OptionalField,
} from '../rules/calls/chat-request.ts'
import { isRecord } from '../rules/record.ts'
import { toolInputOf } from './tool-input.ts'

/** A chat request in the words of Anthropic's Messages, always streamed: timers, metering and cancelling work the same. */
export function requestBodyOf(request: ChatRequest, upstreamModel: string, defaultMaxTokens: number) {
  const system = request.messages.flatMap((message) => (message.role === 'system' ? textsOf(message.content) : []))
  const turns = turnsOf(request.messages)
  // Somebody must have spoken: instructions alone are given as what the user said.
  const isOnlySystem = turns.length === 0 && system.length > 0
  return {
    model: upstreamModel,
    max_tokens: request.max_tokens ?? defaultMaxTokens,
    stream: true,
    system: system.length === 0 || isOnlySystem ? undefined : system,
    messages: isOnlySystem ? [{ role: 'user', content: system }] : turns,
    temperature: samplingOf(request.temperature),
    top_p: samplingOf(request.top_p),
    stop_sequences: stopsOf(request).length === 0 ? undefined : stopsOf(request),
    tools: request.tools?.map(toolOf),
    tool_choice: request.tools && toolChoiceOf(request.tool_choice),
    output_config: outputConfigOf(request.response_format),
    metadata: request.user ? { user_id: request.user } : undefined,
  }
}

/**
 * What this wire format has no place for, or what it is known to refuse. A field at the value that it has anyway asks for
 * nothing and is honoured.
 */
export function unhonouredIn(request: ChatRequest): OptionalField | undefined {
  // OpenAI's scale ends at 2, Anthropic's at 1: a clamped temperature would be another one than was asked for.
  if (request.temperature !== undefined && request.temperature > 1) return 'temperature'
  // Models since Claude 4.5 refuse the two together.
  if (samplingOf(request.temperature) !== undefined && samplingOf(request.top_p) !== undefined) return 'top_p'
  if (stopsOf(request).some((stop) => stop.trim() === '')) return 'stop'
  if (request.seed !== undefined) return 'seed'
  if (request.presence_penalty) return 'presence_penalty'
  if (request.frequency_penalty) return 'frequency_penalty'
  if (Object.values(request.logit_bias ?? {}).some((bias) => bias !== 0)) return 'logit_bias'
  if (request.user !== undefined && !isUserId(request.user)) return 'user'
  if (!isFormatHonoured(request.response_format)) return 'response_format'
  if (!request.tools && mustCallTool(request.tool_choice)) return 'tool_choice'
  if (!imageUrlsOf(request).every((url) => imageSourceOf(url) !== undefined)) return 'images'
  return filesOf(request).every((part) => documentOf(part) !== undefined) ? undefined : 'files'
}

/** One is the default of both, and newer models refuse these fields altogether: what changes nothing is left out. */
function samplingOf(value: number | undefined): number | undefined {
  return value === 1 ? undefined : value
}

const USER_ID_CHARACTERS_MAX = 256

/** Longer ones, and addresses of people, are refused with a 400. */
function isUserId(user: string): boolean {
  return user.length <= USER_ID_CHARACTERS_MAX && !/^\S+@\S+$/.test(user)
}

interface TextBlock {
  type: 'text'
  text: string
}
interface Turn {
  role: 'user' | 'assistant'
  content: Block[]
}
type ImageSource = { type: 'base64'; media_type: string; data: string } | { type: 'url'; url: string }
type DocumentSource =
  | { type: 'base64'; media_type: 'application/pdf'; data: string }
  | { type: 'text'; media_type: 'text/plain'; data: string }
type Block =
  | TextBlock
  | { type: 'image'; source: ImageSource }
  | { type: 'document'; source: DocumentSource; title?: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown }
  | { type: 'tool_result'; tool_use_id: string; content?: TextBlock[] }

/** Turns alternate: what one side says in several messages is one turn. */
function turnsOf(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    if (message.role === 'system') continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = blocksOf(message)
    const last = turns.at(-1)
    if (content.length === 0) continue
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  }
  for (const turn of turns) turn.content.sort(byResultsFirst)
  trimEndOf(turns.at(-1))
  return turns
}

/** The results of tools must stand before anything else that the user says. */
function byResultsFirst(a: Block, b: Block): number {
  return Number(b.type === 'tool_result') - Number(a.type === 'tool_result')
}

/** An answer to be continued must not end in whitespace. */
function trimEndOf(turn: Turn | undefined): void {
  const last = turn?.role === 'assistant' ? turn.content.at(-1) : undefined
  if (last?.type === 'text') last.text = last.text.trimEnd()
}

function blocksOf(message: Exclude<Message, { role: 'system' }>): Block[] {
  switch (message.role) {
    case 'user':
      return typeof message.content === 'string' ? textsOf(message.content) : message.content.flatMap(userBlocksOf)
    case 'assistant':
      return [
        ...textsOf(message.content ?? ''),
        ...textsOf(message.refusal ?? ''),
        ...(message.tool_calls ?? []).map((call): Block => {
          const { name, arguments: written } = call.function
          return { type: 'tool_use', id: toolIdOf(call.id), name, input: toolInputOf(written) }
        }),
      ]
    case 'tool': {
      const content = textsOf(message.content)
      const result = { type: 'tool_result', tool_use_id: toolIdOf(message.tool_call_id) } as const
      return [content.length === 0 ? result : { ...result, content }]
    }
  }
}

function userBlocksOf(part: ContentPart): Block[] {
  switch (part.type) {
    case 'text':
      return textsOf(part.text)
    case 'image_url':
      return imagesOf(part.image_url.url)
    case 'file':
      return [documentOf(part)].filter((block) => block !== undefined)
  }
}

/** A block of nothing but whitespace is refused, and says nothing. */
function textsOf(content: string | readonly { text: string }[]): TextBlock[] {
  const texts = typeof content === 'string' ? [content] : content.map((part) => part.text)
  return texts.filter((text) => text.trim() !== '').map((text) => ({ type: 'text', text }))
}

function imagesOf(url: string): Block[] {
  const source = imageSourceOf(url)
  return source ? [{ type: 'image', source }] : []
}

const MEDIA_TYPES = new Map([
  ['image/jpeg', 'image/jpeg'],
  // Not a media type, and common.
  ['image/jpg', 'image/jpeg'],
  ['image/png', 'image/png'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp'],
])

function imageSourceOf(url: string): ImageSource | undefined {
  if (/^https?:\/\//i.test(url)) return { type: 'url', url }
  const inline = inlineDataOf(url)
  const media_type = MEDIA_TYPES.get(inline?.mediaType ?? '')
  return inline && media_type !== undefined ? { type: 'base64', media_type, data: inline.base64 } : undefined
}

/** They read PDF, and text as it is. */
function documentOf(part: FilePart): Block | undefined {
  const { file } = part
  const inline = inlineDataOf(file.file_data)
  const title = file.filename === undefined ? {} : { title: file.filename }
  if (inline?.mediaType === 'application/pdf') {
    const source = { type: 'base64', media_type: inline.mediaType, data: inline.base64 } as const
    return { type: 'document', source, ...title }
  }
  const data = plainTextOf(part)
  return data === undefined
    ? undefined
    : { type: 'document', source: { type: 'text', media_type: 'text/plain', data }, ...title }
}

/** Other providers write ids with characters that are refused here. Call and result are changed alike. */
function toolIdOf(id: string): string {
  return id.replaceAll(/[^A-Za-z0-9_-]/g, '_') || '_'
}

function toolOf({ function: { name, description, parameters, strict } }: NonNullable<ChatRequest['tools']>[number]) {
  return {
    name,
    description,
    // The type is mandatory here and may be left out at OpenAI.
    input_schema: { type: 'object', ...(parameters ?? { properties: {} }) },
    strict: strict === true ? true : undefined,
  }
}

function toolChoiceOf(choice: ChatRequest['tool_choice']) {
  if (choice === undefined) return undefined
  if (typeof choice === 'object') return { type: 'tool', name: choice.function.name }
  return { type: choice === 'required' ? 'any' : choice }
}

function mustCallTool(choice: ChatRequest['tool_choice']): boolean {
  return typeof choice === 'object' || choice === 'required'
}

type ResponseFormat = ChatRequest['response_format']

function outputConfigOf(format: ResponseFormat) {
  return format?.type === 'json_schema'
    ? { format: { type: 'json_schema', schema: format.json_schema?.schema } }
    : undefined
}

/** Any JSON at all cannot be asked for, only that of a schema, and only of one whose objects allow nothing unnamed. */
function isFormatHonoured(format: ResponseFormat): boolean {
  if (format === undefined || format.type === 'text') return true
  const schema = format.json_schema?.schema
  return format.type === 'json_schema' && isRecord(schema) && isClosed(schema)
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
