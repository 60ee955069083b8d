import {
  contentPartsOf,
  filesOf,
  imageUrlsOf,
  isJsonAsked,
  isPrefilled,
  stopsOf,
  type ChatRequest,
} from '../../rules/calls/chat-request.ts'
import {
  inlineDataOf,
  isInstruction,
  type AssistantMessage,
  type ContentPart,
  type FilePart,
  type InstructionMessage,
  type Message,
} from '../../rules/calls/message.ts'
import { fieldsOf, type RouteField } from '../../rules/calls/route-fields.ts'
import { fieldsIn } from '../../rules/record.ts'
import { mapSchema, type Schema } from '../json-schema.ts'
import { UpstreamError } from '../provider.ts'
import {
  geminiTakesPenalties,
  geminiThinkingConfigOf,
  geminiThinkingOf,
  isGemini3,
  mustCallTool,
} from '../reasoning-effort.ts'
import { signedContentOf } from '../reasoning-signature.ts'
import { toolInputOf } from '../tool-input.ts'
import { resultsInOrder } from './results-in-order.ts'

/** How a chat request is said in Google's words. Vertex AI takes the same bodies at other addresses. */

export interface BodyOptions {
  upstreamModel: string
  /** Vertex AI has no ids for function calls and goes by their order. */
  hasCallIds: boolean
  safetySettings?: readonly SafetySetting[] | undefined
}

export interface SafetySetting {
  category: string
  threshold: string
}

interface Content {
  role: 'user' | 'model'
  parts: Part[]
}

interface Part {
  text?: string
  inlineData?: { mimeType: string; data: string }
  fileData?: { mimeType: string; fileUri: string }
  functionCall?: { id?: string; name: string; args: Record<string, unknown> }
  functionResponse?: { id?: string; name: string; response: { result: string } }
  thoughtSignature?: string
}

type ToolCall = NonNullable<Extract<Message, { role: 'assistant' }>['tool_calls']>[number]

/**
 * Newer models refuse a function call in the history without the signature that they gave it. Where a caller does not bring
 * it back, this is Google's documented word for calls whose signature is lost.
 */
const SIGNATURE_LOST = 'skip_thought_signature_validator'

/** Theirs has 32 bits, ours 53. */
const SEED_MAX = 2 ** 31 - 1

export function requestBodyOf(request: ChatRequest, options: BodyOptions): Record<string, unknown> {
  const system = request.messages.filter(isInstruction).flatMap(({ content }) => textPartsOf(content))
  const contents = contentsOf(request.messages, options)
  // There is no answer to a system instruction alone, so then it is said as the user's words.
  const isSystemOnly = contents.length === 0
  return {
    contents: isSystemOnly ? [{ role: 'user', parts: system }] : contents,
    systemInstruction: isSystemOnly || system.length === 0 ? undefined : { parts: system },
    tools: request.tools && [{ functionDeclarations: request.tools.map(declarationOf) }],
    toolConfig: request.tools && toolConfigOf(request),
    generationConfig: generationConfigOf(request, options),
    safetySettings: options.safetySettings,
  }
}

/** This wire format has no place for them. */
const WITHOUT_PLACE: ReadonlySet<RouteField> = new Set([
  'logit_bias',
  'parallel_tool_calls',
  'verbosity',
  'logprobs',
  'top_logprobs',
  'prediction',
])

export function cannotHonour(request: ChatRequest, upstreamModel: string): RouteField | undefined {
  const used = fieldsOf(request)
  const takesPenalties = geminiTakesPenalties(upstreamModel)
  const refused = used.find((field) => WITHOUT_PLACE.has(field) || (field.endsWith('_penalty') && !takesPenalties))
  if (refused) return refused
  if (request.reasoning_effort && !geminiThinkingOf(upstreamModel, request.reasoning_effort)) return 'reasoning_effort'
  // Older models write either JSON or calls of functions.
  if (request.tools && isJsonAsked(request) && !isGemini3(upstreamModel)) return 'response_format'
  if (isPrefilled(request) && isGemini3(upstreamModel)) return 'prefill'
  if (Math.abs(request.seed ?? 0) > SEED_MAX) return 'seed'
  if (!request.tools && mustCallTool(request.tool_choice)) return 'tool_choice'
  if (imageUrlsOf(request).some((url) => imagePartOf(url) === undefined)) return 'images'
  return filesOf(request).every(isFileRead) ? undefined : 'files'
}

function contentsOf(messages: readonly Message[], options: BodyOptions): Content[] {
  const contents: Content[] = []
  const functionNames = new Map<string, string>()
  for (const message of resultsInOrder(messages)) {
    if (isInstruction(message)) continue
    if (message.role === 'assistant') {
      for (const call of message.tool_calls ?? []) functionNames.set(call.id, call.function.name)
    }
    append(contents, message.role === 'assistant' ? 'model' : 'user', partsOf(message, functionNames, options))
  }
  if (isGemini3(options.upstreamModel)) {
    // Of calls that were made together only the first is signed.
    for (const { parts } of contents) {
      const first = parts.find((part) => part.functionCall)
      if (first) first.thoughtSignature ??= SIGNATURE_LOST
    }
  }
  return contents
}

/** Turns of the same speaker become one, but results of functions stand alone: their number must be that of the calls. */
function append(contents: Content[], role: Content['role'], parts: Part[]): void {
  if (parts.length === 0) return
  const last = contents.at(-1)
  if (last?.role === role && isResult(last.parts[0]) === isResult(parts[0])) last.parts.push(...parts)
  else contents.push({ role, parts })
}

function isResult(part: Part | undefined): boolean {
  return part?.functionResponse !== undefined
}

function partsOf(
  message: Exclude<Message, InstructionMessage>,
  functionNames: ReadonlyMap<string, string>,
  { hasCallIds }: BodyOptions,
): Part[] {
  switch (message.role) {
    case 'user':
      return typeof message.content === 'string' ? textPartsOf(message.content) : message.content.flatMap(userPartsOf)
    case 'assistant': {
      const signatures = signaturesOf(message)
      const sign = (part: Part, signature: unknown): Part =>
        typeof signature === 'string' ? { ...part, thoughtSignature: signature } : part
      const texts = [...textPartsOf(message.content ?? ''), ...textPartsOf(message.refusal ?? '')]
      const calls = (message.tool_calls ?? []).map((call) => callPartOf(call, hasCallIds))
      return [
        ...texts.map((part, n) => (n === texts.length - 1 ? sign(part, signatures.text) : part)),
        ...calls.map((part, n) => sign(part, signatures[n])),
      ]
    }
    case 'tool': {
      const id = message.tool_call_id
      // Wrapped and not parsed, because parsing would round its large numbers.
      const response = { result: textsIn(message.content).join('') }
      const name = functionNames.get(id) ?? id
      return [{ functionResponse: { ...(hasCallIds && { id }), name, response } }]
    }
  }
}

/** Begins the `reasoning_signature` of answers in this format. */
export const SIGNED_BY = 'gemini'

/** By the number of the call, and `text` for that of the text. */
function signaturesOf(message: AssistantMessage): Record<string, unknown> {
  return fieldsIn(signedContentOf(SIGNED_BY, message))
}

function userPartsOf(part: ContentPart): Part[] {
  switch (part.type) {
    case 'text':
      return textPartsOf(part.text)
    case 'image_url':
      return [imagePartOrRefusal(part.image_url.url)]
    case 'file': {
      const { mediaType, base64 } = inlineDataOf(part.file.file_data) ?? { mediaType: '', base64: '' }
      return [{ inlineData: { mimeType: mediaType, data: base64 } }]
    }
    case 'input_audio': {
      const { format, data } = part.input_audio
      return [{ inlineData: { mimeType: `audio/${format}`, data } }]
    }
  }
}

const FILE_TYPES = new Set(['application/pdf', 'text/plain'])

function isFileRead({ file }: FilePart): boolean {
  return FILE_TYPES.has(inlineDataOf(file.file_data)?.mediaType ?? '')
}

function textsIn(content: string | readonly { text: string }[]): string[] {
  return typeof content === 'string' ? [content] : content.map((part) => part.text)
}

/** An empty part is refused there, and says nothing. */
function textPartsOf(content: string | readonly { text: string }[]): Part[] {
  return textsIn(content)
    .filter((text) => text !== '')
    .map((text) => ({ text }))
}

function callPartOf({ id, function: { name, arguments: text } }: ToolCall, hasCallIds: boolean): Part {
  return { functionCall: { ...(hasCallIds && { id }), name, args: toolInputOf(text) } }
}

const IMAGE_TYPES: Record<string, string> = {
  png: 'image/png',
  webp: 'image/webp',
  heic: 'image/heic',
  heif: 'image/heif',
  bmp: 'image/bmp',
}
/**
 * What these hosts serve is not a stranger's image: the first is the operator's own files, which a caller must not read
 * (and whose refusal would look like one of the operator's key), the others are films, at a million tokens each.
 */
const HOSTS_REFUSED = /(?:^|\.)(?:generativelanguage\.googleapis\.com|youtube\.com|youtube-nocookie\.com|youtu\.be)$/

/** Undefined for what cannot be sent: no image, not base64, or not at a public https address. */
function imagePartOf(url: string): Part | undefined {
  const inline = inlineDataOf(url)
  if (inline?.mediaType.startsWith('image/')) return { inlineData: { mimeType: inline.mediaType, data: inline.base64 } }
  const address = URL.parse(url)
  if (address?.protocol !== 'https:' || HOSTS_REFUSED.test(address.hostname)) return undefined
  const extension = /\.(\w+)$/.exec(address.pathname)?.[1]?.toLowerCase() ?? ''
  // Always named an image, so that it is not read as a document or a film of any length.
  return { fileData: { mimeType: IMAGE_TYPES[extension] ?? 'image/jpeg', fileUri: address.href } }
}

function imagePartOrRefusal(url: string): Part {
  const part = imagePartOf(url)
  if (!part) throw new UpstreamError('rejected')
  return part
}

type Tool = NonNullable<ChatRequest['tools']>[number]

function declarationOf({ function: { name, description, parameters } }: Tool): Record<string, unknown> {
  return { name, description, parametersJsonSchema: parameters }
}

function toolConfigOf({ tools, tool_choice: choice }: ChatRequest): Record<string, unknown> {
  if (typeof choice === 'object') {
    return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [choice.function.name] } }
  }
  if (choice === 'none') return { functionCallingConfig: { mode: 'NONE' } }
  if (choice === 'required') return { functionCallingConfig: { mode: 'ANY' } }
  // ANY keeps to the schemas by itself; VALIDATED is AUTO that does.
  const isStrict = tools?.some((tool) => tool.function.strict === true) ?? false
  return { functionCallingConfig: { mode: isStrict ? 'VALIDATED' : 'AUTO' } }
}

function generationConfigOf(request: ChatRequest, { upstreamModel }: BodyOptions): Record<string, unknown> {
  const { reasoning_effort: effort } = request
  const stops = stopsOf(request)
  const format = request.response_format
  const schema = format?.type === 'json_schema' ? format.json_schema?.schema : undefined
  return {
    temperature: request.temperature,
    topP: request.top_p,
    maxOutputTokens: request.max_tokens,
    stopSequences: stops.length === 0 ? undefined : stops,
    seed: request.seed,
    // Zero asks for nothing, and newer models refuse the field.
    presencePenalty: request.presence_penalty || undefined,
    frequencyPenalty: request.frequency_penalty || undefined,
    responseMimeType: isJsonAsked(request) ? 'application/json' : undefined,
    responseJsonSchema: mapSchema(schema, withoutConst),
    thinkingConfig: effort && geminiThinkingConfigOf(upstreamModel, effort),
    mediaResolution: mediaResolutionOf(request),
  }
}

/** One for all images there: the finest that any of them asks for. */
function mediaResolutionOf(request: ChatRequest): string | undefined {
  const images = contentPartsOf(request).flatMap((part) => (part.type === 'image_url' ? [part.image_url] : []))
  if (images.some(({ detail }) => detail === 'high')) return 'MEDIA_RESOLUTION_HIGH'
  if (images.length > 0 && images.every(({ detail }) => detail === 'low')) return 'MEDIA_RESOLUTION_LOW'
  return undefined
}

/** They know `enum` but not `const`, which is an `enum` of one. */
function withoutConst({ const: only, ...rest }: Schema): Schema {
  return only === undefined ? rest : { ...rest, enum: [only] }
}
