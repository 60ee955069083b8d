import assert from 'node:assert/strict'
import type { Log } from '../../platform/log.ts'
import { cosineInt8 } from '../../rules/recommendations/vectors.ts'
import { textDigestOf } from '../../rules/text-digest.ts'
import { readHints, type CampaignHints, type CampaignRow } from '../../store/offers/campaign-snapshot.ts'
import type { Db } from '../../store/database.ts'
import { findVectors } from '../../store/offers/text-vectors.ts'
import type { Embedder } from '../embedding/embedder.ts'
import { embedForAll, vectorOf } from '../embedding/text-embeddings.ts'

/** For whom campaigns are, and what they do not want to stand beside, in their advertisers' words, as vectors in memory. */
export interface HintBook {
  /** The nearest hint of every campaign that has one near. */
  near(said: Int8Array): Map<string, NearHint>
  /** Is this what the advertiser does not want to stand beside? */
  isUnwanted(campaignId: string, said: Int8Array): boolean
  /** Reads and embeds what is new. */
  learn(campaigns: readonly CampaignRow[]): Promise<void>
}

export interface NearHint {
  /** As the advertiser wrote it. */
  text: string
  cosine: number
}

export interface HintBookOptions {
  db: Db
  embedder: Embedder
  log: Log
}

interface Hints {
  version: string
  context: Hint[]
  negative: Hint[]
}

export interface Hint {
  text: string
  vector: Int8Array
}

/** Each match compares all of them: 20,000 take about 6 ms. The newest campaigns go without beyond that. */
const HINTS_MAX = 20_000
/** A hint is a sentence about people and their needs; this near it is about the same need. */
const HINT_NEAR = 0.4
export const NEGATIVE_NEAR = 0.4
const ASKED_AT_ONCE = 500
const EMBEDDED_AT_ONCE = 64

export function createHintBook({ db, embedder, log }: HintBookOptions): HintBook {
  let hints = new Map<string, Hints>()
  let isFull = false

  function roomFor(context: Hint[]): Hint[] {
    const used = hints.values().reduce((sum, one) => sum + one.context.length, 0)
    if (used + context.length <= HINTS_MAX) return context
    if (!isFull) log.warn({ max: HINTS_MAX }, 'there are more context hints than can be compared: some are left out')
    isFull = true
    return []
  }

  return {
    near(said) {
      const near = new Map<string, NearHint>()
      for (const [id, { context }] of hints) {
        const nearest = nearestHint(context, said, HINT_NEAR)
        if (nearest) near.set(id, nearest)
      }
      return near
    },
    isUnwanted(campaignId, said) {
      // One whose hints are not known yet might be unwanted here.
      const known = hints.get(campaignId)
      return known === undefined || nearestHint(known.negative, said, NEGATIVE_NEAR) !== undefined
    },
    async learn(rows) {
      const current = new Map(rows.map(({ id, hintsVersion }) => [id, hintsVersion]))
      hints = new Map([...hints].filter(([id, { version }]) => current.get(id) === version))
      const changed = rows.filter(({ id }) => !hints.has(id)).map(({ id }) => id)
      for (let n = 0; n < changed.length; n += ASKED_AT_ONCE) {
        const some: CampaignHints[] = await readHints(db, changed.slice(n, n + ASKED_AT_ONCE))
        const vectors = await vectorsOf(
          db,
          embedder,
          some.flatMap((one) => [...one.contextHints, ...one.negativeHints]),
        )
        for (const { id, contextHints, negativeHints } of some) {
          const [context, negative] = [contextHints, negativeHints].map((texts) =>
            texts.map((text) => ({ text, vector: vectors.shift() ?? assert.fail('a vector for every hint') })),
          )
          assert(context && negative)
          hints.set(id, { version: current.get(id) ?? '', context: roomFor(context), negative })
        }
      }
    },
  }
}

/** Returns the nearest of the hints that are at least this near. */
export function nearestHint(hints: readonly Hint[], said: Int8Array, least = -Infinity): NearHint | undefined {
  let nearest: NearHint | undefined
  for (const { text, vector } of hints) {
    const cosine = cosineInt8(said, vector)
    if (cosine >= least && cosine > (nearest?.cosine ?? -Infinity)) nearest = { text, cosine }
  }
  return nearest
}

/** In the order of the texts, which are few: by digest from the store, and made where nobody has yet. */
async function vectorsOf(db: Db, embedder: Embedder, texts: readonly string[]): Promise<Int8Array[]> {
  const asked = texts.map((text) => ({ text, digest: textDigestOf(text) }))
  const found = await findVectors(
    db,
    embedder.modelId,
    asked.map(({ digest }) => digest),
  )
  const known = new Map([...found].map(([digest, vector]) => [digest, vectorOf(vector)]))
  const missing = asked.filter(({ digest }) => !known.has(digest.toString('hex')))
  for (let n = 0; n < missing.length; n += EMBEDDED_AT_ONCE) {
    const some = missing.slice(n, n + EMBEDDED_AT_ONCE)
    const made = await embedForAll(db, embedder, some)
    some.forEach(({ digest }, i) =>
      known.set(digest.toString('hex'), made[i] ?? assert.fail('a vector for every text')),
    )
  }
  return asked.map(({ digest }) => known.get(digest.toString('hex')) ?? assert.fail('all were found or made'))
}
