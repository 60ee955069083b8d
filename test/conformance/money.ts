/** Costs at the tests' PRICE, worked out independently of the code under test. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { PRICE } from '../support/world.ts'

export const INPUT_NANOS = PRICE.input / 1_000_000n
export const OUTPUT_NANOS = PRICE.output / 1_000_000n

interface Said {
  messages: readonly { content: string }[]
}

/** Three tokens open the reply and four frame each message, as providers of this wire format count. */
export function promptTokensOf(body: Said): number {
  return body.messages.reduce((tokens, message) => tokens + 4 + countTokens(message.content), 3)
}

export function promptCostOf(body: Said): bigint {
  return BigInt(promptTokensOf(body)) * INPUT_NANOS
}

export function costOf(promptTokens: number, completionTokens: number): bigint {
  return BigInt(promptTokens) * INPUT_NANOS + BigInt(completionTokens) * OUTPUT_NANOS
}
