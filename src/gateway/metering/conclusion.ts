import type { Figures } from '../../rules/catalogue/figures.ts'
import type { Nanos } from '../../rules/money.ts'
import { moreTokensFor, type Price } from '../../rules/billing/pricing.ts'
import {
  isMoreThanSeen,
  isWhole,
  judgeReport,
  usageBounds,
  type Anomaly,
  type JudgedUsage,
} from '../../rules/billing/reported-usage.ts'
import { completionTokensOf, NO_USAGE, promptTokensOf, type Usage } from '../../rules/billing/usage.ts'
import type { AnswerCount } from './answer-count.ts'
import type { MeteredPrompt } from './prompt.ts'

/** The tokens of a call: as its provider reported, as far as that is possible, or else as we counted. */
export interface Conclusion {
  usage: Usage
  source: 'reported' | 'estimated'
  anomalies: readonly Anomaly[]
  /** The provider's report, before it was judged. */
  reported: Usage | undefined
  /** The provider counted thoughts that were not shown. Undefined: it did not report, or showed nothing of the answer. */
  hasHidden: boolean | undefined
}

/**
 * How the answer ended, not the call: `whole`: its provider finished it. `cancelled`: its caller did. `used up`: the wallet
 * did. `cut`: any other way. An answer that is read on for a caller who is gone may end in each of these.
 */
export type AnswerEnd = 'whole' | 'cancelled' | 'used up' | 'cut'

export interface ConclusionOptions {
  prompt: MeteredPrompt
  answer: AnswerCount
  price: Price
  figures: Figures
  /** How long the answer may be, thoughts included. */
  outputMax: number
  /** The provider was told so. Otherwise it is only what the catalogue says of the model. */
  isTold: boolean
  /** A whole answer without a report is odd. */
  isReportDue: boolean
  /** The model is known to think unseen. */
  isHiding: boolean
  held(): Nanos
}

export function createConclusion(options: ConclusionOptions) {
  const { prompt, answer, price, outputMax } = options
  let reported: Usage | undefined
  /** Tokens of thoughts that had been shown when the report came. */
  let shownThen = 0
  let isFinal = false
  let hasFallen = false
  let concluded: Promise<Conclusion> | undefined

  async function count(media: 'usual' | 'held'): Promise<Usage> {
    return { ...NO_USAGE, input: await prompt.count(media), ...(await answer.count()) }
  }

  async function judge(report: Usage): Promise<JudgedUsage> {
    const { bytes, thoughtBytes } = answer.seen
    // A figure of the catalogue may be wrong. What has come has come.
    const possible = options.isTold ? outputMax : Math.max(outputMax, bytes + thoughtBytes)
    const bounds = usageBounds(prompt.possible(), possible, answer.seen, options.figures)
    return judgeReport(report, isWhole(report, bounds) ? NO_USAGE : await count('usual'), bounds)
  }

  async function fromReport(report: Usage): Promise<Conclusion> {
    const { usage, source, anomalies } = await judge(report)
    const isToldAndSeen = source === 'reported' && answer.seen.bytes > 0
    const hasHidden = isToldAndSeen ? isMoreThanSeen(usage, answer.seen) : undefined
    return { usage, source, anomalies: hasFallen ? [...anomalies, 'falling'] : anomalies, reported: report, hasHidden }
  }

  async function fromCount(end: AnswerEnd): Promise<Conclusion> {
    // Nobody could see what images and files came to, or how far the model was, and the caller or its wallet ended it: that
    // costs what was set aside.
    const isCallersEnd = end === 'cancelled' || end === 'used up'
    const counted = await count(isCallersEnd ? 'held' : 'usual')
    const soFar = reported && (await judge(reported))
    const usage = soFar ? withReportSoFar(counted, soFar.usage, shownThen) : counted
    if (end === 'cancelled' && mayHaveThought()) usage.reasoning += unseenTokens(usage, 'reasoning')
    // The provider was writing on: the hold is what that costs, to the last nano.
    if (end === 'used up') usage.output += unseenTokens(usage, 'output') + 1
    // A report that came with the first chunk says nothing of the answer yet, and need not.
    const odd = soFar?.anomalies.filter((anomaly) => anomaly !== 'zero') ?? []
    const anomalies: Anomaly[] = end === 'whole' && options.isReportDue ? [...odd, 'missing'] : odd
    return { usage, source: 'estimated', anomalies, reported, hasHidden: undefined }
  }

  /** Tokens that the hold pays for beyond these, as far as the answer may go on. */
  function unseenTokens(usage: Usage, of: 'output' | 'reasoning'): number {
    return moreTokensFor(options.held(), usage, of, price, Math.max(0, outputMax - completionTokensOf(usage)))
  }

  /** More than anybody has told us of. */
  function mayHaveThought(): boolean {
    return options.isHiding && !isFinal && !((reported?.reasoning ?? 0) > 0)
  }

  return {
    report(usage: Usage, soFar: boolean): void {
      hasFallen ||= reported !== undefined && isLess(usage, reported)
      reported = usage
      isFinal ||= !soFar
      if (soFar && answer.seen.thoughtBytes > 0) shownThen = answer.exactly().reasoning
    },
    of(end: AnswerEnd): Promise<Conclusion> {
      concluded ??= reported && isFinal ? fromReport(reported) : fromCount(end)
      return concluded
    },
    /** Whether only its provider can know what the call has come to so far. */
    isInTheDark: () =>
      mayHaveThought() || (!isFinal && answer.isUnknown) || (prompt.isUnknown && reported === undefined),
  }
}

/**
 * A report that came while the answer ran knows the prompt, and the thoughts up to then. The text was counted as it came,
 * and so were the thoughts that were shown since.
 */
function withReportSoFar(counted: Usage, reported: Usage, shownThen: number): Usage {
  return { ...reported, output: counted.output, reasoning: reported.reasoning + counted.reasoning - shownThen }
}

function isLess(usage: Usage, before: Usage): boolean {
  return promptTokensOf(usage) < promptTokensOf(before) || completionTokensOf(usage) < completionTokensOf(before)
}
