import { z } from 'zod'
import { MESSAGES_MAX } from '../limits.ts'
import { sentenceOf } from './request-errors.ts'

/** The messages of a chat request: what may stand in them, and how to get at it. */

/** NUL cannot be stored and a lone surrogate cannot be sent on as UTF-8: both are refused instead of silently replaced. */
export const text = z
  .string()
  .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be well-formed text without NUL characters')

const DATA_URL = /^data:[\w.+-]+\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]*)*;base64,/i
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Anthropic's mark for where a prompt may be cached, which other formats have no need of. */
const cacheControl = z.object({
  type: z.literal('ephemeral'),
  // Writing to a cache of an hour costs twice the prompt, and there is one price for writing.
  ttl: z.literal('5m', 'must be 5m: one-hour caching is not available').optional(),
})
export type CacheControl = z.output<typeof cacheControl>

const mark = { cache_control: cacheControl.nullish() }
const textPart = z.object({ type: z.literal('text'), text, ...mark })
const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: text, detail: z.enum(['auto', 'low', 'high']).optional() }),
  ...mark,
})
/** A document that comes with the request. What lies at a provider under a `file_id` is not the caller's. */
const filePart = z.object({
  type: z.literal('file'),
  file: z.object({
    file_data: text.refine((data) => DATA_URL.test(data.slice(0, 256)), 'must be a data: URL in base64'),
    // An empty name is none, and some refuse it.
    filename: text
      .max(255)
      .transform((name) => name || undefined)
      .optional(),
  }),
  ...mark,
})
const audioPart = z.object({
  type: z.literal('input_audio'),
  input_audio: z.object({
    data: z.string().refine((data) => BASE64.test(data.slice(0, 256)), 'must be base64'),
    format: z.enum(['wav', 'mp3']),
  }),
  ...mark,
})
const contentPart = z.discriminatedUnion('type', [textPart, imagePart, filePart, audioPart], {
  error: (issue) => (issue.code === 'invalid_union' ? 'must be text, image_url, file or input_audio' : undefined),
})
const parts = z.array(contentPart).min(1).max(1_000)
const textParts = z.array(textPart).min(1).max(1_000)

/** The arrays that are accepted in place of a text: a description of the API cannot see into the check. */
const arraysInstead = new WeakMap<z.core.$ZodType, z.ZodType>()

export function arrayInsteadOf(schema: z.core.$ZodType): z.ZodType | undefined {
  return arraysInstead.get(schema)
}

/** Not a union, because a union cannot say which part of an array was wrong. */
function stringOr<T extends z.ZodType>(schema: T) {
  const checked = z.any().transform((value: unknown, context): string | z.output<T> => {
    const result = (Array.isArray(value) ? schema : text).safeParse(value, { reportInput: true })
    if (result.success) return result.data
    for (const issue of result.error.issues) {
      const isWrongKind = issue.code === 'invalid_type' && issue.path.length === 0 && issue.input !== undefined
      context.addIssue({
        code: 'custom',
        message: isWrongKind ? 'must be a string or an array of parts' : sentenceOf(issue),
        path: issue.path,
      })
    }
    return z.NEVER
  })
  arraysInstead.set(checked, schema)
  return checked
}
export const textContent = stringOr(textParts)

const toolCall = z.object({
  id: text,
  type: z.literal('function'),
  function: z.object({ name: text, arguments: text }),
})

const REASONING_SIGNATURE_CHARACTERS_MAX = 262_144

const chatMessage = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.literal('system'), content: textContent }),
    z.object({ role: z.literal('developer'), content: textContent }),
    z.object({ role: z.literal('user'), content: stringOr(parts) }),
    z
      .object({
        role: z.literal('assistant'),
        content: textContent.nullish(),
        refusal: text.nullish(),
        tool_calls: z.array(toolCall).min(1).max(128).nullish(),
        /** The model's thoughts before it answered. */
        reasoning_content: text.nullish(),
        /** Ours, and nobody else's to read: what its provider needs to believe that the thoughts are its own. */
        reasoning_signature: text.max(REASONING_SIGNATURE_CHARACTERS_MAX).nullish(),
      })
      .refine((m) => m.content != null || m.refusal != null || m.tool_calls != null, {
        path: ['content'],
        message: 'must be a string',
      }),
    z.object({ role: z.literal('tool'), content: textContent, tool_call_id: text }),
  ],
  {
    error: (issue) =>
      issue.code === 'invalid_union' ? 'must be one of system, developer, user, assistant, tool' : undefined,
  },
)
export const chatMessages = z.array(chatMessage).min(1, 'must not be empty').max(MESSAGES_MAX)

export type Message = z.output<typeof chatMessage>
export type AssistantMessage = Extract<Message, { role: 'assistant' }>
export type InstructionMessage = Extract<Message, { role: 'system' | 'developer' }>
export type ContentPart = z.output<typeof contentPart>
export type TextPart = z.output<typeof textPart>
export type FilePart = z.output<typeof filePart>

/** Returns whether the app, not its user, says this to the model: `developer` is the newer name of `system`. */
export function isInstruction(message: Message): message is InstructionMessage {
  return message.role === 'system' || message.role === 'developer'
}

/** The user says nothing. */
export function isBlank({ role, content }: Message): boolean {
  if (role !== 'user') return false
  if (typeof content === 'string') return content.trim() === ''
  return content.every((part) => part.type === 'text' && part.text.trim() === '')
}

/**
 * Thoughts are sent back only within the tool calls that they led to: no provider wants those of earlier turns, and one
 * refuses them.
 */
export function withoutOldReasoning(messages: readonly Message[]): Message[] {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user')
  return messages.map((message, at) => (at < lastUser ? withoutReasoning(message) : message))
}

function withoutReasoning(message: Message): Message {
  const hasAny = 'reasoning_content' in message || 'reasoning_signature' in message
  if (message.role !== 'assistant' || !hasAny) return message
  const { reasoning_content: _, reasoning_signature: __, ...rest } = message
  return rest
}

/** Without what only providers read: the same words are the same message, wherever a cache may begin. */
export function asSaid(message: Message): Message {
  return withoutReasoning(withoutMarks(message))
}

export function withoutMarks(message: Message): Message {
  if (!Array.isArray(message.content)) return message
  const content = message.content.map((part) => (part.cache_control ? { ...part, cache_control: undefined } : part))
  return { ...message, content } as Message
}

export function partsOf({ content }: Message): readonly ContentPart[] {
  return Array.isArray(content) ? content : []
}

/** A file or image that comes with the request: its type in lower case, and its bytes in base64. */
export interface InlineData {
  mediaType: string
  base64: string
}

export function inlineDataOf(url: string): InlineData | undefined {
  const [prefix] = DATA_URL.exec(url.slice(0, 256)) ?? []
  if (prefix === undefined) return undefined
  const mediaType = prefix.slice('data:'.length, prefix.indexOf(';')).toLowerCase()
  return { mediaType, base64: url.slice(prefix.length) }
}

/** The text of a file that is nothing else. */
export function plainTextOf({ file }: FilePart): string | undefined {
  const inline = inlineDataOf(file.file_data)
  return inline?.mediaType === 'text/plain' ? Buffer.from(inline.base64, 'base64').toString() : undefined
}
