import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blocksOf, isCampaignBlocked, isOfferBlocked, isRunning, type OfferFacts } from './eligibility.ts'

const NOTHING = { blockedCategories: [], blockedAdvertisers: [], blockedDomains: [], seenOffers: [] }
const OFFER: OfferFacts = {
  id: '0190a000-0000-7000-8000-00000000000a',
  campaignId: 'campaign',
  feedId: 'feed',
  itemGroup: '',
  category: 'Apparel > Shoes > Running',
  host: 'shop.fleet.example',
}
const CAMPAIGN = { id: 'campaign', advertiserId: 'fleet', advertiser: 'Fleet', domain: 'fleet.example', bidNanos: 1n }

test('a category blocks itself and what is below it, and nothing that merely begins like it', () => {
  for (const blocked of ['Apparel', 'apparel > SHOES', 'Apparel>Shoes>Running', ' Apparel > Shoes > ']) {
    assert.ok(isOfferBlocked(OFFER, blocksOf({ ...NOTHING, blockedCategories: [blocked] })), blocked)
  }
  for (const other of ['Apparel > Sho', 'Shoes', 'Apparel > Shoes > Running > Trail', '', ' > ']) {
    assert.ok(!isOfferBlocked(OFFER, blocksOf({ ...NOTHING, blockedCategories: [other] })), other)
  }
})

test('a domain blocks itself and what is below it, of the landing page and of the advertiser', () => {
  for (const blocked of ['fleet.example', 'FLEET.example', '.fleet.example', 'shop.fleet.example']) {
    assert.ok(isOfferBlocked(OFFER, blocksOf({ ...NOTHING, blockedDomains: [blocked] })), blocked)
  }
  for (const other of ['eet.example', 'a.shop.fleet.example', '', '.']) {
    assert.ok(!isOfferBlocked(OFFER, blocksOf({ ...NOTHING, blockedDomains: [other] })), other)
  }
  assert.ok(isCampaignBlocked(CAMPAIGN, blocksOf({ ...NOTHING, blockedDomains: ['fleet.example'] })))
  assert.ok(!isCampaignBlocked(CAMPAIGN, blocksOf({ ...NOTHING, blockedDomains: ['shop.fleet.example'] })))
})

test('a blocked advertiser and an offer that was seen are blocked whatever the case of their ids', () => {
  assert.ok(isCampaignBlocked(CAMPAIGN, blocksOf({ ...NOTHING, blockedAdvertisers: ['FLEET'] })))
  assert.ok(isOfferBlocked(OFFER, blocksOf({ ...NOTHING, seenOffers: [OFFER.id.toUpperCase()] })))
  assert.ok(!isOfferBlocked(OFFER, blocksOf(NOTHING)))
})

test('a campaign runs from its first moment until just before its last', () => {
  const dates = { startsAtMs: 100, endsAtMs: 200 }
  assert.deepEqual(
    [99, 100, 199, 200].map((nowMs) => isRunning(dates, nowMs)),
    [false, true, true, false],
  )
  assert.ok(isRunning({ startsAtMs: undefined, endsAtMs: undefined }, 0))
})
