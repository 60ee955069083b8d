import { CLICK_VERDICTS, VERDICT_LABELS, type ClickVerdict } from '../../../../src/rules/clicks/verdict.ts'
import { releaseTimeOf } from '../../../../src/rules/clicks/earnings.ts'
import type { Given, Replies } from '../canned-console.ts'
import { ago, id, NOW } from './ids.ts'

type Earnings = Given<'GET /api/projects/:project/earnings'>
type Click = Given<'GET /api/projects/:project/clicks'>['items'][number]

const DAY_MS = 86_400_000
const TODAY_MS = Math.floor(NOW.getTime() / DAY_MS) * DAY_MS
const DAYS = 30

function advertiser(n: number, more: Partial<Earnings['advertisers'][number]> = {}): Earnings['advertisers'][number] {
  return {
    id: id(950 + n),
    name: `Shop ${n}`,
    isBlocked: false,
    shown: 4_000 - n * 611,
    clicks: 90 - n * 17,
    earnedNanos: BigInt(9 - n) * 1_870_000_000n,
    ...more,
  }
}

export const EARNED: Earnings = {
  from: new Date(TODAY_MS - (DAYS - 1) * DAY_MS),
  to: new Date(TODAY_MS + DAY_MS),
  shareBps: 7_000,
  pendingNanos: 6_440_000_000n,
  releasedNanos: 31_920_000_000n,
  takenBackNanos: 560_000_000n,
  nextRelease: { at: ago({ days: -2, hours: 5 }), nanos: 1_120_000_000n },
  eligible: 41_240,
  shown: 9_812,
  clicks: 301,
  paidClicks: 163,
  earnedNanos: 22_820_000_000n,
  costNanos: 61_335_000_000n,
  verdicts: [
    {
      verdict: 'valid',
      ...VERDICT_LABELS.valid,
      clicks: 165,
      earnedNanos: 22_820_000_000n,
      takenBack: 2,
      takenBackNanos: 280_000_000n,
    },
    ...(['bot', 'previewer', 'repeat', 'too_fast', 'same_network', 'over_budget'] as const).map((verdict, n) => ({
      verdict,
      ...VERDICT_LABELS[verdict],
      clicks: 41 - n * 7,
      earnedNanos: 0n,
      takenBack: 0,
      takenBackNanos: 0n,
    })),
  ],
  points: Array.from({ length: DAYS }, (_, n) => ({
    at: new Date(TODAY_MS - (DAYS - 1 - n) * DAY_MS),
    shown: 210 + ((n * 37) % 190),
    clicks: 3 + ((n * 5) % 6),
    earnedNanos: BigInt(3 + ((n * 5) % 6)) * 140_000_000n,
  })),
  advertisers: [advertiser(1), advertiser(2, { isBlocked: true }), advertiser(3)],
  categories: [
    { category: 'Home & Garden', isBlocked: false, shown: 5_310, clicks: 101, earnedNanos: 14_140_000_000n },
    { category: 'Toys', isBlocked: true, shown: 2_002, clicks: 40, earnedNanos: 5_600_000_000n },
    { category: '', isBlocked: false, shown: 2_500, clicks: 22, earnedNanos: 3_080_000_000n },
  ],
}

function click(n: number, verdict: ClickVerdict, more: Partial<Click> = {}): Click {
  const at = ago({ hours: n * 5, minutes: n })
  const isPaid = verdict === 'valid'
  return {
    id: id(980 + n),
    at,
    verdict,
    ...VERDICT_LABELS[verdict],
    advertiser: { id: id(950 + (n % 3)), name: `Shop ${n % 3}` },
    headline: `Offer number ${n}`,
    priceNanos: isPaid ? BigInt(200 + n) * 1_000_000n : 0n,
    shareNanos: isPaid ? BigInt(140 + n) * 1_000_000n : 0n,
    state: isPaid ? 'pending' : 'unpaid',
    releasesAt: isPaid ? releaseTimeOf(at) : null,
    call: `chatcmpl-click${n}`,
    ...more,
  }
}

const CLICKS = [
  click(1, 'valid'),
  click(2, 'valid', { state: 'released' }),
  click(3, 'valid', { state: 'reversed', releasesAt: null }),
  ...CLICK_VERDICTS.slice(1).map((verdict, n) => click(n + 4, verdict)),
  click(40, 'valid', { call: null, headline: 'Removed', state: 'released' }),
]

const RECEIPT = { recommendation: id(961), shownAt: ago({ hours: 6 }) }

export const EARNINGS: Replies = {
  'GET /api/projects/:project/earnings': EARNED,
  'GET /api/projects/:project/clicks': ({ query }) => {
    if (query.after !== undefined) return { items: [click(50, 'bot')], next: null }
    const items = CLICKS.filter(
      ({ verdict, state }) => verdict === (query.verdict ?? verdict) && state === (query.state ?? state),
    )
    return { items, next: items.length === CLICKS.length ? 'after-click' : null }
  },
  'GET /api/projects/:project/clicks/:click': ({ params }) => {
    const found = CLICKS.find((each) => each.id === params.click) ?? click(1, 'valid')
    return { ...found, ...RECEIPT, reference: found.shareNanos > 0n ? `click:${found.id}` : null }
  },
}
