import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import type { ChatRequest, Message } from './chat-request.ts'

/** Longer texts are estimated: tokenizing a megabyte would stall every other stream of the process for 25 ms. */
const EXACT_CHARACTERS_MAX = 64 * 1024
/** Characters per token of a long text. English has about four, Chinese about one and a half; holding a little too much
 * is given back in seconds, holding too little is the operator's loss. */
const CHARACTERS_PER_TOKEN = 2

/** What the chat format itself adds: a frame around each message, and the opening of the reply. */
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_REPLY = 3
/** An image's cost depends on its size and the provider; this is what the common formulas give for a large one. */
const TOKENS_PER_IMAGE = 1_100

export function countTextTokens(text: string): number {
  if (text.length > EXACT_CHARACTERS_MAX) return Math.ceil(text.length / CHARACTERS_PER_TOKEN)
  // User text that spells a special token is just text.
  return countTokens(text, { allowedSpecial: new Set(), disallowedSpecial: new Set() })
}

export function countPromptTokens(request: ChatRequest): number {
  let tokens = TOKENS_PER_REPLY
  for (const message of request.messages) tokens += TOKENS_PER_MESSAGE + countMessageTokens(message)
  if (request.tools) tokens += countTextTokens(JSON.stringify(request.tools))
  if (request.response_format) tokens += countTextTokens(JSON.stringify(request.response_format))
  return tokens
}

function countMessageTokens(message: Message): number {
  let tokens = 0
  if (typeof message.content === 'string') tokens += countTextTokens(message.content)
  else
    for (const part of message.content ?? [])
      tokens += part.type === 'text' ? countTextTokens(part.text) : TOKENS_PER_IMAGE
  if (message.role === 'assistant' && message.tool_calls) tokens += countTextTokens(JSON.stringify(message.tool_calls))
  return tokens
}
