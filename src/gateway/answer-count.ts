import { setImmediate as turn } from 'node:timers/promises'
import type { ContentChunk } from '../rules/chunk.ts'
import { countTextTokens, countTextsInTurns } from '../rules/tokens.ts'
import type { SeenAnswer } from '../rules/usage-report.ts'

/** How much of an answer has passed: its text and calls, and the thoughts that were shown. */
export interface AnswerCount {
  /** Returns the text of the piece. */
  add(piece: ContentChunk): string
  /** No more tokens than this; cheap. */
  atMost(): AnswerTokens
  /** Counts at once: for what is not long. */
  exactly(): AnswerTokens
  /** Counts in turns with others. */
  count(): Promise<AnswerTokens>
  /** Counting at once would hold up the others. */
  readonly isLong: boolean
  readonly seen: SeenAnswer
}

export interface AnswerTokens {
  output: number
  reasoning: number
}

const LONG_BYTES = 16 * 1024

export function createAnswerCount(): AnswerCount {
  const text = createTextCount()
  const thoughts = createTextCount()
  const toolCalls = new Set<number>()
  return {
    add(piece) {
      if (piece.type === 'tool_call') toolCalls.add(piece.index)
      const said = piece.type === 'tool_call' ? (piece.name ?? '') + piece.arguments : piece.text
      const part = piece.type === 'reasoning' ? thoughts : text
      part.add(said)
      return said
    },
    atMost: () => ({ output: text.atMost(), reasoning: thoughts.atMost() }),
    exactly: () => ({ output: text.exactly(), reasoning: thoughts.exactly() }),
    async count() {
      return { output: await text.count(), reasoning: await thoughts.count() }
    },
    get isLong() {
      return text.uncountedBytes + thoughts.uncountedBytes > LONG_BYTES
    },
    get seen() {
      return { bytes: text.bytes, thoughtBytes: thoughts.bytes, toolCalls: toolCalls.size }
    },
  }
}

/**
 * The tokenizer is too slow to run on every chunk. A token has at least one byte, so bytes are a safe upper bound, and
 * the exact count is made only when that bound comes near a limit: a handful of times per answer.
 */
function createTextCount() {
  let uncounted: string[] = []
  let uncountedBytes = 0
  let counted = 0
  let bytes = 0
  const take = () => {
    const taken = uncounted.join('')
    uncounted = []
    uncountedBytes = 0
    return taken
  }
  return {
    add(text: string): void {
      const added = Buffer.byteLength(text)
      uncounted.push(text)
      uncountedBytes += added
      bytes += added
    },
    atMost: () => counted + uncountedBytes,
    exactly(): number {
      if (uncountedBytes > 0) counted += countTextTokens(take())
      return counted
    },
    async count(): Promise<number> {
      if (uncountedBytes > 0) counted += await countTextsInTurns([take()], turn)
      return counted
    },
    get uncountedBytes() {
      return uncountedBytes
    },
    get bytes() {
      return bytes
    },
  }
}
