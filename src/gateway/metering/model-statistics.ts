import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import { REASONING_TOKENS } from '../../rules/calls/reasoning.ts'
import { predictedTokensMax } from '../../rules/calls/tokens.ts'
import { TYPICAL_OUTPUT_MIN } from '../../rules/billing/holds.ts'
import { READ_ON_MS } from '../../rules/limits.ts'
import type { Model } from '../../rules/upstreams/routing.ts'
import { PLAIN, type Script } from '../../rules/calls/scripts.ts'

/**
 * What this process has learned of each model from the reports of its providers: holds follow it. In memory only; a new
 * process finds out by itself within a few calls.
 */
export interface ModelStatistics {
  /** How long answers usually are: what a call without `max_tokens` first holds credit for. */
  typicalOutput(model: Model): number
  /** How much the model may write unseen: thoughts, as the catalogue says or once it was seen or is asked to, and what was
   * wrong of a prediction. */
  hiddenTokens(model: Model, asked?: Asked): number
  /** Notes that a caller has left, and says whether its call should be read on to see how the model reports: nobody has said
   * so, several have left and none has finished, and no other one is read on for it. */
  noteLeaving(model: Model): boolean
  /** How many tokens the model's own tokenizer makes of a text in this script that ours makes 1 of: usually, or so
   * many that a hold nearly always pays for them. Never less than 1. Undefined: it was not seen often enough. */
  tokenRatio(model: Model, script: Script, which: 'usual' | 'held'): number | undefined
  add(model: Model, call: ReportedCall): void
}

type Asked = Pick<ChatRequest, 'reasoning_effort' | 'prediction'>

/** A finished call whose provider reported a possible usage. */
export interface ReportedCall {
  completionTokens: number
  /** It thought more than it showed. */
  hasHidden: boolean
  /** What was reported for one of our own prompt tokens. Undefined: our count is not exact enough to learn from. */
  tokenRatio: TokenRatio | undefined
}

export interface TokenRatio {
  script: Script
  ratio: number
}

const HEADROOM = 1.5
/** Beyond this a report is not believed to be that of a tokenizer: one liar must not make others hold as much. */
const RATIO_MAX = { plain: 3, other: 12 }
/** Some words are stranger to a tokenizer than others. */
const RATIO_HEADROOM = 1.25
const HIDDEN_TOKENS_UNKNOWN = 32_768
/** People stop answers. Several who all do, and nobody who waits for the end, are somebody who avoids being counted. */
const LEFT_UNPROBED = 3

export function createModelStatistics(): ModelStatistics {
  const models = new Map<string, { outputs: Ranked; ratios: Map<Script, Ranked>; isHiding: boolean }>()
  /** Of models that are not known yet: how many have left, and until when one of them is read on. */
  const probes = new Map<string, { left: number; untilMs: number }>()
  return {
    typicalOutput(model) {
      const usual = models.get(model.id)?.outputs.at(0.95)
      return usual === undefined ? TYPICAL_OUTPUT_MIN : Math.ceil(HEADROOM * usual)
    },
    hiddenTokens({ id, figures, maxOutputTokens }, asked = {}) {
      const ofEffort = REASONING_TOKENS[asked.reasoning_effort ?? 'none']
      const seen = models.get(id)?.isHiding ? (maxOutputTokens ?? HIDDEN_TOKENS_UNKNOWN) : 0
      const thought = figures.reasoning === undefined ? Math.max(seen, ofEffort) : figures.reasoning || ofEffort
      return Math.max(thought, predictedTokensMax(asked))
    },
    noteLeaving({ id, figures }) {
      if (figures.reasoning !== undefined || models.has(id)) return false
      const nowMs = performance.now()
      const probe = probes.get(id) ?? { left: 0, untilMs: 0 }
      probes.set(id, probe)
      probe.left += 1
      if (probe.left <= LEFT_UNPROBED || nowMs < probe.untilMs) return false
      probe.untilMs = nowMs + READ_ON_MS.unknown
      return true
    },
    tokenRatio({ id }, script, which) {
      const ratios = models.get(id)?.ratios.get(script)
      const ratio = which === 'usual' ? ratios?.at(0.5) : ratios?.at(0.95)
      if (ratio === undefined) return undefined
      if (script === PLAIN) return Math.min(Math.max(ratio, 1), RATIO_MAX.plain)
      return Math.min(Math.max(which === 'held' ? ratio * RATIO_HEADROOM : ratio, 1), RATIO_MAX.other)
    },
    add({ id }, { completionTokens, hasHidden, tokenRatio }) {
      const known = models.get(id) ?? { outputs: createRanked(), ratios: new Map<Script, Ranked>(), isHiding: false }
      models.set(id, known)
      known.outputs.add(completionTokens)
      known.isHiding ||= hasHidden
      if (!tokenRatio) return
      const ratios = known.ratios.get(tokenRatio.script) ?? createRanked(RATIOS_FEWEST)
      known.ratios.set(tokenRatio.script, ratios)
      ratios.add(tokenRatio.ratio)
    },
  }
}

const REMEMBERED = 128
/** Sorting 128 numbers takes 10 µs; once in 16 is often enough for an estimate. */
const SORTED_EVERY = 16
/** Tokenizers do not change: a few calls tell. */
const RATIOS_FEWEST = 4

interface Ranked {
  add(number: number): void
  /** The number that this share of the last ones does not exceed. Undefined while there are too few. */
  at(share: number): number | undefined
}

function createRanked(fewest = SORTED_EVERY): Ranked {
  const ring: number[] = []
  let sorted: number[] = []
  let next = 0
  return {
    add(number) {
      ring[next] = number
      next = (next + 1) % REMEMBERED
      const isNew = ring.length < SORTED_EVERY && ring.length >= fewest
      if (isNew || next % SORTED_EVERY === 0) sorted = ring.toSorted((a, b) => a - b)
    },
    at: (share) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)],
  }
}
