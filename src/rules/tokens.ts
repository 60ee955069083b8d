import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import type { ChatRequest, Message } from './chat-request.ts'

/** Of a request, this many characters are tokenized and the rest is estimated: a megabyte would stall every other stream
 * of the process for 30 ms. */
const EXACT_CHARACTERS_MAX = 64 * 1024
/** Characters per token of the rest. English has about four, Chinese about one and a half; holding a little too much is
 * given back in seconds, holding too little is the operator's loss. */
const CHARACTERS_PER_TOKEN = 2
/** The tokenizer takes time quadratic in the longest run without a break: 3 s for 64 KiB of one letter. */
const SLICE_CHARACTERS = 512

/** What the chat format itself adds: a frame around each message, and the opening of the reply. */
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_REPLY = 3
/** An image's cost depends on its size and the provider; this is what the common formulas give for a large one. */
const TOKENS_PER_IMAGE = 1_100

/** User text that spells a special token is just text. */
const PLAIN_TEXT = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() }

export function countTextTokens(text: string, exactMax: number = EXACT_CHARACTERS_MAX): number {
  if (text.length <= exactMax) return countExactly(text)
  return countExactly(text.slice(0, exactMax)) + Math.ceil((text.length - exactMax) / CHARACTERS_PER_TOKEN)
}

/** Cuts where a word begins, which changes nothing, or, in a run without a break, anywhere, which adds a token at most. */
function countExactly(text: string): number {
  let tokens = 0
  let start = 0
  while (text.length - start > SLICE_CHARACTERS) {
    const space = text.lastIndexOf(' ', start + SLICE_CHARACTERS)
    const end = space > start ? space : start + SLICE_CHARACTERS
    tokens += countTokens(text.slice(start, end), PLAIN_TEXT)
    start = end
  }
  return tokens + countTokens(text.slice(start), PLAIN_TEXT)
}

export function countPromptTokens(request: ChatRequest): number {
  let tokens = TOKENS_PER_REPLY
  let exactLeft = EXACT_CHARACTERS_MAX
  const add = (text: string) => {
    tokens += countTextTokens(text, exactLeft)
    exactLeft = Math.max(0, exactLeft - text.length)
  }
  for (const message of request.messages) {
    tokens += TOKENS_PER_MESSAGE + TOKENS_PER_IMAGE * imagesIn(message)
    for (const text of textsOf(message)) add(text)
  }
  if (request.tools) add(JSON.stringify(request.tools))
  if (request.response_format) add(JSON.stringify(request.response_format))
  return tokens
}

function textsOf(message: Message): string[] {
  const { content } = message
  const texts =
    typeof content === 'string'
      ? [content]
      : (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return message.role === 'assistant' && message.tool_calls ? [...texts, JSON.stringify(message.tool_calls)] : texts
}

function imagesIn({ content }: Message): number {
  return Array.isArray(content) ? content.filter((part) => part.type === 'image_url').length : 0
}
