import type { ChatRequest } from './chat-request.ts'
import type { Message } from './message.ts'
import { keyedDigest } from '../keyed-digest.ts'

/** The beginning that the prompts of a conversation share: this many messages, known by a keyed digest. */
export interface Opening {
  messages: number
  digest: Buffer
}

type PromptOf = Pick<ChatRequest, 'messages' | 'tools'>

/** All of this prompt: those that go on from it begin with it. */
export function openingOf(request: PromptOf, digestKey: Uint8Array): Opening {
  const { length } = request.messages
  return { messages: length, digest: outlineDigestOf(request, length, digestKey) }
}

export function beginsWith(request: PromptOf, { messages, digest }: Opening, digestKey: Uint8Array): boolean {
  return messages <= request.messages.length && outlineDigestOf(request, messages, digestKey).equals(digest)
}

/** Enough to tell a text from another one of the same length. */
const END_CHARACTERS = 32

/**
 * Digests only the role, the length and the ends of each message: a prompt may be megabytes long, and hashing all of it
 * before each call would delay its answer. A caller that changes a few letters amid a long message is taken to go on, and
 * writes one prompt to a cache in vain.
 */
function outlineDigestOf({ messages, tools = [] }: PromptOf, count: number, digestKey: Uint8Array): Buffer {
  const hmac = keyedDigest(digestKey)
  // Tools stand before everything else in what providers cache.
  for (const { function: tool } of tools) hmac.update(`${tool.name} ${tool.description?.length ?? 0}\n`)
  for (const message of messages.slice(0, count)) hmac.update(outlineOf(message))
  return hmac.digest().subarray(0, 16)
}

function outlineOf(message: Message): string {
  const { role, content } = message
  const parts = typeof content === 'string' ? [content] : (content ?? []).map(textIn)
  const calls = 'tool_calls' in message ? (message.tool_calls ?? []) : []
  const texts = [...parts, ...calls.map((call) => call.function.arguments)]
  return `${role}${texts.map((text) => ` ${text.length} ${endsOf(text)}`).join('')}\n`
}

type Part = Exclude<NonNullable<Message['content']>, string>[number]

function textIn(part: Part): string {
  if (part.type === 'text') return part.text
  if (part.type === 'input_audio') return part.input_audio.data
  return part.type === 'image_url' ? part.image_url.url : part.file.file_data
}

function endsOf(text: string): string {
  return text.length <= 2 * END_CHARACTERS ? text : text.slice(0, END_CHARACTERS) + text.slice(-END_CHARACTERS)
}
