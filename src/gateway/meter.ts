import type { Ending, Outcome } from '../rules/charging.ts'
import type { ContentChunk } from '../rules/chunk.ts'
import { shouldExtend } from '../rules/holds.ts'
import type { Nanos } from '../rules/money.ts'
import { costOf, type Price } from '../rules/pricing.ts'
import { countTextTokens } from '../rules/tokens.ts'
import { NO_USAGE, isPlausible, type Usage } from '../rules/usage.ts'

/** Counts an answer while it passes, so that it never outgrows its hold unnoticed, and says in the end what it came to. */
export interface Meter {
  /**
   * Counts a piece and says whether the hold pays for it; extends the hold in time. False means that the wallet has no
   * more: the piece must not be delivered, and the answer ends here.
   */
  admit(piece: ContentChunk): boolean | Promise<boolean>
  report(usage: Usage): void
  /** What the answer came to: as reported, or else as counted. */
  usage(): Usage
  ending(outcome: Outcome): Ending
  readonly isAnomalous: boolean
}

export interface MeterOptions {
  promptTokens: number
  price: Price
  /** No plausible report exceeds this by much: the caller's max_tokens, or the model's. */
  outputMax: number
  /** The provider was told to stop where the hold ends. It counts tokens in its own way, so it gets some leeway. */
  isBounded: boolean
  held(): Nanos
  /** Resolves to whether the hold has grown. Never rejects. */
  extend(): Promise<boolean>
}

/** How far a bounded answer may exceed its hold by our count before the provider is taken to ignore the bound. */
const BOUNDED_LEEWAY = 2n

export function createMeter(options: MeterOptions): Meter {
  const output = createOutputCounter()
  let isStarted = false
  let reported: Usage | undefined
  let isAnomalous = false
  let extension: Promise<boolean> | undefined
  let mayExtend = true

  function usageOf(outputTokens: number): Usage {
    return { ...NO_USAGE, input: options.promptTokens, output: outputTokens }
  }

  function spent(outputTokens: number): Nanos {
    return costOf(usageOf(outputTokens), options.price)
  }

  /** A refused extension is not asked for again: the answer then lives on what it has. */
  function startExtension(): Promise<boolean> {
    extension ??= options.extend().then((hasGrown) => {
      extension = undefined
      mayExtend = hasGrown
      return hasGrown
    })
    return extension
  }

  /** The exact check, made when the upper bound says that the hold may be nearly used. */
  function admitCounted(): boolean | Promise<boolean> {
    const spentNow = spent(output.exact())
    if (options.isBounded) return spentNow <= options.held() * BOUNDED_LEEWAY
    const fits = spentNow <= options.held()
    if (!shouldExtend(spentNow, options.held()) || !mayExtend) return fits
    const growing = startExtension()
    return fits || growing.then(() => spentNow <= options.held())
  }

  return {
    admit(piece) {
      isStarted = true
      const text = piece.type === 'tool_call' ? (piece.name ?? '') + piece.arguments : piece.text
      output.add(text)
      return shouldExtend(spent(output.atMost()), options.held()) ? admitCounted() : true
    },
    report(usage) {
      isAnomalous = !isPlausible(usage, usageOf(output.exact()), options.outputMax)
      if (!isAnomalous) reported = usage
    },
    usage: () => reported ?? usageOf(output.exact()),
    ending(outcome) {
      return { outcome, started: isStarted, reported, counted: usageOf(output.exact()), held: options.held() }
    },
    get isAnomalous() {
      return isAnomalous
    },
  }
}

/**
 * The tokenizer is too slow to run on every chunk. A token has at least one byte, so bytes are a safe upper bound, and
 * the exact count is made only when that bound comes near a limit: a handful of times per answer.
 */
function createOutputCounter() {
  let uncounted: string[] = []
  let uncountedBytes = 0
  let counted = 0
  return {
    add(text: string): void {
      uncounted.push(text)
      uncountedBytes += Buffer.byteLength(text)
    },
    atMost: () => counted + uncountedBytes,
    exact(): number {
      if (uncountedBytes > 0) counted += countTextTokens(uncounted.join(''))
      uncounted = []
      uncountedBytes = 0
      return counted
    },
  }
}
