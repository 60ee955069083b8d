import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import {
  inlineDataOf,
  isInstruction,
  type AssistantMessage,
  type ContentPart,
  type FilePart,
  type InstructionMessage,
  type Message,
} from '../../rules/calls/message.ts'
import { fieldsIn } from '../../rules/record.ts'
import { UpstreamError } from '../provider.ts'
import { isGemini3 } from './gemini-models.ts'
import { signedContentOf } from '../reasoning-signature.ts'
import { createToolInputs, type ToolInputOf } from '../tool-input.ts'
import { resultsInOrder } from './results-in-order.ts'

/** The conversation of a chat request, turn by turn, in Google's words. */

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

/**
 * Newer models refuse a function call in the history without the signature that they gave it. Where a caller does not bring
 * it back, this is Google's documented word for calls whose signature is lost.
 */
const SIGNATURE_LOST = 'skip_thought_signature_validator'

export interface TurnOptions {
  upstreamModel: string
  /** Vertex AI has no ids for function calls and goes by their order. */
  hasCallIds: boolean
}

export function contentsOf({ messages }: ChatRequest, options: TurnOptions): Content[] {
  const contents: Content[] = []
  const functionNames = new Map<string, string>()
  const toolInputOf = createToolInputs()
  for (const message of resultsInOrder(messages)) {
    if (isInstruction(message)) continue
    if (message.role === 'assistant') {
      for (const call of message.tool_calls ?? []) functionNames.set(call.id, call.function.name)
    }
    const parts = partsOf(message, functionNames, toolInputOf, options)
    append(contents, message.role === 'assistant' ? 'model' : 'user', parts)
  }
  if (isGemini3(options.upstreamModel)) {
    // Only the first of the calls that were made together is signed.
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
  toolInputOf: ToolInputOf,
  { hasCallIds }: TurnOptions,
): Part[] {
  switch (message.role) {
    case 'user':
      return typeof message.content === 'string' ? textPartsOf(message.content) : message.content.flatMap(userPartsOf)
    case 'assistant': {
      const signatures = signaturesOf(message)
      const sign = (part: Part, signature: unknown): Part =>
        typeof signature === 'string' ? { ...part, thoughtSignature: signature } : part
      const texts = [...textPartsOf(message.content ?? ''), ...textPartsOf(message.refusal ?? '')]
      const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: written } }): Part => {
        return { functionCall: { ...(hasCallIds && { id }), name, args: toolInputOf(written) } }
      })
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

export function isFileRead({ file }: FilePart): boolean {
  return FILE_TYPES.has(inlineDataOf(file.file_data)?.mediaType ?? '')
}

function textsIn(content: string | readonly { text: string }[]): string[] {
  return typeof content === 'string' ? [content] : content.map((part) => part.text)
}

/** An empty part is refused there, and says nothing. */
export function textPartsOf(content: string | readonly { text: string }[]): Part[] {
  return textsIn(content)
    .filter((text) => text !== '')
    .map((text) => ({ text }))
}

const IMAGE_TYPES: Record<string, string> = {
  png: 'image/png',
  webp: 'image/webp',
  heic: 'image/heic',
  heif: 'image/heif',
  bmp: 'image/bmp',
}
/**
 * Hosts whose content is not a stranger's image: the first has the operator's own files, which a caller must not read (and
 * whose refusal would look like one of the operator's key), the others have films, at a million tokens each.
 */
const HOSTS_REFUSED = /(?:^|\.)(?:generativelanguage\.googleapis\.com|youtube\.com|youtube-nocookie\.com|youtu\.be)$/

/** Undefined for what cannot be sent: no image, not base64, or not at a public https address. */
export function imagePartOf(url: string): Part | undefined {
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
