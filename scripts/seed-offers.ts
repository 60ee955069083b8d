/** Two advertisers, each with an offer for everything that simulated models give advice about: the demo's project recommends them. */
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { uuidv7 } from '../src/platform/uuid.ts'
import { importFeed } from '../src/recommend/feeds/import-feed.ts'
import { foreignLanguageOf } from '../src/recommend/feeds/item-language.ts'
import { parseCredits } from '../src/rules/money.ts'
import { creditAdvertiser } from '../src/store/billing/wallets.ts'
import { findAdvertiser, insertAdvertiser } from '../src/store/offers/advertisers.ts'
import { findCampaign, insertCampaign } from '../src/store/offers/campaigns.ts'
import type { Db } from '../src/store/database.ts'
import { lockMonetization, updateMonetization } from '../src/store/recommendations/monetization.ts'

/** Two, because the price of a click is what the other one would have paid. */
const SHOPS = [
  { name: 'Northwind Outfitters', domain: 'northwind.example', bid: '0.40', file: 'demo-offers.jsonl' },
  { name: 'Harbour Supply', domain: 'harbour.example', bid: '0.35', file: 'demo-offers-harbour.jsonl' },
]
const CAMPAIGN = 'Demo'
/** Where only one of them has something that fits, a click costs this. */
const FLOOR = '0.10'
/** An advertiser that could not pay for a click is not recommended. */
const CREDIT = '100'

/** Running it again changes nothing except what is new in the feeds. A project keeps the monetization that it has set. */
export async function seedOffers(db: Db, projectId: string): Promise<void> {
  const areNew: boolean[] = []
  for (const shop of SHOPS) areNew.push(await seedShop(db, shop))
  if (!areNew.every(Boolean)) return
  await lockMonetization(db, projectId)
  await updateMonetization(db, projectId, { mode: 'on', floorNanos: parseCredits(FLOOR) })
}

/** Says whether it was not there yet. */
async function seedShop(db: Db, { name, domain, bid, file }: (typeof SHOPS)[number]): Promise<boolean> {
  const advertiser = await findAdvertiser(db, { name })
  const advertiserId = advertiser?.id ?? uuidv7()
  if (!advertiser) {
    await insertAdvertiser(db, { id: advertiserId, name, domain, legalName: null, status: 'active' })
    const [id, amount] = [uuidv7(), parseCredits(CREDIT)]
    await creditAdvertiser(db, {
      id,
      advertiserId,
      amount,
      kind: 'grant',
      reference: `demo:${advertiserId}`,
      reason: null,
    })
  }
  const campaign = await findCampaign(db, { advertiserId, name: CAMPAIGN })
  const campaignId = campaign?.id ?? uuidv7()
  const bidNanos = parseCredits(bid)
  if (!campaign)
    await insertCampaign(db, { id: campaignId, advertiser_id: advertiserId, name: CAMPAIGN, bid_nanos: bidNanos })
  await importFeed({
    db,
    feed: { advertiserId, campaignId, name: 'demo' },
    terms: { domain, languageOf: foreignLanguageOf },
    bytes: createReadStream(join(import.meta.dirname, file)),
  })
  return !advertiser
}
