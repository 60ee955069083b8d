/**
 * A database of many offers for bench/matcher.ts. The texts are real ones with another colour, size and number each; their
 * vectors are those of the real text with a little noise, because embedding 1,000,000 texts takes an hour and a half and
 * says nothing about the engine. The database stays and is used again by the next run.
 */
import assert from 'node:assert/strict'
import { Client } from 'pg'
import { join } from 'node:path'
import { LOCAL_ADMIN_URL } from '../scripts/postgres.ts'
import { openEmbedder } from '../src/recommend/embedding/embedder.ts'
import { searchTextOf } from '../src/rules/offers/search-text.ts'
import { migrate } from '../src/store/migrate.ts'
import { ensureTestLogins } from '../test/support/logins.ts'
import { createRandom } from '../test/support/random.ts'
import { importedOf, seedCatalogue } from './recommend/catalogue.ts'
import { readOwnOffers, readPublicOffers, type CatalogueOffer } from './recommend/sets.ts'
import { openVectorShelf, type VectorShelf } from './recommend/vector-shelf.ts'

const KEPT_DIR = join(import.meta.dirname, '../.parley')
const COLOURS = ['black', 'white', 'red', 'blue', 'green', 'grey', 'silver', 'brown', 'yellow', 'orange']
const SIZES = ['small', 'medium', 'large', 'compact', 'slim', 'wide', 'mini', 'full size']
const NUMBER = /\bref(\d{7})\b/
/** Near enough to share all neighbours, far enough that no two are the same. */
const NOISE = 3

export interface Seeding {
  offers: number
  data: string | undefined
  isFresh: boolean
}

/** The address of the database, made and filled if it is not there. */
export async function findOrSeed({ offers, data, isFresh }: Seeding): Promise<string> {
  const adminUrl = process.env.PARLEY_TEST_POSTGRES_URL || LOCAL_ADMIN_URL
  const name = `parley_bench_matcher_${offers}${data === undefined ? '_own' : ''}`
  const url = Object.assign(new URL(adminUrl), { pathname: `/${name}` }).href
  const admin = new Client({ connectionString: adminUrl })
  await admin.connect()
  try {
    if (isFresh) await admin.query(`drop database if exists ${name} with (force)`)
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [name])
    if (rowCount === 1) return url
    // Named only when complete: a run that was stopped leaves nothing that would be taken for a whole one.
    const draft = `${name}_draft`
    await admin.query(`drop database if exists ${draft} with (force)`)
    await admin.query(`create database ${draft} template template0 encoding 'UTF8'`)
    await seed(Object.assign(new URL(adminUrl), { pathname: `/${draft}` }).href, offers, data)
    await admin.query(`alter database ${draft} rename to ${name}`)
    return url
  } finally {
    await admin.end()
  }
}

async function seed(url: string, count: number, data: string | undefined): Promise<void> {
  const startedMs = performance.now()
  await migrate(url)
  await ensureTestLogins(url)
  const embedder = await openEmbedder({ cacheDir: join(KEPT_DIR, 'models') })
  const shelf = openVectorShelf(embedder, join(KEPT_DIR, 'bench'))
  const bases = data === undefined ? readOwnOffers() : readPublicOffers(data)
  const vectors = await shelf.vectorsOf(bases.map((base) => searchTextOf(importedOf(base))))
  const offers = Array.from({ length: count }, (_, n) =>
    variantOf(bases[n % bases.length] ?? assert.fail('no offers'), n),
  )
  await seedCatalogue(url, offers, noisyShelf(shelf, vectors))
  await embedder.close()
  console.error(`seeded ${count} offers in ${Math.round((performance.now() - startedMs) / 1_000)} s`)
}

function variantOf(base: CatalogueOffer, n: number): CatalogueOffer {
  const random = createRandom(n)
  const number = `ref${String(n).padStart(7, '0')}`
  const title = `${number} ${random.pick(COLOURS)} ${random.pick(SIZES)} ${base.title}`
  return { ...base, id: `${base.id}/${n}`, title }
}

function noisyShelf(shelf: VectorShelf, vectors: readonly Int8Array[]): VectorShelf {
  return {
    modelId: shelf.modelId,
    async vectorsOf(texts) {
      const numbers = texts.map((text) => NUMBER.exec(text)?.[1])
      // Hints have no number: they are few, and embedded.
      if (numbers.some((number) => number === undefined)) return shelf.vectorsOf(texts)
      return numbers.map((number) => {
        const n = Number(number)
        const random = createRandom(n)
        const base = vectors[n % vectors.length] ?? assert.fail('no vectors')
        return base.map((part) => Math.max(-127, Math.min(127, part + random.int(2 * NOISE + 1) - NOISE)))
      })
    },
  }
}
