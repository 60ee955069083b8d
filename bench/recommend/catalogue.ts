/** Puts offers into a database as their advertisers' feeds would have, vectors included. */
import { createHash } from 'node:crypto'
import { Client } from 'pg'
import { cutAtWord, searchTextOf, textHashOf } from '../../src/rules/offers/search-text.ts'
import type { CatalogueOffer } from './sets.ts'
import type { VectorShelf } from './vector-shelf.ts'

/** The same for all, so that what wins an auction is what fits best: a bid of 0.40 for a click. */
const BID_NANOS = 400_000_000n
const BATCH = 2_000
const [NAME_CHARS_MAX, TITLE_CHARS_MAX, BRAND_CHARS_MAX, HEADLINE_CHARS_MAX, BENEFIT_CHARS_MAX] = [60, 150, 70, 60, 110]
const DESCRIPTION_CHARS_MAX = 5_000

/** Ids in the database follow from ours, so that what was matched can be looked up. */
export function uuidOf(kind: 'offer' | 'campaign' | 'advertiser', id: string): string {
  const hex = createHash('sha256').update(`${kind}/${id}`).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

/** As the importer would have cut them. */
export function importedOf(offer: CatalogueOffer): CatalogueOffer {
  return {
    ...offer,
    advertiser: cutAtWord(offer.advertiser, NAME_CHARS_MAX),
    title: cutAtWord(offer.title, TITLE_CHARS_MAX),
    brand: offer.brand ? cutAtWord(offer.brand, BRAND_CHARS_MAX) : null,
    description: cutAtWord(offer.description, DESCRIPTION_CHARS_MAX),
  }
}

export async function seedCatalogue(url: string, offers: readonly CatalogueOffer[], shelf: VectorShelf): Promise<void> {
  const imported = offers.map(importedOf)
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await insertCampaigns(client, imported)
    for (let start = 0; start < imported.length; start += BATCH) {
      await insertOffers(client, imported.slice(start, start + BATCH), shelf)
    }
    await insertHintVectors(client, imported, shelf)
    await client.query('analyze offers, text_vectors')
  } finally {
    await client.end()
  }
}

async function insertCampaigns(client: Client, offers: readonly CatalogueOffer[]): Promise<void> {
  const advertisers = [...new Set(offers.map(({ advertiser }) => advertiser))]
  await client.query(
    `insert into advertisers (id, name, domain, status)
     select *, 'active' from unnest($1::uuid[], $2::text[], $3::text[])`,
    [
      advertisers.map((name) => uuidOf('advertiser', name)),
      advertisers,
      advertisers.map((name) => `${uuidOf('advertiser', name)}.example`),
    ],
  )
  // An advertiser that could not pay for a click takes no part.
  await client.query(
    `insert into advertiser_wallets (advertiser_id, balance_nanos) select id, 1000000000000000 from advertisers on conflict do nothing`,
  )
  const campaigns = new Map(offers.map((offer) => [campaignIdOf(offer), offer]))
  const ids = [...campaigns.keys()]
  const found = [...campaigns.values()]
  await client.query(
    `insert into campaigns (id, advertiser_id, name, bid_nanos, context_hints)
     select id, advertiser_id, left(name, 200), $4, array(select jsonb_array_elements_text(hints))
     from unnest($1::uuid[], $2::uuid[], $3::text[], $5::jsonb[]) as c (id, advertiser_id, name, hints)`,
    [
      ids,
      found.map(({ advertiser }) => uuidOf('advertiser', advertiser)),
      found.map(({ campaign }) => campaign),
      BID_NANOS,
      found.map(({ hints }) => JSON.stringify(hints)),
    ],
  )
  await client.query(
    `insert into feeds (id, advertiser_id, campaign_id, name, expires_at)
     select id, advertiser_id, id, name, now() + interval '30 days' from campaigns`,
  )
}

async function insertOffers(client: Client, offers: readonly CatalogueOffer[], shelf: VectorShelf): Promise<void> {
  const hashes = offers.map(textHashOf)
  await client.query(
    `insert into offers (id, advertiser_id, campaign_id, feed_id, item_id, title, description, brand, link, category,
       headline, benefit, content_hash, text_hash)
     select id, advertiser_id, campaign_id, campaign_id, item_id, title, description, brand,
       'https://' || advertiser_id || '.example/' || id, category, headline, benefit, hash, hash
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
       $9::text[], $10::text[], $11::bytea[])
       as o (id, advertiser_id, campaign_id, item_id, title, description, brand, category, headline, benefit, hash)`,
    [
      offers.map(({ id }) => uuidOf('offer', id)),
      offers.map(({ advertiser }) => uuidOf('advertiser', advertiser)),
      offers.map(campaignIdOf),
      offers.map(({ id }) => id),
      offers.map(({ title }) => title),
      offers.map(({ description }) => description),
      offers.map(({ brand }) => brand),
      offers.map(({ category }) => category),
      offers.map(({ title }) => cutAtWord(title, HEADLINE_CHARS_MAX)),
      offers.map(({ description }) => cutAtWord(description, BENEFIT_CHARS_MAX)),
      hashes,
    ],
  )
  await insertVectors(client, hashes, await shelf.vectorsOf(offers.map(searchTextOf)), shelf.modelId)
}

async function insertHintVectors(client: Client, offers: readonly CatalogueOffer[], shelf: VectorShelf): Promise<void> {
  const hints = [...new Set(offers.flatMap((offer) => offer.hints))]
  const digests = hints.map((hint) => createHash('sha256').update(hint).digest())
  await insertVectors(client, digests, await shelf.vectorsOf(hints), shelf.modelId)
}

async function insertVectors(
  client: Client,
  digests: readonly Buffer[],
  vectors: readonly Int8Array[],
  modelId: string,
): Promise<void> {
  await client.query(
    `insert into text_vectors (model, digest, vector) select $1, * from unnest($2::bytea[], $3::bytea[])
     on conflict do nothing`,
    [modelId, digests, vectors.map((vector) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength))],
  )
}

function campaignIdOf({ advertiser, campaign }: CatalogueOffer): string {
  return uuidOf('campaign', `${advertiser}/${campaign}`)
}
