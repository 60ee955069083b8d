import assert from 'node:assert/strict'
import { searchTextOf, wordIndexTextOf } from '../../rules/offers/search-text.ts'
import type { Db } from '../../store/database.ts'
import { changedOffers, offersOf, type ChangesAsked, type OfferChange } from '../../store/offers/offer-changes.ts'
import type { Embedder } from '../embedding/embedder.ts'
import type { OfferIndex } from './offer-index.ts'
import type { IndexedOffer } from './rows.ts'
import { bytesOf, embedForAll, vectorOf } from '../embedding/text-embeddings.ts'

/** Reads offers that changed and puts them into an index: those that can be found, with their vectors, and no others. */
export interface Intake {
  /** Offers whose text nobody had embedded when they were read. */
  readonly unembedded: number
  /** Writes since the index was folded. */
  unfolded: number
  /** Everything that was changed last within these transactions, into an empty index. */
  fill(index: OfferIndex, from: string, before: string): Promise<void>
  /** The same, into one that may have it already. */
  takeIn(index: OfferIndex, from: string, before: string): Promise<void>
  /** Some of what waits to be embedded. */
  embedSome(index: OfferIndex): Promise<void>
  /** Changes made before this transaction are not asked for again. */
  forgetBefore(xmin: string): void
  forgetAll(): void
  stop(): void
}

export interface IntakeOptions {
  db: Db
  embedder: Embedder
  /** How many offers one statement reads. */
  pageRows?: number | undefined
}

/** The languages that the gates judge. */
const LANGUAGES = ['en']
const PAGE_ROWS = 5_000
/** Rows that go into the engine at once while it is built: every addition is a file until it is folded. */
const ADDED_AT_ONCE = 10_000
/** Less than a second of work, and eight where it gives way to replies all the time: a change elsewhere waits no longer. */
const EMBEDDED_AT_ONCE = 64
/** Remembered only to spare work while a long transaction holds the point back. */
const KNOWN_MAX = 100_000

export function createIntake({ db, embedder, pageRows = PAGE_ROWS }: IntakeOptions): Intake {
  const asked = { model: embedder.modelId, languages: LANGUAGES, limit: pageRows }
  const unembedded = new Set<string>()
  /** Rows that were taken in and will be asked for again, with the transaction that changed them. */
  let known = new Map<string, string>()
  let isStopped = false

  function sorted(changes: readonly OfferChange[]): { offers: IndexedOffer[]; removedIds: string[] } {
    const offers: IndexedOffer[] = []
    const removedIds: string[] = []
    for (const change of changes) {
      const offer = indexedOf(change)
      // One without a vector goes too: its former text would be found in its place.
      if (offer === undefined) removedIds.push(change.id)
      else offers.push(offer)
      if (offer === undefined && change.isServable) unembedded.add(change.id)
    }
    return { offers, removedIds }
  }

  async function write(index: OfferIndex, changes: readonly OfferChange[]): Promise<void> {
    const { offers, removedIds } = sorted(changes)
    await index.write(offers, removedIds)
    intake.unfolded += Math.sign(offers.length) + Math.sign(removedIds.length)
  }

  const intake: Intake = {
    unfolded: 0,
    get unembedded() {
      return unembedded.size
    },
    async fill(index, from, before) {
      let waiting: IndexedOffer[] = []
      for await (const page of pagesOf(db, { ...asked, from, before })) {
        if (isStopped) throw new Error('stopped while following')
        waiting.push(...sorted(page).offers)
        if (waiting.length < ADDED_AT_ONCE) continue
        await index.add(waiting)
        waiting = []
      }
      await index.add(waiting)
    },
    async takeIn(index, from, before) {
      for await (const page of pagesOf(db, { ...asked, from, before })) {
        if (isStopped) throw new Error('stopped while following')
        const news = page.filter(({ id, changedIn }) => known.get(id) !== changedIn)
        await write(index, news)
        for (const { id, changedIn } of news) if (known.size < KNOWN_MAX) known.set(id, changedIn)
      }
    },
    async embedSome(index) {
      const ids = [...unembedded.values().take(EMBEDDED_AT_ONCE)]
      if (ids.length === 0) return
      // Read here and now, so that no change in between is undone; another host may have embedded them meanwhile.
      await write(index, await embedded(db, embedder, await offersOf(db, { ...asked, ids })))
      for (const id of ids) unembedded.delete(id)
    },
    forgetBefore(xmin) {
      known = new Map([...known].filter(([, changedIn]) => BigInt(changedIn) >= BigInt(xmin)))
    },
    forgetAll() {
      known.clear()
      unembedded.clear()
    },
    stop() {
      isStopped = true
    },
  }
  return intake
}

async function* pagesOf(db: Db, asked: Omit<ChangesAsked, 'after'>): AsyncGenerator<OfferChange[]> {
  let after: OfferChange | undefined
  for (;;) {
    const page = await changedOffers(db, { ...asked, after })
    if (page.length > 0) yield page
    if (page.length < asked.limit) return
    after = page.at(-1)
  }
}

/** The same offers, all of them with a vector that can be found. */
async function embedded(db: Db, embedder: Embedder, offers: OfferChange[]): Promise<OfferChange[]> {
  const missing = offers.filter(({ isServable, vector }) => isServable && vector === null)
  const texts = missing.map((offer) => ({ digest: offer.textHash, text: searchTextOf(offer) }))
  const vectors = await embedForAll(db, embedder, texts)
  missing.forEach((offer, n) => {
    offer.vector = bytesOf(vectors[n] ?? assert.fail('a vector for every text'))
  })
  return offers
}

/** Undefined: not to be found, or not yet. */
function indexedOf(change: OfferChange): IndexedOffer | undefined {
  const { id, campaignId, feedId, itemGroup, category, headline, benefit, price, currency, vector } = change
  if (!change.isServable || vector === null) return undefined
  return {
    id,
    campaignId,
    feedId,
    itemGroup: itemGroup ?? '',
    category,
    host: hostOf(change.link),
    text: wordIndexTextOf(change),
    vector: vectorOf(vector),
    headline,
    benefit,
    price: price === null || currency === null ? undefined : { amount: price, currency },
  }
}

function hostOf(link: string): string {
  return URL.canParse(link) ? new URL(link).hostname : ''
}
