import { sql } from 'kysely'
import { uuidv7 } from '../../../src/platform/uuid.ts'
import type { RecommendationOutcome } from '../../../src/rules/recommendations/matching.ts'
import type { Db } from '../../../src/store/database.ts'
import {
  addOutcomes,
  insertRecommendations,
  setRecommendationStates,
} from '../../../src/store/recommendations/records.ts'
import { HOUR_MS } from '../../../src/rules/durations.ts'
import { furnishEarnings } from './furnish-earnings.ts'
import { addMatcher, addOffer, type AddedOffer } from '../../support/catalogue.ts'

/** Two weeks of recommendations on a site about cooking. */

const HOURS = 14 * 24
const OFFERS = [
  {
    advertiser: 'Northpan',
    domain: 'northpan.example.com',
    headline: 'Cast-iron Dutch oven, 4.5 l',
    benefit: 'keeps the heat that a good crust needs',
    category: 'Home & Garden > Kitchen > Cookware',
    price: '89.00',
  },
  {
    advertiser: 'Hearth & Crumb',
    domain: 'hearth.example.com',
    headline: 'Proofing basket set',
    benefit: 'two baskets, liners and a scraper',
    category: 'Home & Garden > Kitchen > Baking',
    price: '24.50',
  },
  {
    advertiser: 'Ridgeline Knives',
    domain: 'ridgeline.example.com',
    headline: 'Chef’s knife, 20 cm',
    benefit: 'forged, and sharpened free of charge for ten years',
    category: 'Home & Garden > Kitchen > Knives',
    price: '119.00',
  },
  {
    advertiser: 'Green Crate',
    domain: 'crate.example.com',
    headline: 'Weekly vegetable box',
    benefit: 'from farms within 50 km, paused whenever you like',
    category: 'Food > Vegetables',
  },
]

/** Roughly per thousand calls. */
const SHARES: [RecommendationOutcome, number][] = [
  ['not_commercial', 438],
  ['no_match', 171],
  ['capped', 92],
  ['served', 86],
  ['sensitive', 61],
  ['below_relevance', 54],
  ['answer_shape', 38],
  ['format', 27],
  ['opted_out', 9],
  ['excluded_topic', 5],
  ['deadline', 3],
  ['unavailable', 1],
]

export async function furnishMonetization(db: Db, projectId: string): Promise<void> {
  const offers: AddedOffer[] = []
  for (const offer of OFFERS) offers.push(await addOffer(db, offer))
  await addMatcher(db, 48_210n)
  await db
    .insertInto('monetization')
    .values({
      project_id: projectId,
      mode: 'on',
      label: 'Sponsored',
      min_relevance: 0.55,
      floor_nanos: 100_000_000n,
      blocked_categories: ['Alcohol', 'Toys & Games'],
      blocked_domains: ['rival-recipes.com'],
      excluded_topics: ['allergy', 'eating disorder'],
      blocked_advertisers: [String(offers.at(-1)?.advertiserId)],
    })
    .execute()
  await addOutcomes(db, [...countsOf(projectId)])
  await recommend(db, projectId, offers)
  await furnishEarnings(db, projectId, offers)
}

function* countsOf(projectId: string) {
  const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  for (let ago = 0; ago < HOURS; ago += 1) {
    const hour = new Date(now - ago * HOUR_MS)
    // Busier by day than by night.
    const all = 60 + 40 * Math.sin((hour.getUTCHours() / 24) * 2 * Math.PI)
    for (const [outcome, share] of SHARES) {
      const calls = Math.floor((all * share) / 1_000 + ((ago * 7) % 10) / 10)
      if (calls > 0) yield { projectId, hour, outcome, calls }
    }
  }
}

/** Real calls of the project had them, so that each leads to its call. */
async function recommend(db: Db, projectId: string, offers: readonly AddedOffer[]): Promise<void> {
  const { rows: calls } = await sql<{ id: string; created_at: Date }>`
    select id, created_at from calls where project_id = ${projectId} and outcome = 'completed'
      and created_at > now() - interval '1 day' order by id desc limit 24`.execute(db)
  const ids = calls.map(({ created_at: at }) => uuidv7(at.getTime()))
  await insertRecommendations(
    db,
    calls.map(({ id }, n) => ({
      id: ids[n] as string,
      projectId,
      callId: id,
      ...(offers[(n * 5) % offers.length] as AddedOffer),
      turn: 1 + ((n * 3) % 6),
      priceNanos: BigInt(120_000_000 + ((n * 37_000_000) % 310_000_000)),
      relevance: 0.58 + ((n * 13) % 35) / 100,
      label: 'Sponsored',
      conversation: undefined,
    })),
  )
  await setRecommendationStates(
    db,
    ids.map((id, n) => ({ id, state: n === 20 ? 'test' : 'delivered' })),
  )
  for (const { id, created_at: at } of calls)
    await sql`update recommendations set created_at = ${at} where call_id = ${id}`.execute(db)
}
