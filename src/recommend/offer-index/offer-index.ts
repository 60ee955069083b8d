import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Connection, Table } from '@lancedb/lancedb'
import type { Table as Rows } from 'apache-arrow'
import { MINUTE_MS } from '../../rules/durations.ts'
import { cosineInt8, toInt8 } from '../../rules/recommendations/vectors.ts'
import { loadEngine, type Engine } from './engine.ts'
import { schemaOf, tableOf, unpack, type IndexedOffer, type StoredOffer } from './rows.ts'

/**
 * The offers of this host in the search engine: found by words and by vectors, compared by exact cosines. One process
 * writes; a directory is rebuilt from PostgreSQL whenever there is doubt about it, so nothing here is worth a backup.
 */
export interface OfferIndex {
  count(): Promise<number>
  /** Without order: what has the words, what is near, and how near each of them is. */
  search(question: Question): Promise<FoundOffer[]>
  /** For a first build alone: no id may be there already. */
  add(offers: readonly IndexedOffer[]): Promise<void>
  /** Makes what was added searchable. */
  finishBuild(): Promise<void>
  /** Replaces the offers that are there already. Visible to the next search. */
  write(offers: readonly IndexedOffer[], removedIds: readonly string[]): Promise<void>
  /**
   * Makes the index of vectors once there are many, which takes minutes of work and can go on beside everything else.
   * Until then a large catalogue is found by its words alone, and compared by its vectors all the same.
   */
  indexVectors(): Promise<void>
  /** Folds what was written lately into the large index: every unfolded write makes searches slower. */
  optimize(): Promise<void>
  close(): void
}

export interface Question {
  words: string
  /** May come later: the search for words does not wait for it. */
  vector: Float32Array | Promise<Float32Array>
  wordsLimit?: number
  /** 0: by words alone. */
  vectorsLimit?: number
  /** Only these campaigns, or all but these. */
  campaigns?: { only: readonly string[] } | { without: readonly string[] }
}

export interface FoundOffer extends StoredOffer {
  /** 0: it was found by its vector alone. */
  bm25: number
  cosine: number
}

/** Half the offers that fit best have none of the words that were said, and the 200 best by words hold nearly all others. */
const BY_WORDS = 200
const BY_VECTOR = 60
const TABLE = 'offers'
/** The engine compares 10,000 vectors in 30 ms and more, and an index answers in 2; below this it would find fewer. */
export const VECTOR_INDEX_FROM_ROWS = 5_000
/** Until there is an index, this many are compared all the same. Beyond it the answer would come too late. */
const COMPARED_MAX = 50_000
/** All of 20,000; there are 500 groups at 1,000,000 vectors, of which this is 16. */
const OFFERS_LOOKED_AT = 32_000
/** So many times as many as are wanted are compared exactly, because an index of one bit for each dimension is not exact. */
const LOOKED_AT_AGAIN = 2
const REMOVED_AT_ONCE = 500
/** Searches that run see the version that they began with; none of them runs for a minute. */
const KEEP_VERSIONS_MS = MINUTE_MS

/** Undefined: there is none in this directory. */
export async function openOfferIndex(directory: string): Promise<OfferIndex | undefined> {
  const { database } = await connectTo(directory)
  const names = await database.tableNames()
  if (!names.includes(TABLE)) return undefined
  return offerIndexOf(database, await database.openTable(TABLE))
}

/** An empty one, in place of any that was there. */
export async function createOfferIndex(directory: string): Promise<OfferIndex> {
  await rm(indexPathOf(directory), { recursive: true, force: true })
  const { engine, database } = await connectTo(directory)
  return offerIndexOf(database, await database.createEmptyTable(TABLE, schemaOf(engine)))
}

async function connectTo(directory: string): Promise<{ engine: Engine; database: Connection }> {
  const engine = await loadEngine()
  // The only writer is this process, whose own handle sees its own writes at once; the interval is for readers beside it.
  const database = await engine.lancedb.connect(indexPathOf(directory), { readConsistencyInterval: 1 })
  return { engine, database }
}

function indexPathOf(directory: string): string {
  return join(directory, 'index')
}

async function offerIndexOf(database: Connection, table: Table): Promise<OfferIndex> {
  const engine = await loadEngine()
  const { Index } = engine.lancedb
  let rows = await table.countRows()
  const indexed = new Set((await table.listIndices()).map(({ columns }) => columns[0]))

  async function indexWords(): Promise<void> {
    const words = { withPosition: false, stem: true, removeStopWords: true, asciiFolding: true, language: 'English' }
    await table.createIndex('text', { config: Index.fts(words) })
    indexed.add('text')
  }

  async function indexVectors(): Promise<void> {
    if (indexed.has('vector') || rows < VECTOR_INDEX_FROM_ROWS) return
    // One bit for each dimension: what is found is compared exactly anyway. Made in 70 s of one core at 1,000,000, where
    // product quantisation took over 300.
    const groups = { distanceType: 'cosine', numPartitions: groupsOf(rows), sampleRate: 32, maxIterations: 6 } as const
    await table.createIndex('vector', { config: Index.ivfRq(groups) })
    indexed.add('vector')
  }

  const index: Omit<OfferIndex, 'close'> = {
    count: () => table.countRows(),
    async search(question) {
      const canBeNear = rows < COMPARED_MAX || indexed.has('vector')
      const [worded, near] = await Promise.all([
        // A table without the index refuses the question instead of finding nothing.
        indexed.has('text') ? byWords(table, question) : undefined,
        canBeNear ? byVector(table, question, groupsLookedAt(rows)) : undefined,
      ])
      const asked = toInt8(await question.vector)
      const found = new Map<string, FoundOffer>()
      for (const { packed, bm25 } of [...rowsOf(worded), ...rowsOf(near)]) {
        const offer = unpack(packed)
        if (!found.has(offer.id)) found.set(offer.id, { ...offer, bm25, cosine: cosineInt8(asked, offer.vector) })
      }
      return [...found.values()]
    },
    async add(offers) {
      if (offers.length > 0) await table.add(tableOf(engine, offers))
    },
    async finishBuild() {
      await indexWords()
      if (!indexed.has('id')) await table.createIndex('id', { config: Index.btree() })
      if (!indexed.has('campaign')) await table.createIndex('campaign', { config: Index.bitmap() })
      indexed.add('id').add('campaign')
      rows = await table.countRows()
    },
    async write(offers, removedIds) {
      if (offers.length > 0) {
        const merge = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll()
        await merge.execute(tableOf(engine, offers))
      }
      for (let n = 0; n < removedIds.length; n += REMOVED_AT_ONCE) {
        await table.delete(`id IN (${listOf(removedIds.slice(n, n + REMOVED_AT_ONCE))})`)
      }
      rows = await table.countRows()
    },
    indexVectors,
    async optimize() {
      await table.optimize({ cleanupOlderThan: new Date(Date.now() - KEEP_VERSIONS_MS) })
    },
  }
  return closedWhenIdle(index, () => {
    table.close()
    database.close()
  })
}

/** The engine does not survive it when a table is closed in which something still runs: the whole process ends. */
function closedWhenIdle(index: Omit<OfferIndex, 'close'>, close: () => void): OfferIndex {
  let running = 0
  let isClosed = false
  async function during<T>(work: () => Promise<T>): Promise<T> {
    assert(!isClosed, 'the index is closed')
    running += 1
    try {
      return await work()
    } finally {
      running -= 1
      if (isClosed && running === 0) close()
    }
  }
  return {
    count: () => during(() => index.count()),
    search: (question) => during(() => index.search(question)),
    add: (offers) => during(() => index.add(offers)),
    finishBuild: () => during(() => index.finishBuild()),
    write: (offers, removedIds) => during(() => index.write(offers, removedIds)),
    indexVectors: () => during(() => index.indexVectors()),
    optimize: () => during(() => index.optimize()),
    close() {
      if (!isClosed && running === 0) close()
      isClosed = true
    },
  }
}

async function byWords(table: Table, question: Question): Promise<Rows | undefined> {
  const { words, wordsLimit = BY_WORDS } = question
  if (wordsLimit === 0 || words.trim() === '') return undefined
  const query = table.query().fullTextSearch(words, { columns: 'text' }).select(['packed', '_score']).limit(wordsLimit)
  const filter = filterOf(question)
  return (filter === undefined ? query : query.where(filter)).toArrow()
}

function groupsOf(rows: number): number {
  return Math.round(Math.sqrt(rows) / 2)
}

function groupsLookedAt(rows: number): number {
  const groups = Math.max(1, groupsOf(rows))
  return Math.min(groups, Math.ceil((OFFERS_LOOKED_AT * groups) / Math.max(1, rows)))
}

async function byVector(table: Table, question: Question, groups: number): Promise<Rows | undefined> {
  const { vector, vectorsLimit = BY_VECTOR } = question
  if (vectorsLimit === 0) return undefined
  const query = table
    .query()
    .nearestTo(await vector)
    .distanceType('cosine')
    .nprobes(groups)
    .refineFactor(LOOKED_AT_AGAIN)
  const filter = filterOf(question)
  const filtered = filter === undefined ? query : query.where(filter)
  return filtered.select(['packed', '_distance']).limit(vectorsLimit).toArrow()
}

function* rowsOf(rows: Rows | undefined): Generator<{ packed: Uint8Array; bm25: number }> {
  const packed = rows?.getChild('packed')
  const scores = rows?.getChild('_score')
  for (let n = 0; n < (rows?.numRows ?? 0); n++) {
    yield { packed: packed?.get(n) as Uint8Array, bm25: (scores?.get(n) as number | undefined) ?? 0 }
  }
}

function filterOf({ campaigns }: Question): string | undefined {
  if (campaigns === undefined) return undefined
  return 'only' in campaigns
    ? `campaign IN (${listOf(campaigns.only)})`
    : `campaign NOT IN (${listOf(campaigns.without)})`
}

function listOf(ids: readonly string[]): string {
  return ids.map((id) => `'${id.replaceAll("'", "''")}'`).join(', ')
}
