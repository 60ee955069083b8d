import { RECOMMENDATION_OUTCOMES } from '../../../../src/rules/recommendations/matching.ts'
import { outcomeWordsOf } from '../../../../src/rules/recommendations/outcome-labels.ts'
import { LABELS } from '../../../../src/rules/recommendations/block.ts'
import type { Given, Replies } from '../canned-console.ts'
import { ago, id } from './ids.ts'

type Recommendation = Given<'GET /api/projects/:project/recommendations'>['items'][number]

const ACME = { id: id(91), name: 'Acme Tools', domain: 'acme.example.com' }
const BOOKS = { id: id(92), name: 'Books & Co', domain: 'books.example.com' }

export const MONETIZATION_SETTINGS: Given<'GET /api/projects/:project/monetization'> = {
  mode: 'test',
  label: LABELS[1]?.label ?? '',
  format: 'markdown',
  audience: 'general',
  minRelevance: 0.55,
  firstTurn: 2,
  minTurnGap: 5,
  maxPerConversation: 3,
  floorNanos: 125_000_000n,
  blockedCategories: ['Toys', 'Electronics > Audio'],
  blockedDomains: ['competitor.example.com'],
  excludedTopics: ['election'],
  blockedAdvertisers: [ACME],
  labels: LABELS.slice(0, 5).map((each) => ({ ...each })),
  matcher: 'ready',
  obstacle: null,
  library: { isPublic: false, address: 'https://console.example.com/ads/project' },
}

function recommendation(n: number, more: Partial<Recommendation> = {}): Recommendation {
  return {
    id: id(900 + n),
    at: ago({ minutes: n * 17 }),
    advertiser: { id: id(930 + n), name: `Shop ${n}`, isBlocked: false },
    headline: `Offer number ${n}`,
    label: 'Ad',
    turn: n + 1,
    relevance: 0.5 + n / 33,
    priceNanos: BigInt(n) * 111_000_000n,
    state: 'delivered',
    call: `chatcmpl-rec${n}`,
    ...more,
  }
}

const RECOMMENDATIONS = [
  recommendation(1, { state: 'test' }),
  recommendation(2, { advertiser: { ...ACME, isBlocked: true } }),
  ...Array.from({ length: 9 }, (_, n) => recommendation(n + 3)),
]

export const MONETIZATION: Replies = {
  'GET /api/projects/:project/monetization': MONETIZATION_SETTINGS,
  'PUT /api/projects/:project/monetization/mode': { mode: 'off' },
  'PATCH /api/projects/:project/monetization': { mode: 'test' },
  'PUT /api/projects/:project/monetization/library': { done: true },
  'PUT /api/projects/:project/monetization/blocked-advertisers': { done: true },
  'GET /api/projects/:project/monetization/reports': {
    reportsToStop: 3,
    items: [
      {
        offer: id(961),
        headline: 'Offer number 1',
        advertiser: 'Shop 1',
        reports: 3,
        at: ago({ minutes: 40 }),
        reason: 'It is misleading',
        isStopped: true,
      },
      {
        offer: id(962),
        headline: 'Offer number 2',
        advertiser: 'Shop 2',
        reports: 1,
        at: ago({ minutes: 400 }),
        reason: null,
        isStopped: false,
      },
    ],
  },
  'GET /api/projects/:project/monetization/preview': ({ query }) => ({
    label: query.label ?? 'Ad',
    format: query.format === 'plain' ? 'plain' : 'markdown',
    reply: 'Soak the **beans** overnight.',
    block: `**${query.label}** · [A pot for beans](https://pots.example.com) by Pots Ltd`,
    match: {
      conversation: { id: 'reader-7:beans', at: ago({ hours: 5 }) },
      advertiser: 'Pots Ltd',
      relevance: 0.618,
    },
    sampleBecause: null,
  }),
  'GET /api/projects/:project/monetization/outcomes': ({ query }) => ({
    from: ago({ days: 7 }),
    calls: query.range === '24h' ? 5_000 : 50_000,
    recommended: 1_260,
    outcomes: RECOMMENDATION_OUTCOMES.map((outcome, n) => ({
      outcome,
      ...outcomeWordsOf(outcome),
      calls: (20 - n) * 230 + n,
    })),
  }),
  'GET /api/projects/:project/recommendations': ({ query }) =>
    query.after === undefined
      ? { items: RECOMMENDATIONS.slice(0, Number(query.limit)), next: 'after-rec' }
      : { items: [recommendation(20)], next: null },
  'GET /api/projects/:project/monetization/catalogue': { advertisers: [ACME, BOOKS] },
  'GET /api/projects/:project/monetization/categories': { items: ['Garden', 'Kitchen > Pots'] },
}
