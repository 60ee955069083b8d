import type { Given, Replies } from '../canned-console.ts'
import { ADVERTISER_OF_MINE, ago, CAMPAIGN, id, NOW } from './ids.ts'

/** The spending of Lamp Works, day by day and by campaign. */

const DAY_MS = 86_400_000
const MIDNIGHT_MS = Math.floor(NOW.getTime() / DAY_MS) * DAY_MS

const DAYS = Array.from({ length: 30 }, (_, n) => ({
  at: new Date(MIDNIGHT_MS - (29 - n) * DAY_MS),
  clicks: (n * 7) % 23,
  spentNanos: BigInt((n * 7) % 23) * 310_000_000n,
}))

type Campaign = Given<'GET /api/advertisers/:advertiser/campaigns'>['items'][number]

const LAMPS: Campaign = {
  id: CAMPAIGN,
  name: 'Desk lamps',
  status: 'active',
  createdAt: ago({ days: 40 }),
  bidNanos: 410_000_000n,
  dailyBudgetNanos: 21_000_000_000n,
  totalBudgetNanos: 900_000_000_000n,
  pacing: 'even',
  startsAt: null,
  endsAt: new Date('2026-12-24T00:00:00Z'),
  hints: ['for people who read at night', 'for small desks'],
  negativeHints: ['power cuts'],
  offers: 418,
  spentNanos: 131_420_000_000n,
  spentTodayNanos: 7_130_000_000n,
  limitedBy: 'pacing',
  standing: 'limited',
  explanation: 'The spend is up to plan for now, so it waits. This is pacing at work.',
}

const CAMPAIGNS: Campaign[] = [
  LAMPS,
  {
    ...LAMPS,
    id: id(33),
    name: 'Clearance',
    status: 'paused',
    bidNanos: 180_000_000n,
    dailyBudgetNanos: null,
    totalBudgetNanos: null,
    endsAt: null,
    hints: [],
    negativeHints: [],
    offers: 12,
    spentNanos: 0n,
    spentTodayNanos: 0n,
    limitedBy: null,
    standing: 'paused',
    explanation: 'It is paused, so none of its offers are recommended.',
  },
]

const INVITATION: Given<'GET /api/advertisers/:advertiser/members'>['invitations'][number] = {
  id: id(61),
  email: 'gil@lamps.example.com',
  role: 'viewer',
  invitedBy: 'Ada Keller',
  createdAt: ago({ hours: 5 }),
  expiresAt: ago({ days: -6 }),
}

const TOLD = { conversions: 0n, otherClicks: [], averageNanos: null, spentNanos: 0n }

const REPORT: Given<'GET /api/advertisers/:advertiser/report'> = {
  by: 'campaign',
  from: new Date(MIDNIGHT_MS - 29 * DAY_MS),
  to: new Date(MIDNIGHT_MS + DAY_MS),
  countedUntil: ago({ minutes: 3 }),
  total: {
    serves: 48_912n,
    validClicks: 424n,
    conversions: 31n,
    spentNanos: 131_640_000_000n,
    averageNanos: 310_000_000n,
  },
  rows: [
    {
      key: CAMPAIGN,
      name: 'Desk lamps',
      serves: 48_900n,
      validClicks: 424n,
      otherClicks: [
        { verdict: 'bot', label: 'Bot', clicks: 61n },
        { verdict: 'repeat', label: 'Repeat', clicks: 12n },
        { verdict: 'reversed', label: 'Taken back', clicks: 1n },
      ],
      conversions: 31n,
      spentNanos: 131_440_000_000n,
      averageNanos: 310_000_000n,
    },
    { ...TOLD, key: id(33), name: 'Clearance', serves: 12n, validClicks: 0n },
    {
      ...TOLD,
      key: null,
      name: 'All others',
      serves: null,
      validClicks: null,
      otherClicks: null,
      conversions: null,
      spentNanos: 200_000_000n,
    },
  ],
}

const sample = (said: string, outcome: 'matched' | 'unwanted' | 'far' | 'free', hint: string | null, near: number) => ({
  said,
  answer: 'An answer.',
  outcome,
  hint,
  nearness: hint === null ? null : near,
})

const TOKEN = 'parley-verify=5f2b7c0e9a1d4c68b3e7f0a2d4c6e8b1'

const DOMAIN: Given<'GET /api/advertisers/:advertiser/domain'> = {
  name: 'lamps.example.com',
  verifiedAt: null,
  provenBy: null,
  record: { name: '_parley-verify.lamps.example.com', host: '_parley-verify.lamps', zone: 'example.com', value: TOKEN },
  file: { url: 'https://lamps.example.com/.well-known/parley.txt', content: TOKEN },
  seen: null,
}

export const ADVERTISERS: Replies = {
  'GET /api/advertisers/:advertiser': {
    name: 'Lamp Works',
    legalName: 'Lamp Works Ltd',
    domain: 'lamps.example.com',
    isDomainVerified: true,
    status: 'active',
    createdAt: ago({ days: 41 }),
    balanceNanos: 214_330_000_000n,
    spentTodayNanos: 7_130_000_000n,
    days: DAYS,
    campaigns: 2,
    activeCampaigns: 0,
    offers: 430,
  },
  'GET /api/advertisers/:advertiser/domain': DOMAIN,
  'POST /api/advertisers/:advertiser/domain/check': {
    ...DOMAIN,
    seen: {
      record: 'There is no TXT record with this name yet.',
      file: 'There is no such file.',
    },
  },
  'GET /api/advertisers/:advertiser/members': {
    members: [
      {
        id: id(1),
        name: 'Ada Keller',
        email: 'ada@example.com',
        role: 'admin',
        twoFactorEnabled: true,
        isYou: true,
        createdAt: ago({ days: 41 }),
      },
      {
        id: id(2),
        name: 'Ben Ode',
        email: 'ben@lamps.example.com',
        role: 'editor',
        twoFactorEnabled: false,
        isYou: false,
        createdAt: ago({ days: 9 }),
      },
    ],
    invitations: [INVITATION],
  },
  'POST /api/advertisers/:advertiser/invitations': INVITATION,
  'DELETE /api/advertisers/:advertiser/invitations/:invitation': { done: true },
  'PATCH /api/advertisers/:advertiser/members/:member': { done: true },
  'DELETE /api/advertisers/:advertiser/members/:member': { done: true },
  'POST /api/advertisers/:advertiser/leave': { done: true },
  'POST /api/me/advertisers': { id: ADVERTISER_OF_MINE },
  'GET /api/advertisers/:advertiser/campaigns': { items: CAMPAIGNS },
  'GET /api/advertisers/:advertiser/report': REPORT,
  'POST /api/advertisers/:advertiser/hint-preview': {
    samples: [
      sample('I like to read in bed. Is there a good lamp for that?', 'matched', 'for people who read at night', 0.61),
      sample('What light works for a small desk by the fuse box?', 'unwanted', 'power cuts', 0.44),
      sample('Which headphones should I buy?', 'far', 'for small desks', 0.18),
      sample('Why is the sky blue?', 'free', null, 0),
    ],
    nearEnough: 0.42,
  },
  'POST /api/advertisers/:advertiser/campaigns': LAMPS,
  'PATCH /api/advertisers/:advertiser/campaigns/:campaign': LAMPS,
  'PUT /api/advertisers/:advertiser/campaigns/:campaign/status': { done: true },
  'GET /api/advertisers/:advertiser/wallet': {
    balanceNanos: 214_330_000_000n,
    spent7dNanos: 31_310_000_000n,
    daysLeft: 47.9,
    topUp: { isOpen: true, minNanos: 5_000_000_000n, maxNanos: 10_000_000_000_000n },
    movements: [
      {
        id: id(41),
        title: 'Invalid click given back',
        at: ago({ days: 2 }),
        deltaNanos: 330_000_000n,
        reference: null,
        reason: null,
      },
      {
        id: id(42),
        title: 'Top-up',
        at: ago({ days: 11 }),
        deltaNanos: 250_000_000_000n,
        reference: 'stripe:pi_3QabcLampWorks',
        reason: 'paid through Stripe',
      },
      {
        id: id(43),
        title: 'Credit granted',
        at: ago({ days: 40 }),
        deltaNanos: 95_000_000_000n,
        reference: 'cli:welcome',
        reason: 'first campaign',
      },
    ],
    days: DAYS.filter(({ clicks }) => clicks > 0).toReversed(),
  },
  'POST /api/advertisers/:advertiser/checkouts': { id: 'cs_test_ad', url: 'http://console.test/pay/cs_test_ad' },
  'GET /api/advertisers/:advertiser/checkouts/:checkout': {
    state: 'paid',
    amountNanos: 25_000_000_000n,
    paidAt: ago({ minutes: 1 }),
  },
}
