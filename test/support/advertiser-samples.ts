import { uuidv7 } from '../../src/platform/uuid.ts'
import { insertAdvertiserMember } from '../../src/store/accounts/advertiser-members.ts'
import { upsertInvitation } from '../../src/store/accounts/invitations.ts'
import { insertAdvertiserPayment } from '../../src/store/billing/advertiser-payments.ts'
import type { Db } from '../../src/store/database.ts'
import { setFeedSource } from '../../src/store/offers/feed-schedule.ts'
import { insertUpload } from '../../src/store/offers/feed-uploads.ts'
import { endFeedRun, ensureFeed, startFeedRun } from '../../src/store/offers/feeds.ts'
import { insertCampaign } from '../../src/store/offers/campaigns.ts'
import { must, type Person } from './console.ts'

/** The part of console-samples.ts that is about advertisers. */
export const ADVERTISER_SAMPLES = {
  'GET /api/advertisers/:advertiser': {},
  'GET /api/advertisers/:advertiser/domain': {},
  'POST /api/advertisers/:advertiser/domain/check': {},
  'GET /api/advertisers/:advertiser/members': {},
  'POST /api/advertisers/:advertiser/invitations': { body: { email: 'sample@example.com', role: 'viewer' as const } },
  'DELETE /api/advertisers/:advertiser/invitations/:invitation': {
    params: { invitation: 'advertiserInvitation' as const },
  },
  'PATCH /api/advertisers/:advertiser/members/:member': {
    params: { member: 'advertiserMember' as const },
    body: { role: 'viewer' as const },
  },
  'DELETE /api/advertisers/:advertiser/members/:member': { params: { member: 'advertiserMember' as const } },
  'POST /api/advertisers/:advertiser/leave': {},
  'GET /api/advertisers/:advertiser/report': {},
  'GET /api/advertisers/:advertiser/report.csv': { query: { by: 'hint' as const } },
  'GET /api/advertisers/:advertiser/wallet': {},
  'POST /api/advertisers/:advertiser/checkouts': { body: { amountNanos: '25000000000' } },
  'GET /api/advertisers/:advertiser/checkouts/:checkout': { params: { checkout: 'advertiserCheckout' as const } },
  'GET /api/advertisers/:advertiser/campaigns': {},
  'POST /api/advertisers/:advertiser/campaigns': {
    body: { name: 'Lamps', bidNanos: '400000000', hints: ['for people who read at night'] },
  },
  'GET /api/advertisers/:advertiser/campaigns/:campaign': { params: { campaign: 'campaign' as const } },
  'PATCH /api/advertisers/:advertiser/campaigns/:campaign': {
    params: { campaign: 'campaign' as const },
    body: { bidNanos: '500000000', dailyBudgetNanos: '20000000000' },
  },
  'POST /api/advertisers/:advertiser/hint-preview': {
    body: { hints: ['for people who read at night'], negativeHints: [] },
  },
  'PUT /api/advertisers/:advertiser/campaigns/:campaign/status': {
    params: { campaign: 'campaign' as const },
    body: { status: 'paused' as const },
  },
  'GET /api/advertisers/:advertiser/feeds': {},
  'POST /api/advertisers/:advertiser/campaigns/:campaign/feeds': {
    params: { campaign: 'campaign' as const },
    body: { name: 'Lids', url: 'https://shop.example.com/lids.xml?key=7', every: '6h' as const, currency: 'EUR' },
  },
  // Not verified yet, so that nobody is asked.
  'POST /api/advertisers/:advertiser/feed-address-checks': { body: { url: 'https://shop.example.com/lids.xml' } },
  'GET /api/advertisers/:advertiser/feeds/:feed': { params: { feed: 'feed' as const } },
  'PUT /api/advertisers/:advertiser/feeds/:feed': {
    params: { feed: 'feed' as const },
    body: { url: 'https://shop.example.com/pots.xml', every: 'hourly' as const, currency: null },
  },
  'PUT /api/advertisers/:advertiser/feeds/:feed/paused': {
    params: { feed: 'feed' as const },
    body: { isPaused: true },
  },
  'POST /api/advertisers/:advertiser/feeds/:feed/fetch': {
    params: { feed: 'feed' as const },
    body: { confirmRemoval: true },
  },
  'DELETE /api/advertisers/:advertiser/feeds/:feed': { params: { feed: 'feed' as const } },
  'GET /api/advertisers/:advertiser/feeds/:feed/runs': { params: { feed: 'feed' as const } },
  'POST /api/advertisers/:advertiser/campaigns/:campaign/feed-uploads': {
    params: { campaign: 'campaign' as const },
    query: { feed: 'Lids', file: 'lids.csv' },
    body: new Blob(['id,title,link,price\n']),
  },
  'GET /api/advertisers/:advertiser/feed-uploads/:upload': { params: { upload: 'upload' as const } },
  'POST /api/advertisers/:advertiser/feed-uploads/:upload/publish': {
    params: { upload: 'upload' as const },
    body: { confirmRemoval: true },
  },
  'DELETE /api/advertisers/:advertiser/feed-uploads/:upload': { params: { upload: 'upload' as const } },
  'GET /api/advertisers/:advertiser/offers': {},
}

/** The end of an id without its digits, which as a name would sometimes look like a telephone number. */
export function lettersOf(id: string): string {
  return id.slice(-12).replaceAll(/\d/g, (digit) => 'ghijklmnop'.charAt(Number(digit)))
}

/** An advertiser of theirs with a campaign and a payment, for which somebody else may act, too. */
export async function addOwnAdvertiser(db: Db, person: Person, advertiserMember: string) {
  const { body } = await must(
    person.send('POST /api/me/advertisers', {
      body: { name: `Shop ${lettersOf(person.publisherId)}`, legalName: 'Shop Ltd', domain: 'shop.example.com' },
    }),
  )
  const advertiser = String(body.id)
  await insertAdvertiserMember(db, advertiser, advertiserMember, 'admin')
  const campaign = uuidv7()
  await insertCampaign(db, { id: campaign, advertiser_id: advertiser, name: 'Pots', bid_nanos: 400_000_000n })
  const advertiserCheckout = `cs_test_ad_${advertiser.replaceAll('-', '')}`
  const payment = { sessionId: advertiserCheckout, advertiserId: advertiser, amount: 25_000_000_000n, currency: 'usd' }
  await insertAdvertiserPayment(db, payment)
  const advertiserInvitation = uuidv7()
  const invitation = { email: `guest-${advertiser}@example.com`, role: 'viewer' as const, invitedBy: 'Somebody' }
  const expiresAt = new Date(Date.now() + 86_400_000)
  const sent = { id: advertiserInvitation, team: { advertiserId: advertiser }, inviterId: advertiserMember, expiresAt }
  await upsertInvitation(db, { ...invitation, ...sent })
  const feeds = await addOwnFeed(db, advertiser, campaign)
  return { advertiser, advertiserMember, advertiserCheckout, advertiserInvitation, campaign, ...feeds }
}

/** A feed with an address and a run, one of its offers, and a file that waits to be published. */
export async function addOwnFeed(db: Db, advertiser: string, campaign: string) {
  const feed = await ensureFeed(db, { advertiserId: advertiser, campaignId: campaign, name: 'Pots' })
  const source = { sourceUrl: 'https://shop.example.com/pots.xml?key=7', interval: 'daily' as const, currency: null }
  await setFeedSource(db, feed, { ...source, campaignId: campaign })
  const run = uuidv7()
  await startFeedRun(db, { id: run, feedId: feed, format: 'xml' })
  const counts = { rows: 2, added: 1, changed: 0, unchanged: 0, rejected: 1, removed: 0, missing: 0 }
  const rejections = [{ row: 2, item: 'pot-2', reason: 'price is missing' }]
  await endFeedRun(db, { id: run, state: 'published', reason: null, counts, rejections })
  await db
    .insertInto('offers')
    .values({
      id: uuidv7(),
      advertiser_id: advertiser,
      campaign_id: campaign,
      feed_id: feed,
      item_id: 'pot-1',
      title: 'Heavy pot',
      headline: 'Heavy pot',
      link: 'https://shop.example.com/pot-1',
      price: '49.00',
      currency: 'EUR',
      review: 'pending',
      review_reason: 'it makes a promise: "guaranteed"',
      content_hash: Buffer.alloc(32),
      text_hash: Buffer.alloc(32),
    })
    .execute()
  const upload = uuidv7()
  const sent = { feed: 'Pots', currency: null, fileName: 'pots.csv', file: Buffer.from('id,title,link,price\n') }
  await insertUpload(db, { ...sent, id: upload, advertiserId: advertiser, campaignId: campaign })
  const report = { format: 'csv', live: 1, counts, pending: 1, rejections, changes: [], refusal: null }
  await db
    .updateTable('feed_uploads')
    .set({ state: 'checked', due_at: null, report: JSON.stringify(report) })
    .where('id', '=', upload)
    .execute()
  return { feed, upload }
}
