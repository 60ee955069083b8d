import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import {
  inlineDataOf,
  isInstruction,
  plainTextOf,
  type AssistantMessage,
  type CacheControl,
  type ContentPart,
  type FilePart,
  type InstructionMessage,
  type Message,
  type TextPart,
} from '../../rules/calls/message.ts'
import { thoughtsOf } from '../reasoning-signature.ts'
import { toolIdOf } from '../tool-ids.ts'
import { createToolInputs, type ToolInputOf } from '../tool-input.ts'

/** The conversation of a chat request, turn by turn, in the words of Anthropic's Messages. */

/** Begins the `reasoning_signature` of answers in this format. */
export const SIGNED_BY = 'anthropic'

interface Mark {
  cache_control?: CacheControl
}
export type TextBlock = { type: 'text'; text: string } & Mark
export interface Turn {
  role: 'user' | 'assistant'
  content: Block[]
}
type ImageSource = { type: 'base64'; media_type: string; data: string } | { type: 'url'; url: string }
type DocumentSource =
  | { type: 'base64'; media_type: 'application/pdf'; data: string }
  | { type: 'text'; media_type: 'text/plain'; data: string }
type Document = { type: 'document'; source: DocumentSource; title?: string }
type ThinkingBlock =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
type Block =
  | TextBlock
  | ThinkingBlock
  | ({ type: 'image'; source: ImageSource } & Mark)
  | (Document & Mark)
  | { type: 'tool_use'; id: string; name: string; input: unknown }
  | { type: 'tool_result'; tool_use_id: string; content?: TextBlock[] }

export function systemOf({ messages }: ChatRequest): TextBlock[] {
  return messages.filter(isInstruction).flatMap(({ content }) => textsOf(content))
}

/** Turns alternate: what one side says in several messages is one turn. */
export function turnsOf(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = []
  const toolInputOf = createToolInputs()
  for (const message of messages) {
    if (isInstruction(message)) continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = blocksOf(message, toolInputOf)
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

function blocksOf(message: Exclude<Message, InstructionMessage>, toolInputOf: ToolInputOf): Block[] {
  switch (message.role) {
    case 'user':
      return typeof message.content === 'string' ? textsOf(message.content) : message.content.flatMap(userBlocksOf)
    case 'assistant':
      return [
        ...thinkingOf(message),
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

/** Without its signature a thought is refused. */
function thinkingOf(message: AssistantMessage): ThinkingBlock[] {
  return thoughtsOf(SIGNED_BY, message).map((thought) =>
    'redacted' in thought
      ? { type: 'redacted_thinking', data: thought.redacted }
      : { type: 'thinking', thinking: thought.text, signature: thought.signature },
  )
}

function userBlocksOf(part: ContentPart): Block[] {
  const mark = markOf(part)
  switch (part.type) {
    case 'text':
      return textsOf([part])
    case 'image_url': {
      const source = imageSourceOf(part.image_url.url)
      return source ? [{ type: 'image', source, ...mark }] : []
    }
    case 'file': {
      const document = documentOf(part)
      return document ? [{ ...document, ...mark }] : []
    }
    // Requests with sound are not sent here.
    case 'input_audio':
      return []
  }
}

function markOf({ cache_control }: { cache_control?: CacheControl | null | undefined }): Mark {
  return cache_control ? { cache_control } : {}
}

/** A block of nothing but whitespace is refused, and says nothing. */
function textsOf(content: string | readonly TextPart[]): TextBlock[] {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as TextPart] : content
  return parts
    .filter(({ text }) => text.trim() !== '')
    .map((part) => Object.assign({ type: 'text', text: part.text } as const, markOf(part)))
}

const MEDIA_TYPES = new Map([
  ['image/jpeg', 'image/jpeg'],
  // Not a media type, and common.
  ['image/jpg', 'image/jpeg'],
  ['image/png', 'image/png'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp'],
])

export function imageSourceOf(url: string): ImageSource | undefined {
  if (/^https?:\/\//i.test(url)) return { type: 'url', url }
  const inline = inlineDataOf(url)
  const media_type = MEDIA_TYPES.get(inline?.mediaType ?? '')
  return inline && media_type !== undefined ? { type: 'base64', media_type, data: inline.base64 } : undefined
}

export function documentOf(part: FilePart): Document | undefined {
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
