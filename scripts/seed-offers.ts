/** An advertiser with a few offers, so that the demo's project can be seen to recommend something. */
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { uuidv7 } from '../src/platform/uuid.ts'
import { importFeed } from '../src/recommend/feeds/import-feed.ts'
import { foreignLanguageOf } from '../src/recommend/feeds/item-language.ts'
import { parseCredits } from '../src/rules/money.ts'
import { findAdvertiser, insertAdvertiser } from '../src/store/offers/advertisers.ts'
import { findCampaign, insertCampaign } from '../src/store/offers/campaigns.ts'
import type { Db } from '../src/store/database.ts'
import { lockMonetization, updateMonetization } from '../src/store/recommendations/monetization.ts'

const ADVERTISER = { name: 'Northwind Outfitters', domain: 'northwind.example' }
const CAMPAIGN = 'Demo'

/** Running it again changes nothing but what the feed has new. Whoever has set the project's monetization keeps it. */
export async function seedOffers(db: Db, projectId: string): Promise<void> {
  const advertiser = await findAdvertiser(db, { name: ADVERTISER.name })
  const advertiserId = advertiser?.id ?? uuidv7()
  if (!advertiser) await insertAdvertiser(db, { id: advertiserId, ...ADVERTISER, legalName: null, status: 'active' })
  const campaign = await findCampaign(db, { advertiserId, name: CAMPAIGN })
  const campaignId = campaign?.id ?? uuidv7()
  if (!campaign) {
    await insertCampaign(db, {
      id: campaignId,
      advertiser_id: advertiserId,
      name: CAMPAIGN,
      bid_nanos: parseCredits('0.40'),
    })
    await lockMonetization(db, projectId)
    await updateMonetization(db, projectId, { mode: 'on' })
  }
  await importFeed({
    db,
    feed: { advertiserId, campaignId, name: 'demo' },
    terms: { domain: ADVERTISER.domain, languageOf: foreignLanguageOf },
    bytes: createReadStream(join(import.meta.dirname, 'demo-offers.jsonl')),
  })
}
