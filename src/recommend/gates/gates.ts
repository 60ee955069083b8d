import assert from 'node:assert/strict'
import { LRUCache } from 'lru-cache'
import { hasCrisisWords, sensitiveClassOf } from '../../rules/recommendations/lexicon.ts'
import type { Turn } from '../../rules/recommendations/matching.ts'
import { WINDOW_LIMITS, windowsOf } from '../../rules/recommendations/text-windows.ts'
import { textDigestOf } from '../../rules/text-digest.ts'
import type { Embedder } from '../embedding/embedder.ts'
import { scoresOf, type Heads } from './heads.ts'

/**
 * May a conversation have a recommendation at all? Three gates, and doubt keeps every one of them shut:
 * words that are sensitive whatever they mean, a head that judges what was meant, and a head that must find a wish for a
 * product or a service in what the user said last.
 */

export interface Gates {
  /**
   * Judges the whole conversation, oldest turn first; the last turn is the user's. The judgement of every user turn is
   * remembered by digest, because conversations come again with one turn more. `wish first` ends with the least work where
   * nothing is wished for, and then does not say whether the topic was a sensitive one.
   */
  judge(turns: readonly Turn[], order?: 'wish first'): Promise<Judgement>
  /** Judges a finished answer to what the user said last. */
  judgeAnswer(said: string, answer: string): Promise<AnswerJudgement>
}

export interface Judgement {
  /** sensitive: the whole conversation stays free of recommendations. too_long, not_commercial: this turn does. */
  verdict: 'sensitive' | 'too_long' | 'not_commercial' | 'commercial'
  /** For the bench and for people: which gate closed, and on what. Never any of the text. */
  because: 'words' | 'meaning' | 'length' | 'no_wish' | 'wish'
  topic: string | undefined
  /** Highest of all parts of all user turns, 0 to 1; 1 when words decided. */
  sensitivity: number
  /** The score of the last user turn, 0 to 1; 0 when it was not asked. */
  commerce: number
}

export interface AnswerJudgement {
  isSensitive: boolean
  /** The vector of the answer's beginning, as far as the model reads. */
  answer: Float32Array
  /** The vector of the answer together with the question: what to search with. */
  vector: Float32Array
}

export interface GatesOptions {
  embedder: Embedder
  heads: Heads
  /** How many turns are remembered. */
  rememberedMax?: number
}

/** Everything that decides beside words and weights. Part of the fingerprint: other numbers need another proof. */
export const GATE_LIMITS = {
  /** The most that one judgement may embed: beyond it the answer would come too late anyway. */
  windowsMax: 80,
  /** Texts that belong together are judged together too: "She was only three." says nothing alone. */
  contextTurns: 3,
  contextCharacters: 1000,
  /** "The garden is 15 by 8." says nothing by itself, and heads are unsure of what says nothing. */
  fragmentCharacters: 120,
  fragmentThreshold: 0.6,
  /** A follow-up ("and below 50?") borrows the wish of the turn before it, unless it has plainly none itself ("thanks!"). */
  followUpShare: 0.25,
  /** An answer explains and warns where a user asks, so that only a high score means something. */
  answerThreshold: 0.9,
  windows: WINDOW_LIMITS,
} as const

interface Sensitivity {
  score: number
  topic: string
}

export function createGates(options: GatesOptions): Gates {
  const { embedder, heads } = options
  assert.equal(heads.modelId, embedder.modelId, 'the heads learned from the vectors of another model')
  const { worstOf } = createTopics(options)

  async function commerceOf(users: readonly string[]): Promise<number> {
    const last = users.at(-1) ?? ''
    const context = contextOf(users, 2)
    const [alone, together] = await embedder.embed([last, context])
    assert(alone && together)
    const own = scoresOf(heads, last, alone).commercial
    const borrowed = scoresOf(heads, context, together).commercial
    const mayBorrow = own >= heads.thresholds.commercial * GATE_LIMITS.followUpShare
    return mayBorrow ? Math.max(own, borrowed) : own
  }

  /** Most often by what was said last alone. */
  async function hasWish(users: readonly string[]): Promise<boolean> {
    const last = users.at(-1) ?? ''
    const [alone] = await embedder.embed([last])
    assert(alone)
    const own = scoresOf(heads, last, alone).commercial
    if (own < heads.thresholds.commercial * GATE_LIMITS.followUpShare) return false
    if (own >= heads.thresholds.commercial) return true
    return (await commerceOf(users)) >= heads.thresholds.commercial
  }

  return {
    async judge(turns, order) {
      const spoken = wordsClassOf(turns)
      if (spoken !== undefined) return closed('sensitive', 'words', spoken, 1)
      const users = turns.filter((turn) => turn.role === 'user').map((turn) => turn.text)
      if (order === 'wish first' && !(await hasWish(users))) return closed('not_commercial', 'no_wish', undefined, 0)
      const together = users.map((_, n) => contextOf(users.slice(0, n + 1), GATE_LIMITS.contextTurns))
      let sensitivity = 0
      // With the wish first, what was said last is embedded already, and turns by themselves are often enough.
      for (const contexts of order === 'wish first' ? [[], together] : [together]) {
        const worst = await worstOf(users, contexts)
        if (worst === undefined) return closed('too_long', 'length', undefined, 0)
        if (worst.score >= heads.thresholds.sensitive) return closed('sensitive', 'meaning', worst.topic, worst.score)
        sensitivity = worst.score
      }
      const commerce = await commerceOf(users)
      if (commerce < heads.thresholds.commercial) {
        return { ...closed('not_commercial', 'no_wish', undefined, sensitivity), commerce }
      }
      return { verdict: 'commercial', because: 'wish', topic: undefined, sensitivity, commerce }
    },
    async judgeAnswer(said, answer) {
      const [alone, vector] = await embedder.embed([answer, `${said}\n${answer}`])
      assert(alone && vector)
      const isSensitive =
        hasCrisisWords(answer) || scoresOf(heads, answer, alone).sensitive >= GATE_LIMITS.answerThreshold
      return { isSensitive, answer: alone, vector }
    },
  }
}

/** How sensitive a turn is: its worst part, remembered by digest. */
function createTopics({ embedder, heads, rememberedMax = 20_000 }: GatesOptions) {
  const remembered = new LRUCache<string, Sensitivity>({ max: rememberedMax })

  /** The worst part of each text, in order; undefined when there is more to embed than one judgement may. */
  async function sensitivities(texts: readonly string[]): Promise<Sensitivity[] | undefined> {
    const digests = texts.map((text) => textDigestOf(text).toString('base64'))
    const missing = [...new Set(digests)].filter((digest) => !remembered.has(digest))
    const windows = missing.flatMap((digest) =>
      windowsOf(texts[digests.indexOf(digest)] ?? '').map((text) => ({ digest, text })),
    )
    if (windows.length > GATE_LIMITS.windowsMax) return undefined
    const found = new Map<string, Sensitivity>()
    const vectors = await embedder.embed(windows.map(({ text }) => text))
    for (const [index, { digest, text }] of windows.entries()) {
      const { sensitive, topic } = scoresOf(heads, text, vectors[index] ?? assert.fail('a vector for every window'))
      if (sensitive >= (found.get(digest)?.score ?? 0)) found.set(digest, { score: sensitive, topic })
    }
    for (const [digest, sensitivity] of found) remembered.set(digest, sensitivity)
    return digests.map((digest) => found.get(digest) ?? remembered.get(digest) ?? { score: 1, topic: 'forgotten' })
  }

  /**
   * The worst of all turns, judged with what was said before them (`contexts`) and then alone: a few words out of their
   * context must be plainer. Undefined when there is more to embed than one judgement may.
   */
  async function worstOf(users: readonly string[], contexts: readonly string[]): Promise<Sensitivity | undefined> {
    const judged = await sensitivities([...contexts, ...users])
    const counted = judged?.filter(({ score }, n) => {
      const turn = n - contexts.length
      const isFragment = turn > 0 && (users[turn]?.length ?? 0) < GATE_LIMITS.fragmentCharacters
      return !isFragment || score >= GATE_LIMITS.fragmentThreshold
    })
    return counted?.reduce((most, one) => (one.score > most.score ? one : most), { score: 0, topic: 'none' })
  }

  return { worstOf }
}

/** A user's text is checked for all words, a model's only for words that send its reader for help. */
function wordsClassOf(turns: readonly Turn[]): string | undefined {
  for (const { role, text } of turns) {
    if (role === 'user') {
      const topic = sensitiveClassOf(text)
      if (topic !== undefined) return topic
    } else if (hasCrisisWords(text)) {
      return 'help'
    }
  }
  return undefined
}

/** The last turns as one text. Its end is kept, because what was said last matters most. */
function contextOf(users: readonly string[], turns: number): string {
  return users.slice(-turns).join('\n').slice(-GATE_LIMITS.contextCharacters)
}

function closed(
  verdict: Judgement['verdict'],
  because: Judgement['because'],
  topic: string | undefined,
  sensitivity: number,
): Judgement {
  return { verdict, because, topic, sensitivity, commerce: 0 }
}
