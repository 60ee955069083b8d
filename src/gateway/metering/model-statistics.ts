import { LRUCache } from 'lru-cache'
import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import { REASONING_TOKENS } from '../../rules/calls/reasoning.ts'
import { predictedTokensMax } from '../../rules/calls/tokens.ts'
import { TYPICAL_OUTPUT_MIN } from '../../rules/billing/holds.ts'
import { READ_ON_MS } from '../../rules/limits.ts'
import type { Model } from '../../rules/upstreams/routing.ts'
import { PLAIN, type Script } from '../../rules/calls/scripts.ts'
import { Ranked, Votes, type Ranks } from './ranked.ts'
import { ORDINARY_ANSWERS, Sightings } from './sightings.ts'

/**
 * This process's knowledge of each model, from the reports of its providers: holds follow it. In memory only; a new process
 * finds out by itself within a few calls.
 *
 * A publisher is held to what its own calls have shown, and else to what several others agree on: nobody's calls alone change
 * what others hold or pay. What is learned too late costs the operator little: a hold grows with what is seen of an answer, and
 * a report is charged whatever was held. What is left are hidden thoughts of a publisher whose own answers have shown none, or not
 * the last 64: it pays nothing for those that it hangs up on. It does once two others have seen the model think, and if it never
 * waits for an end: then it is read on. Where the catalogue says how much a model thinks, nothing is left.
 */
export interface ModelStatistics {
  /** How long answers usually are: what a call without `max_tokens` first holds credit for. */
  typicalOutput(model: Model, publisherId: string): number
  /** How much the model may write unseen: thoughts, as the catalogue says or once it was seen or is asked to, and what was
   * wrong of a prediction. */
  hiddenTokens(model: Model, publisherId: string, asked?: Asked): number
  /** Notes that a caller has left, and says whether its call should be read on to see how the model reports: nobody has said
   * so, several of the publisher's have left and none has finished, and no other one is read on for it. */
  noteLeaving(model: Model, publisherId: string): boolean
  /** How many tokens the model's own tokenizer makes of a text in this script that ours makes 1 of: usually, or so
   * many that a hold nearly always pays for them. Never less than 1. Undefined: it was not seen often enough. */
  tokenRatio(model: Model, publisherId: string, script: Script, which: 'usual' | 'held'): number | undefined
  add(model: Model, publisherId: string, call: ReportedCall): void
}

type Asked = Pick<ChatRequest, 'reasoning_effort' | 'prediction'>

/** A finished call whose provider reported a possible usage. */
export interface ReportedCall {
  completionTokens: number
  /** It thought more than it showed, though nobody had asked it to think. Undefined: the call says nothing of that. */
  hasHidden: boolean | undefined
  /** Reported tokens for each one of our own prompt tokens. Undefined: our count is not exact enough to learn from. */
  tokenRatio: TokenRatio | undefined
}

export interface TokenRatio {
  script: Script
  ratio: number
}

const HEADROOM = 1.5
/** Beyond this a report is not believed to be that of a tokenizer: a liar must not make anybody hold as much. */
const RATIO_MAX = { plain: 3, other: 12 }
/** Some words are stranger to a tokenizer than others. */
const RATIO_HEADROOM = 1.25
const HIDDEN_TOKENS_UNKNOWN = 32_768
/** People stop answers. Several who all do, and nobody who waits for the end, are somebody who avoids being counted. */
const LEFT_UNPROBED = 3

/** Tokenizers do not change: a few calls tell. */
const RATIOS_FEWEST = 4
/** More than a publisher's readers write. Of a script that is not among the last ones, it begins anew. */
const SCRIPTS_MAX = 12
/** The publishers of all models together. Each takes 1 kB where its calls are English, and 8 kB at most: 32 MB in all. */
const OWN_MAX = 4_096

export function createModelStatistics(ownMax = OWN_MAX): ModelStatistics {
  const models = new Map<string, Known>()
  /** Reading is no use: only what is added to stays. */
  const recent = new LRUCache<Own, true>({ max: ownMax, dispose: (_, own) => own.known.own.delete(own.publisherId) })

  function ownOf(modelId: string, publisherId: string): Own {
    let known = models.get(modelId)
    if (!known) models.set(modelId, (known = new Known()))
    let own = known.own.get(publisherId)
    if (!own) known.own.set(publisherId, (own = new Own(known, publisherId)))
    recent.set(own, true)
    return own
  }

  return {
    typicalOutput({ id }, publisherId) {
      const known = models.get(id)
      const ranks = known?.own.get(publisherId)?.outputs.ranks ?? known?.outputs.ranks
      return ranks === undefined ? TYPICAL_OUTPUT_MIN : Math.ceil(HEADROOM * ranks.high)
    },
    hiddenTokens({ id, figures, maxOutputTokens }, publisherId, asked = {}) {
      const ofEffort = REASONING_TOKENS[asked.reasoning_effort ?? 'none']
      const seen = models.get(id)?.isHiding(publisherId) ? (maxOutputTokens ?? HIDDEN_TOKENS_UNKNOWN) : 0
      const thought = figures.reasoning === undefined ? Math.max(seen, ofEffort) : figures.reasoning || ofEffort
      return Math.max(thought, predictedTokensMax(asked))
    },
    noteLeaving({ id, figures }, publisherId) {
      if (figures.reasoning !== undefined || models.get(id)?.own.get(publisherId)?.hasFinished) return false
      const own = ownOf(id, publisherId)
      const nowMs = performance.now()
      own.left += 1
      if (own.left <= LEFT_UNPROBED || nowMs < own.readOnUntilMs) return false
      own.readOnUntilMs = nowMs + READ_ON_MS.unknown
      return true
    },
    tokenRatio({ id }, publisherId, script, which) {
      const known = models.get(id)
      const ranks = known?.own.get(publisherId)?.ratios.get(script)?.ranks ?? known?.ratios.get(script)?.ranks
      if (ranks === undefined) return undefined
      const ratio = which === 'usual' ? ranks.usual : ranks.high
      if (script === PLAIN) return Math.min(Math.max(ratio, 1), RATIO_MAX.plain)
      return Math.min(Math.max(which === 'held' ? ratio * RATIO_HEADROOM : ratio, 1), RATIO_MAX.other)
    },
    add({ id }, publisherId, { completionTokens, hasHidden, tokenRatio }) {
      const own = ownOf(id, publisherId)
      own.hasFinished = true
      if (own.outputs.add(completionTokens)) own.known.countOutputs()
      if (hasHidden !== undefined) own.noteThoughts(hasHidden)
      if (tokenRatio && own.ratiosOf(tokenRatio.script).add(tokenRatio.ratio)) own.known.countRatios(tokenRatio.script)
    },
  }
}

/** One model. */
class Known {
  /** By publisher. */
  readonly own = new Map<string, Own>()
  readonly outputs = new Votes()
  readonly ratios = new Map<Script, Votes>()
  readonly sightings = new Sightings()

  isHiding(publisherId: string): boolean {
    return this.sightings.areBelieved || (this.own.get(publisherId)?.hidesFor ?? 0) > 0
  }

  countOutputs(): void {
    this.outputs.count(() => this.#ranksOf((own) => own.outputs))
  }

  countRatios(script: Script): void {
    let votes = this.ratios.get(script)
    if (!votes) this.ratios.set(script, (votes = new Votes()))
    votes.count(() => this.#ranksOf((own) => own.ratios.get(script)))
  }

  #ranksOf(kind: (own: Own) => Ranked | undefined): Ranks[] {
    const ranks: Ranks[] = []
    for (const own of this.own.values()) {
      const its = kind(own)?.ranks
      if (its) ranks.push(its)
    }
    return ranks
  }
}

/** One model, as the calls of one publisher have shown it. */
class Own {
  readonly known: Known
  readonly publisherId: string
  readonly outputs = new Ranked()
  readonly ratios = new Map<Script, Ranked>()
  /** So many more ordinary answers, and it is no longer taken to think unseen. */
  hidesFor = 0
  hasFinished = false
  /** Callers, before one has finished, and until when one of their calls is read on. */
  left = 0
  readOnUntilMs = 0

  constructor(known: Known, publisherId: string) {
    this.known = known
    this.publisherId = publisherId
  }

  noteThoughts(hasHidden: boolean): void {
    if (hasHidden) {
      this.hidesFor = ORDINARY_ANSWERS
      this.known.sightings.noteHidden(this.publisherId)
    } else {
      this.hidesFor = Math.max(0, this.hidesFor - 1)
      this.known.sightings.noteOrdinary()
    }
  }

  ratiosOf(script: Script): Ranked {
    const ratios = this.ratios.get(script) ?? new Ranked(RATIOS_FEWEST)
    // The last one that was added to is the last one of the map.
    this.ratios.delete(script)
    this.ratios.set(script, ratios)
    if (this.ratios.size > SCRIPTS_MAX) {
      const [oldest] = this.ratios.keys()
      this.ratios.delete(oldest as Script)
    }
    return ratios
  }
}
