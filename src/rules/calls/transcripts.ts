import { fieldsIn } from '../record.ts'
import { visibleText } from '../visible-text.ts'
import { inlineMediaOf } from '../inline-media.ts'

/** Stored messages as people read them. What was stored is whatever a caller or a model has said, so nothing is assumed. */

export interface ReadableMessage {
  parts: ReadablePart[]
  refusal: string | null
  toolCalls: { id: string; name: string; arguments: string }[]
  /** For a tool's answer: the call that it answers. */
  toolCallId: string | null
}

export type ReadablePart =
  | { kind: 'text'; text: string }
  /** Never the image itself: a page that loads it would tell its host who reads. */
  | { kind: 'image'; address: string }
  | { kind: 'other'; text: string }

const ADDRESS_LENGTH_MAX = 300

export function readableOf(content: unknown): ReadableMessage {
  const { content: said, refusal, tool_calls: calls, tool_call_id: toolCallId } = fieldsIn(content)
  return {
    parts: partsOf(said),
    refusal: textOf(refusal),
    toolCalls: listOf(calls).map((call) => {
      const { id, function: called } = fieldsIn(call)
      const { name, arguments: given } = fieldsIn(called)
      return { id: textOf(id) ?? '', name: textOf(name) ?? '', arguments: textOf(given) ?? '' }
    }),
    toolCallId: textOf(toolCallId),
  }
}

function partsOf(said: unknown): ReadablePart[] {
  if (typeof said === 'string') return said === '' ? [] : [{ kind: 'text', text: said }]
  return listOf(said).map((part): ReadablePart => {
    const { type, text, image_url: image, file, input_audio: audio } = fieldsIn(part)
    if (type === 'text') return { kind: 'text', text: textOf(text) ?? '' }
    if (type === 'image_url') return { kind: 'image', address: addressOf(textOf(fieldsIn(image).url) ?? '') }
    const data = fieldsIn(file).file_data ?? fieldsIn(audio).data
    return { kind: 'other', text: otherOf(textOf(type) ?? 'unknown', data) }
  })
}

function addressOf(url: string): string {
  const inline = inlineMediaOf(url)
  if (inline) return `data:${wordsOf(inline)}`
  return url.length > ADDRESS_LENGTH_MAX ? `${url.slice(0, ADDRESS_LENGTH_MAX)}…` : url
}

/** Describes a file or a recording by its type and, if it came with the request, its size. */
function otherOf(type: string, data: unknown): string {
  const inline = inlineMediaOf(textOf(data) ?? '')
  return inline ? `${type}: ${wordsOf(inline)}` : type
}

function wordsOf({ mediaType, bytes }: { mediaType: string; bytes: number }): string {
  return `${mediaType} (${Math.ceil(bytes / 1_024)} KB)`
}

const TITLE_LENGTH_MAX = 120

/** The first line with something in it, without what would turn text around or hide it. */
export function titleOf(opening: string | null): string | null {
  const plain = (opening ?? '').replaceAll(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, '')
  const line = plain
    .split(/[\r\n\u2028\u2029]+/)
    .map((each) => each.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim())
    .find((each) => each !== '')
  if (line === undefined) return null
  const letters = Array.from(line)
  return letters.length > TITLE_LENGTH_MAX
    ? `${letters
        .slice(0, TITLE_LENGTH_MAX - 1)
        .join('')
        .trimEnd()}…`
    : line
}

export type TextState = 'kept' | 'not_kept' | 'expired'

export function textStateOf(message: { content: unknown; expiresAt: Date | null }): TextState {
  if (message.content !== null) return 'kept'
  return message.expiresAt === null ? 'not_kept' : 'expired'
}

const ROLES: Record<string, string> = { system: 'System', user: 'User', assistant: 'Assistant', tool: 'Tool' }

/** One message of a transcript in Markdown. */
export function markdownOf(message: {
  role: string
  content: unknown
  expiresAt: Date | null
  createdAt: Date
}): string {
  const head = `## ${ROLES[message.role] ?? message.role}\n\n_${message.createdAt.toISOString()}_\n\n`
  const state = textStateOf(message)
  if (state === 'not_kept') return `${head}_The text was not kept._\n\n`
  if (state === 'expired') return `${head}_The text was deleted when its retention period ended._\n\n`
  const { parts, refusal, toolCalls } = readableOf(message.content)
  const said = parts.map((part) =>
    part.kind === 'text'
      ? part.text
      : part.kind === 'image'
        ? `\`[image ${part.address.replaceAll('`', '')}]\``
        : `\`[${part.text}]\``,
  )
  const called = toolCalls.map(
    ({ name, arguments: given }) => `Calls \`${name.replaceAll('`', '')}\`:\n\n${fenceJson(given)}`,
  )
  const lines = [...said, ...(refusal === null ? [] : [refusal]), ...called]
  return `${head}${visibleText(lines.join('\n\n'))}\n\n`
}

/** A fence longer than any in the text, so that the text cannot end it. */
function fenceJson(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}json\n${text}\n${fence}`
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
