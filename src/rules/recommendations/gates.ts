import type { ChatRequest } from '../calls/chat-request.ts'
import type { Message } from '../calls/message.ts'
import type { FinishReason } from '../calls/chunk.ts'
import { fieldsIn } from '../record.ts'
import type { MonetizationSettings, NoRecommendation, Turn } from './matching.ts'

/**
 * When a reply stays free of recommendations, as far as its request and its shape can tell. Whatever is in doubt ends
 * here: a reply without a recommendation is always right, one with it in the wrong place never is.
 */

/** Less than this is asked for when somebody wants a word, a number or a line. */
const MAX_TOKENS_MIN = 64
const ANSWER_CHARACTERS_MIN = 80
/** More cannot be judged in time, and what is not judged gets no recommendation. */
export const CONVERSATION_CHARACTERS_MAX = 24_000

export interface Asked {
  request: ChatRequest
  /** The body as it came: it may ask for things that we do not pass on. */
  body: unknown
  /** The header x-monetization. */
  header: string | undefined
  settings: MonetizationSettings
}

/** Why this request can have no recommendation, or nothing. */
export function requestGate({ request, body, header, settings }: Asked): NoRecommendation | undefined {
  if (isOptedOut(body, header)) return 'opted_out'
  if (settings.audience !== 'general') return 'audience'
  if (!isPlainChat(request)) return 'format'
  const turns = turnsOf(request.messages)
  if (turns.at(-1)?.role !== 'user') return 'format'
  // Before anything reads the words: a body has room for eight million of them, and the model is not asked yet.
  if (turns.reduce((sum, { text }) => sum + text.length, 0) > CONVERSATION_CHARACTERS_MAX) return 'too_long'
  if (turns.some(({ role, text }) => role === 'user' && WANTS_NO_ADS.test(text))) return 'opted_out'
  if (turns.some(({ text }) => mentions(text, settings.excludedTopics))) return 'excluded_topic'
  return undefined
}

const WANTS_NO_ADS =
  /\b(?:no|without|stop|don'?t|do not|never|hate|quit|enough)\b[^.!?\n]{0,40}\b(?:ads?|adverts?|advertis\w+|sponsored|promotions?|product recommendations?)\b/i

function isOptedOut(body: unknown, header: string | undefined): boolean {
  if (header !== undefined && header.trim().toLowerCase() !== 'on') return true
  const { metadata } = fieldsIn(body)
  return fieldsIn(metadata).monetization === 'off'
}

function isPlainChat(request: ChatRequest): boolean {
  if (request.logprobs === true || request.tools !== undefined || request.tool_choice !== undefined) return false
  if (request.messages.some((message) => message.role === 'tool' || ('tool_calls' in message && message.tool_calls)))
    return false
  if (request.messages.some(({ content }) => Array.isArray(content) && content.some(({ type }) => type !== 'text')))
    return false
  if (request.response_format !== undefined && request.response_format.type !== 'text') return false
  return request.max_tokens === undefined || request.max_tokens >= MAX_TOKENS_MIN
}

/** Returns what user and assistant said, oldest first. The system prompt is the publisher's own and no topic. */
export function turnsOf(messages: readonly Message[]): Turn[] {
  return messages.flatMap(({ role, content }) => {
    if (role !== 'user' && role !== 'assistant') return []
    const text = typeof content === 'string' ? content : textOfParts(content ?? [])
    return text.trim() === '' ? [] : [{ role, text }]
  })
}

function textOfParts(parts: readonly { type: string }[]): string {
  return parts.flatMap((part) => ('text' in part ? [String(part.text)] : [])).join('\n')
}

/** Whole words, in any case: an excluded "war" does not exclude "warm". */
export function mentions(text: string, topics: readonly string[]): boolean {
  if (topics.length === 0) return false
  const said = foldCase(text)
  return topics.map(foldCase).some((sought) => {
    if (sought === '') return false
    for (let at = said.indexOf(sought); at !== -1; at = said.indexOf(sought, at + 1)) {
      const end = at + sought.length
      if (
        !/[\p{L}\p{N}]$/u.test(said.slice(Math.max(0, at - 2), at)) &&
        !/^[\p{L}\p{N}]/u.test(said.slice(end, end + 2))
      )
        return true
    }
    return false
  })
}

function foldCase(text: string): string {
  return text.toLowerCase().replaceAll(/\s+/g, ' ').trim()
}

export interface Answer {
  text: string | null
  finishReason: FinishReason
  hasRefusal: boolean
  hasToolCalls: boolean
}

/** Why this answer can have nothing after it, or nothing. */
export function answerGate({ text, finishReason, hasRefusal, hasToolCalls }: Answer): 'answer_shape' | undefined {
  if (finishReason !== 'stop' || text === null || hasRefusal || hasToolCalls) return 'answer_shape'
  const answer = text.trim()
  const { prose, characters, isOpen } = outsideOfCode(answer, NESTED_FENCE)
  const isFit =
    characters >= ANSWER_CHARACTERS_MIN &&
    !isOpen &&
    // How clients read fences inside of lists and quotations differs, so either reading counts.
    !outsideOfCode(answer, FENCE).isOpen &&
    !looksLikeData(answer) &&
    !REFUSAL.test(answer) &&
    !hasOpenEnd(answer, prose.replaceAll(/`[^`\n]*`/g, ''))
  return isFit ? undefined : 'answer_shape'
}

function looksLikeData(answer: string): boolean {
  if (/^(?:[[{]|<\?xml|<!doctype|<[a-z]+[ >/])/i.test(answer)) return true
  const lines = answer.split('\n')
  // Rows of values: somebody's program reads them.
  return lines.length > 2 && lines.every((line) => /^(?:[^\s,;|]+[,;\t])+[^\s,;|]*$/.test(line.trim()))
}

/** Models refuse in their first words. */
const REFUSAL =
  /^(?:i(?:['’]m| am) (?:really |very |so )?(?:sorry|unable|not able)|(?:i )?(?:can(?:['’]|no)t|cannot|can not|won['’]t) (?:help|assist|do|provide|comply)|sorry,|as an ai\b|unfortunately,? i (?:can|am))/i

/** Where a fence of code can begin or end: by the letter of Markdown, and inside of lists and quotations. */
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/
const NESTED_FENCE = /^(?:[\s>]|[-*+]\s|\d{1,9}[.)]\s)*(`{3,}(?=[^`]*$)|~{3,})/

/** Returns the text outside of fenced code, and whether the last fence is still open. One pass: answers can be long and odd. */
function outsideOfCode(answer: string, pattern: RegExp): { prose: string; characters: number; isOpen: boolean } {
  let fence: string | undefined
  let characters = 0
  const prose: string[] = []
  for (const line of answer.split(/\r\n?|\n/)) {
    const [start, mark] = pattern.exec(line) ?? []
    if (start === undefined || mark === undefined) {
      if (fence !== undefined) continue
      characters += line.trim().length
      prose.push(line)
    } else if (fence === undefined) fence = mark
    else if (mark.startsWith(fence) && line.trimEnd() === start) fence = undefined
  }
  return { prose: prose.join('\n'), characters, isOpen: fence !== undefined }
}

/**
 * Something that is still open would swallow, hide or change whatever follows: a comment, a formula, a table's row, a
 * definition, an element.
 */
function hasOpenEnd(answer: string, prose: string): boolean {
  if (prose.lastIndexOf('<!--') > prose.lastIndexOf('-->') || /<(?:\?|!\[|![a-z])/i.test(prose)) return true
  if (count(prose, /\$\$/g) % 2 === 1) return true
  const lastLine = answer.slice(answer.lastIndexOf('\n') + 1).trim()
  if (/^\[[^\]]+\]:\s*\S*$/.test(lastLine)) return true
  if (lastLine.startsWith('|') && !lastLine.endsWith('|')) return true
  return hasOpenElement(prose)
}

/** Elements that have no end. */
const VOID = new Set([
  'br',
  'hr',
  'img',
  'wbr',
  'input',
  'col',
  'link',
  'meta',
  'source',
  'area',
  'base',
  'embed',
  'track',
])

function hasOpenElement(prose: string): boolean {
  const open = new Map<string, number>()
  for (const [, slash, name = ''] of prose.matchAll(/<(\/?)([a-z][a-z0-9-]*)(?=[\s/>]|$)/gi)) {
    const element = name.toLowerCase()
    if (!VOID.has(element)) open.set(element, (open.get(element) ?? 0) + (slash === '' ? 1 : -1))
  }
  return [...open.values()].some((unclosed) => unclosed > 0)
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}
