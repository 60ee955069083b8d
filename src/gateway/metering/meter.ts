import type { ContentChunk } from '../../rules/calls/chunk.ts'
import { shouldExtend, tokensBeforeExtending } from '../../rules/billing/holds.ts'
import type { Nanos } from '../../rules/money.ts'
import { costOf, dearestPrompt, type Price } from '../../rules/billing/pricing.ts'
import type { Script } from '../../rules/calls/scripts.ts'
import { countTextTokens } from '../../rules/calls/tokens.ts'
import { NO_USAGE, type Usage } from '../../rules/billing/usage.ts'
import { createAnswerCount, type AnswerTokens } from './answer-count.ts'
import { createConclusion, type AnswerEnd, type Conclusion, type ConclusionOptions } from './conclusion.ts'

/** Counts an answer while it passes, so that it never outgrows its hold unnoticed, and says in the end what it came to. */
export interface Meter {
  /**
   * Counts a chunk and says whether the hold pays for it; extends the hold in time. False means that the wallet has no
   * more: the chunk must not be delivered, and the answer ends here. Throws when nobody can say, because the store is away.
   */
  admit(chunk: ContentChunk): boolean | Promise<boolean>
  /** Takes the provider's report; `soFar` while the answer still runs. */
  report(usage: Usage, soFar: boolean): void
  /** The tokens of the answer. The first call decides, and the others get the same. */
  conclude(end: AnswerEnd): Promise<Conclusion>
  /** Whether the hold pays for another chunk like those before. If not, the answer ends here, too. */
  hasRoom(): boolean | Promise<boolean>
  /** Something of the answer is there. */
  isStarted(): boolean
  /** Whether only its provider can know what the call has come to so far. */
  isInTheDark(): boolean
}

export interface MeterOptions extends Omit<ConclusionOptions, 'answer'> {
  price: Price
  /** The provider was told to stop where the hold ends. It counts tokens in its own way, so it gets some leeway. */
  isBounded: boolean
  ratioOf(script: Script): number | undefined
  /** Resolves to whether the hold has grown by all that was asked for, so that asking again may help. */
  extend(): Promise<boolean>
}

/** How far a bounded answer may exceed its hold by our count before the provider is taken to ignore the bound. */
const BOUNDED_LEEWAY = 2n
/**
 * A chunk that does not fit was written all the same, and nobody pays for it. Where a chunk is more than a token, an answer
 * ends before such a one: else two calls of one wallet, each in the other's way, would get a tenth of their tokens for
 * nothing.
 */
const SMALL_CHUNK_TOKENS = 1
/** The tokens of a longer chunk are guessed, because counting takes time. */
const COUNTED_CHARACTERS_MAX = 1_024
const CHARACTERS_PER_TOKEN = 3

export function createMeter(options: MeterOptions): Meter {
  const { prompt, price, held } = options
  const answer = createAnswerCount(options.ratioOf)
  const conclusion = createConclusion({ ...options, answer })
  const promptAtMost = dearestPrompt(prompt.tokens, price)
  const promptCost = costWith({ output: 0, reasoning: 0 })
  const growth = new Growth(options.extend)
  let largest = { text: '', tokens: 0 }
  let plenty = { held: -1n, tokens: 0 }

  function costWith(tokens: AnswerTokens): Nanos {
    return costOf({ ...promptAtMost, ...tokens }, price)
  }

  /** Few enough that what is held needs no second look. It is worked out anew when the hold has grown. */
  function tokensOfPlenty(): number {
    const now = held()
    if (plenty.held !== now) plenty = { held: now, tokens: tokensBeforeExtending(now - promptCost, price) }
    return plenty.tokens
  }

  /** The prompt is paid for from the start: what is left is for the answer. */
  function isNearlyUsed(spentNow: Nanos): boolean {
    return shouldExtend(spentNow - promptCost, held() - promptCost)
  }

  function admitCounted(tokens: AnswerTokens): boolean | Promise<boolean> {
    const spentNow = costWith(tokens)
    if (options.isBounded) return spentNow <= held() * BOUNDED_LEEWAY
    const fits = spentNow <= held()
    if (!isNearlyUsed(spentNow) || !growth.isPossible) return growth.isEnough(fits)
    const growing = growth.start()
    return fits || growing.then(() => growth.isEnough(spentNow <= held()))
  }

  function fitsAnother(): boolean {
    largest.tokens ||= tokensOfChunk(largest.text)
    const cost = costOf({ ...NO_USAGE, output: largest.tokens }, price)
    return largest.tokens <= SMALL_CHUNK_TOKENS || costWith(answer.atMost()) + cost <= held()
  }

  return {
    admit(chunk) {
      const text = answer.add(chunk)
      if (text.length > largest.text.length) largest = { text, tokens: 0 }
      const atMost = answer.atMost()
      if (atMost.output + atMost.reasoning <= tokensOfPlenty() || !isNearlyUsed(costWith(atMost))) return true
      // The upper bound says that the hold may be nearly used: now it is counted.
      return answer.isLong ? answer.count().then(admitCounted) : admitCounted(answer.exactly())
    },
    report: (usage, soFar) => conclusion.report(usage, soFar),
    conclude: (end) => conclusion.of(end),
    hasRoom() {
      const { running } = growth
      if (options.isBounded || (growth.isPossible && !running)) return true
      if (fitsAnother()) return true
      return running ? running.then(() => growth.isEnough(growth.isPossible || fitsAnother())) : growth.isEnough(false)
    },
    isStarted: () => answer.isStarted,
    isInTheDark: () => conclusion.isInTheDark(),
  }
}

/** The extensions of one hold, one after the other. */
class Growth {
  readonly #extend: () => Promise<boolean>
  /** Why nobody knows what the wallet has: that is ours, and not the wallet's end. */
  #unknown: { cause: unknown } | undefined
  running: Promise<void> | undefined
  /** Once the wallet had less than was asked for, nothing more is asked: the answer then lives on what it has. */
  isPossible = true

  constructor(extend: () => Promise<boolean>) {
    this.#extend = extend
  }

  start(): Promise<void> {
    return (this.running ??= this.#extendOnce())
  }

  /** Throws where "no" would be a guess. */
  isEnough(isPaidFor: boolean): boolean {
    if (!isPaidFor && this.#unknown) throw this.#unknown.cause
    return isPaidFor
  }

  /** Never rejects: what is held may still do for the whole answer. */
  async #extendOnce(): Promise<void> {
    try {
      this.isPossible = await this.#extend()
    } catch (error) {
      this.isPossible = false
      this.#unknown = { cause: error }
    }
    this.running = undefined
  }
}

function tokensOfChunk(text: string): number {
  return text.length > COUNTED_CHARACTERS_MAX ? Math.ceil(text.length / CHARACTERS_PER_TOKEN) : countTextTokens(text)
}
