import { uuidv7 } from '../../src/platform/uuid.ts'
import { importFeed, type FeedImport, type ImportResult } from '../../src/recommend/feeds/import-feed.ts'
import { insertAdvertiser } from '../../src/store/offers/advertisers.ts'
import { insertCampaign } from '../../src/store/offers/campaigns.ts'
import type { Db } from '../../src/store/database.ts'
import { fund } from './clicks.ts'

export interface Shop {
  advertiserId: string
  campaignId: string
  name: string
  domain: string
}

/** An active advertiser with one campaign, and more credit than any test spends. */
export async function addShop(db: Db, name: string, domain = 'nordlicht.example'): Promise<Shop> {
  const shop = { advertiserId: uuidv7(), campaignId: uuidv7(), name, domain }
  await insertAdvertiser(db, { id: shop.advertiserId, name, legalName: null, domain, status: 'active' })
  await insertCampaign(db, {
    id: shop.campaignId,
    advertiser_id: shop.advertiserId,
    name: 'All',
    bid_nanos: 400_000_000n,
  })
  await fund(db, shop.advertiserId, 1_000_000_000_000n)
  return shop
}

export type Item = Record<string, string | undefined>

/** An item as a feed has it, fit to be accepted. */
export function itemOf(id: string, fields: Item = {}): Item {
  return {
    id,
    title: `Desk lamp ${id}`,
    description: 'Bright and small.',
    link: `https://nordlicht.example/${encodeURIComponent(id)}`,
    price: '49.00 EUR',
    availability: 'in_stock',
    ...fields,
  }
}

export function jsonLines(items: readonly Item[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('')
}

export async function* inPieces(text: string | Buffer, bytes = 65_536): AsyncGenerator<Buffer> {
  const all = Buffer.from(text)
  for (let n = 0; n < all.length; n += bytes) yield all.subarray(n, n + bytes)
}

export function importText(
  db: Db,
  shop: Shop,
  text: string | Buffer,
  options: Partial<FeedImport> & { feedName?: string } = {},
): Promise<ImportResult> {
  const { advertiserId, campaignId, domain } = shop
  const { feedName = 'main', ...others } = options
  return importFeed({
    db,
    feed: { advertiserId, campaignId, name: feedName },
    terms: { domain },
    bytes: inPieces(text),
    ...others,
  })
}
