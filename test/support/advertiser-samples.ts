import { uuidv7 } from '../../src/platform/uuid.ts'
import { insertAdvertiserMember } from '../../src/store/accounts/advertiser-members.ts'
import { insertAdvertiserPayment } from '../../src/store/billing/advertiser-payments.ts'
import type { Db } from '../../src/store/database.ts'
import { insertCampaign } from '../../src/store/offers/campaigns.ts'
import { must, type Person } from './console.ts'

/** The part of console-samples.ts that is about advertisers. */
export const ADVERTISER_SAMPLES = {
  'GET /api/advertisers/:advertiser': {},
  'GET /api/advertisers/:advertiser/domain': {},
  'POST /api/advertisers/:advertiser/domain/check': {},
  'GET /api/advertisers/:advertiser/members': {},
  'PATCH /api/advertisers/:advertiser/members/:member': {
    params: { member: 'advertiserMember' as const },
    body: { role: 'viewer' as const },
  },
  'DELETE /api/advertisers/:advertiser/members/:member': { params: { member: 'advertiserMember' as const } },
  'POST /api/advertisers/:advertiser/leave': {},
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
  'PUT /api/advertisers/:advertiser/campaigns/:campaign/status': {
    params: { campaign: 'campaign' as const },
    body: { status: 'paused' as const },
  },
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
  return { advertiser, advertiserMember, advertiserCheckout, campaign }
}
