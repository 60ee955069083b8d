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

type RatioOf = (script: Script) => number | undefined

/** `ratioOf`: how many tokens the model's tokenizer makes of one of ours, as far as it is known. */
export function createAnswerCount(ratioOf: RatioOf): AnswerCount {
  return new CountedAnswer(ratioOf)
}

/** Classes, because every call makes them: getters of an object literal take microseconds to make. */
class CountedAnswer implements AnswerCount {
  readonly #text: CountedText
  readonly #thoughts: CountedText
  readonly #toolCalls = new Set<number>()
  isStarted = false

  constructor(ratioOf: RatioOf) {
    this.#text = new CountedText(ratioOf)
    this.#thoughts = new CountedText(ratioOf)
  }

  add(chunk: ContentChunk): string {
    this.isStarted = true
    // Nothing that the model wrote.
    if (chunk.type === 'reasoning_signature' || chunk.type === 'embedding') return ''
    if (chunk.type === 'tool_call') this.#toolCalls.add(chunk.index)
    const said = chunk.type === 'tool_call' ? (chunk.name ?? '') + chunk.arguments : chunk.text
    const part = chunk.type === 'reasoning' ? this.#thoughts : this.#text
    part.add(said)
    return said
  }

  atMost(): AnswerTokens {
    return { output: this.#text.atMost(), reasoning: this.#thoughts.atMost() }
  }

  exactly(): AnswerTokens {
    return { output: this.#text.exactly(), reasoning: this.#thoughts.exactly() }
  }

  async count(): Promise<AnswerTokens> {
    return { output: await this.#text.count(), reasoning: await this.#thoughts.count() }
  }

  get isLong(): boolean {
    return this.#text.uncountedBytes + this.#thoughts.uncountedBytes > LONG_BYTES
  }

  get isUnknown(): boolean {
    return this.#text.isUnknown || this.#thoughts.isUnknown
  }

  get seen(): SeenAnswer {
    return { bytes: this.#text.bytes, thoughtBytes: this.#thoughts.bytes, toolCalls: this.#toolCalls.size }
  }
}

/**
 * The tokenizer is too slow to run on every chunk. A token has at least one byte, so bytes are a safe upper bound, and
 * the exact count is made only when that bound comes near a limit: a handful of times per answer.
 */
class CountedText {
  readonly #ratioOf: RatioOf
  readonly #scripts = createScriptCount()
  #uncounted: string[] = []
  #counted = 0
  uncountedBytes = 0
  bytes = 0

  constructor(ratioOf: RatioOf) {
    this.#ratioOf = ratioOf
  }

  add(text: string): void {
    const added = Buffer.byteLength(text)
    this.#scripts.add(text)
    this.#uncounted.push(text)
    this.uncountedBytes += added
    this.bytes += added
  }

  atMost(): number {
    return this.#scaled() + this.uncountedBytes
  }

  exactly(): number {
    if (this.uncountedBytes > 0) this.#counted += countTextTokens(this.#take())
    return this.#scaled()
  }

  async count(): Promise<number> {
    if (this.uncountedBytes > 0) this.#counted += await countTextsInTurns([this.#take()], turn)
    return this.#scaled()
  }

  get isUnknown(): boolean {
    const { script } = this.#scripts
    return script !== PLAIN && this.#ratioOf(script) === undefined
  }

  #take(): string {
    const taken = this.#uncounted.join('')
    this.#uncounted = []
    this.uncountedBytes = 0
    return taken
  }

  /** Most answers are never counted: then nothing is looked up, which would be once for each chunk. */
  #scaled(): number {
    return this.#counted === 0 ? 0 : Math.ceil(this.#counted * (this.#ratioOf(this.#scripts.script) ?? 1))
  }
}
