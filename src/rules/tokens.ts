import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import type { ChatRequest, Message } from './chat-request.ts'

/** Longer prompts are counted by samples: tokenizing a megabyte would stall every other stream of the process. */
const EXACT_CHARACTERS_MAX = 16 * 1024
/** The tokenizer takes time quadratic in the longest run without a break: 3 s for 64 KiB of one letter. */
const SLICE_CHARACTERS = 512
const SAMPLES = EXACT_CHARACTERS_MAX / SLICE_CHARACTERS
/** Holding a little too much is given back in seconds; holding too little is the operator's loss. */
const SAMPLING_MARGIN = 1.05

/** What the chat format itself adds: a frame around each message, and the opening of the reply. */
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_REPLY = 3
/** An image's cost depends on its size and the provider; this is what the common formulas give for a large one. */
const TOKENS_PER_IMAGE = 1_100

/** User text that spells a special token is just text. */
const PLAIN_TEXT = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() }

export function countTextTokens(text: string): number {
  return text.length <= EXACT_CHARACTERS_MAX ? countExactly(text) : estimate(text)
}

/** From slices spread evenly over the whole text, so that no part of it can hide behind another. */
function estimate(text: string): number {
  let tokens = 0
  for (let i = 0; i < SAMPLES; i++) {
    const start = Math.floor((i * (text.length - SLICE_CHARACTERS)) / (SAMPLES - 1))
    tokens += countTokens(text.slice(start, start + SLICE_CHARACTERS), PLAIN_TEXT)
  }
  return Math.ceil((tokens / EXACT_CHARACTERS_MAX) * text.length * SAMPLING_MARGIN)
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
  const texts = request.messages.flatMap(textsOf)
  if (request.tools) texts.push(JSON.stringify(request.tools))
  if (request.response_format) texts.push(JSON.stringify(request.response_format))
  const length = texts.reduce((total, text) => total + text.length, 0)
  const textTokens =
    length <= EXACT_CHARACTERS_MAX
      ? texts.reduce((total, text) => total + countExactly(text), 0)
      : estimate(texts.join('\n'))
  const images = request.messages.reduce((total, message) => total + imagesIn(message), 0)
  return TOKENS_PER_REPLY + TOKENS_PER_MESSAGE * request.messages.length + TOKENS_PER_IMAGE * images + textTokens
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
