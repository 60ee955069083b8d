import { setImmediate as turn } from 'node:timers/promises'
import type { ContentChunk } from '../../rules/calls/chunk.ts'
import { createScriptCount, PLAIN, type Script } from '../../rules/calls/scripts.ts'
import { countTextTokens, countTextsInTurns } from '../../rules/calls/tokens.ts'
import type { SeenAnswer } from '../../rules/billing/reported-usage.ts'

/** How much of an answer has passed: its text and calls, and the thoughts that were shown. */
export interface AnswerCount {
  /** Returns the text of the chunk. */
  add(chunk: ContentChunk): string
  /** No more tokens than this; cheap. */
  atMost(): AnswerTokens
  /** Counts at once: for what is not long. */
  exactly(): AnswerTokens
  /** Counts in turns with others. */
  count(): Promise<AnswerTokens>
  /** Counting at once would hold up the others. */
  readonly isLong: boolean
  /** Something of it is there, also where that is no text. */
  readonly isStarted: boolean
  /** It is in a script whose tokens nobody has seen reported: our count may be far off. */
  readonly isUnknown: boolean
  readonly seen: SeenAnswer
}

export interface AnswerTokens {
  output: number
  reasoning: number
}

const LONG_BYTES = 16 * 1024

/** `ratioOf`: how many tokens the model's tokenizer makes of one of ours, as far as it is known. */
export function createAnswerCount(ratioOf: (script: Script) => number | undefined): AnswerCount {
  const text = createTextCount(ratioOf)
  const thoughts = createTextCount(ratioOf)
  const toolCalls = new Set<number>()
  let isStarted = false
  return {
    add(chunk) {
      isStarted = true
      // Nothing that the model wrote.
      if (chunk.type === 'reasoning_signature' || chunk.type === 'embedding') return ''
      if (chunk.type === 'tool_call') toolCalls.add(chunk.index)
      const said = chunk.type === 'tool_call' ? (chunk.name ?? '') + chunk.arguments : chunk.text
      const part = chunk.type === 'reasoning' ? thoughts : text
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
    get isStarted() {
      return isStarted
    },
    get isUnknown() {
      return text.isUnknown || thoughts.isUnknown
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
function createTextCount(ratioOf: (script: Script) => number | undefined) {
  const scripts = createScriptCount()
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
  // Most answers are never counted: then nothing is looked up, which would be once for each chunk.
  const scaled = () => (counted === 0 ? 0 : Math.ceil(counted * (ratioOf(scripts.script) ?? 1)))
  return {
    add(text: string): void {
      const added = Buffer.byteLength(text)
      scripts.add(text)
      uncounted.push(text)
      uncountedBytes += added
      bytes += added
    },
    atMost: () => scaled() + uncountedBytes,
    exactly(): number {
      if (uncountedBytes > 0) counted += countTextTokens(take())
      return scaled()
    },
    async count(): Promise<number> {
      if (uncountedBytes > 0) counted += await countTextsInTurns([take()], turn)
      return scaled()
    },
    get isUnknown() {
      const { script } = scripts
      return script !== PLAIN && ratioOf(script) === undefined
    },
    get uncountedBytes() {
      return uncountedBytes
    },
    get bytes() {
      return bytes
    },
  }
}
