/** Everything that can put offers in order for a conversation, behind one verb, so that all are measured alike. */
import type { Embedder } from '../../src/recommend/embedding/embedder.ts'
import type { Turn } from '../../src/rules/recommendations/matching.ts'
import { createOfferIndex, type OfferIndex } from '../../src/recommend/offer-index/offer-index.ts'
import { searchTextOf, wordIndexTextOf } from '../../src/rules/offers/search-text.ts'
import { rank, searchWordsOf } from '../../src/rules/recommendations/ranking.ts'
import { cosineInt8, toInt8, VECTOR_DIMENSIONS } from '../../src/rules/recommendations/vectors.ts'
import { importedOf, uuidOf } from './catalogue.ts'
import type { PostgresSearch } from './postgres-search.ts'
import type { CatalogueOffer } from './sets.ts'
import type { VectorShelf } from './vector-shelf.ts'

/** The turns of a conversation, and the answer if there was one. */
export interface Asked {
  turns: readonly Turn[]
  answer?: string
}

export interface Engine {
  name: string
  /** Ids, best first. */
  rank(asked: Asked, limit: number): Promise<string[]>
}

/** Question and answer as one text: search by words has no way to let earlier turns count less. */
function textOf({ turns, answer }: Asked): string {
  return [saidIn(turns).at(-1), answer].filter((text) => text !== undefined).join('\n')
}

function saidIn(turns: readonly Turn[]): string[] {
  return turns.filter(({ role }) => role === 'user').map(({ text }) => text)
}

function wordsOf({ turns, answer }: Asked): string {
  return searchWordsOf(answer === undefined ? saidIn(turns) : [...saidIn(turns), answer])
}

async function vectorOf(asked: Asked, embedder: Embedder): Promise<Float32Array> {
  const [vector] = await embedder.embed([textOf(asked)])
  if (!vector) throw new Error('a vector for every text')
  return vector
}

export function postgresEngines(search: PostgresSearch): Engine[] {
  return [
    { name: 'PostgreSQL, any word', rank: (asked, limit) => search.any(textOf(asked), limit) },
    { name: 'PostgreSQL, all words', rank: (asked, limit) => search.all(textOf(asked), limit) },
  ]
}

/** Every offer compared, no index: what sentence vectors can do at their best. Hints count when asked to. */
export async function denseEngine(
  offers: readonly CatalogueOffer[],
  embedder: Embedder,
  shelf: VectorShelf,
  { withHints = false } = {},
): Promise<Engine> {
  const vectors = await shelf.vectorsOf(offers.map((offer) => searchTextOf(importedOf(offer))))
  const hints = await Promise.all(offers.map((offer) => shelf.vectorsOf(withHints ? offer.hints : [])))
  return {
    name: withHints ? 'vectors and hints' : 'vectors only',
    async rank(asked, limit) {
      const vector = toInt8(await vectorOf(asked, embedder))
      const nearest = (n: number) => [vectors[n] ?? vector, ...(hints[n] ?? [])].map((one) => cosineInt8(vector, one))
      return offers
        .map(({ id }, n) => ({ id, cosine: Math.max(...nearest(n)) }))
        .toSorted((a, b) => b.cosine - a.cosine)
        .slice(0, limit)
        .map(({ id }) => id)
    },
  }
}

/** The offers in the engine of the matcher, without a database behind it. */
export async function buildIndex(
  directory: string,
  offers: readonly CatalogueOffer[],
  shelf: VectorShelf,
): Promise<OfferIndex> {
  const index = await createOfferIndex(directory)
  const imported = offers.map(importedOf)
  const vectors = await shelf.vectorsOf(imported.map(searchTextOf))
  await index.add(
    imported.map((offer, i) => ({
      id: offer.id,
      campaignId: uuidOf('campaign', `${offer.advertiser}/${offer.campaign}`),
      feedId: '',
      itemGroup: '',
      category: offer.category,
      host: '',
      text: wordIndexTextOf(offer),
      vector: vectors[i] ?? new Int8Array(),
      headline: offer.title,
      benefit: '',
      price: undefined,
    })),
  )
  await index.finishBuild()
  await index.indexVectors()
  return index
}

/** Ranks as the matcher does before gates, campaigns and money: by words and vectors, in one order. */
export function hybridEngine(index: OfferIndex, embedder: Embedder): Engine {
  return {
    name: 'words and vectors',
    async rank(asked, limit) {
      const vector = await vectorOf(asked, embedder)
      const found = await index.search({ words: wordsOf(asked), vector })
      const ranked = rank(found.map((offer) => Object.assign(offer, { hintCosine: -1 })))
      return ranked.slice(0, limit).map(({ candidate }) => candidate.id)
    },
  }
}

/** The same engine without vectors. */
export function lexicalEngine(index: OfferIndex): Engine {
  return {
    name: 'words only',
    async rank(asked, limit) {
      const vector = new Float32Array(VECTOR_DIMENSIONS)
      const found = await index.search({ words: wordsOf(asked), vector, vectorsLimit: 0 })
      return found
        .toSorted((a, b) => b.bm25 - a.bm25)
        .slice(0, limit)
        .map(({ id }) => id)
    },
  }
}
