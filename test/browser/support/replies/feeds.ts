import type { Given, Replies } from '../canned-console.ts'
import { ago, CAMPAIGN, FEED, id, UPLOAD } from './ids.ts'

type Feed = Given<'GET /api/advertisers/:advertiser/feeds'>['items'][number]
type Offer = Given<'GET /api/advertisers/:advertiser/offers'>['items'][number]

const MAIN: Feed = {
  id: FEED,
  name: 'All lamps',
  campaignId: CAMPAIGN,
  campaign: 'Desk lamps',
  source: {
    url: 'https://lamps.example.com/feed.xml?key=7f',
    every: '6h',
    isPaused: false,
    nextFetchAt: ago({ hours: -2 }),
    lastFetchAt: ago({ hours: 4 }),
    lastFetch: 'refused',
    problem: 'This run would remove 240 of 418 offers (57%), so nothing was changed.',
    failures: 0,
  },
  currency: 'EUR',
  publishedAt: ago({ days: 1 }),
  freshUntil: ago({ days: -29 }),
  isOutdated: false,
  offers: 418,
}

const FEEDS: Feed[] = [
  MAIN,
  {
    ...MAIN,
    id: id(52),
    name: 'Clearance',
    campaign: 'Clearance',
    source: null,
    publishedAt: ago({ days: 33 }),
    isOutdated: true,
    offers: 12,
  },
]

const COUNTS = { rows: 421, added: 9, changed: 31, unchanged: 378, rejected: 2, removed: 4, missing: 1 }
const REJECTIONS = [
  { row: 17, item: 'lamp-17', reason: 'price is missing' },
  { row: 203, item: null, reason: 'it has 11 columns and the header 10' },
]

const LAMP: Offer = {
  id: id(60),
  itemId: 'lamp-1',
  title: 'Desk lamp, 24" arm, warm light',
  headline: 'Desk lamp with a long arm',
  benefit: 'Warm light that reaches across the desk',
  category: 'Home > Lighting',
  link: 'https://lamps.example.com/lamp-1',
  imageLink: 'https://lamps.example.com/lamp-1.jpg',
  price: '49.00',
  currency: 'EUR',
  feed: 'All lamps',
  campaign: 'Desk lamps',
  standing: 'approved',
  explanation: 'It is recommended where it fits while its campaign runs.',
}

const OFFERS: Offer[] = [
  LAMP,
  {
    ...LAMP,
    id: id(61),
    itemId: 'lamp-2',
    headline: 'Floor lamp',
    benefit: '',
    imageLink: null,
    price: null,
    currency: null,
    standing: 'waiting',
    explanation: 'The operator looks at it before it is recommended: it makes a promise: "guaranteed".',
  },
  {
    ...LAMP,
    id: id(62),
    itemId: 'lamp-3',
    headline: 'Night light',
    standing: 'rejected',
    explanation: 'The operator rejected it: not sold any more. Changed words are looked at again.',
  },
]

type Upload = Given<'GET /api/advertisers/:advertiser/feed-uploads/:upload'>

export const UPLOAD_REPORT: NonNullable<Upload['report']> = {
  ...COUNTS,
  format: 'comma-separated',
  live: 418,
  pending: 2,
  refusal: null,
  rejections: REJECTIONS,
  changes: [
    { kind: 'added', row: 3, item: 'lamp-500', title: 'Reading light', fields: [] },
    { kind: 'changed', row: 1, item: 'lamp-1', title: 'Desk lamp', fields: ['price', 'image_link'] },
    { kind: 'removed', row: null, item: 'lamp-9', title: 'Lava lamp', fields: [] },
  ],
}

export const CHECKED_UPLOAD: Upload = {
  id: UPLOAD,
  feed: 'All lamps',
  campaign: 'Desk lamps',
  fileName: 'lamps.csv',
  createdAt: ago({ minutes: 3 }),
  state: 'checked',
  problem: null,
  report: UPLOAD_REPORT,
}

export const FEED_REPLIES: Replies = {
  'GET /api/advertisers/:advertiser/feeds': { items: FEEDS },
  'GET /api/advertisers/:advertiser/feeds/:feed': MAIN,
  'GET /api/advertisers/:advertiser/feeds/:feed/runs': {
    items: [
      {
        ...COUNTS,
        id: id(70),
        format: 'RSS or Atom',
        state: 'refused',
        reason: 'This run would remove 240 of 418 offers (57%), so nothing was changed.',
        startedAt: ago({ hours: 4 }),
        finishedAt: ago({ hours: 4 }),
        rejected: 0,
        rejections: [],
      },
      {
        ...COUNTS,
        id: id(71),
        format: 'RSS or Atom',
        state: 'published',
        reason: null,
        startedAt: ago({ days: 1 }),
        finishedAt: ago({ days: 1 }),
        rejections: REJECTIONS,
      },
    ],
    next: id(71),
  },
  'GET /api/advertisers/:advertiser/feed-uploads/:upload': CHECKED_UPLOAD,
  'GET /api/advertisers/:advertiser/offers': { items: OFFERS, next: 'lamp-3' },
  'POST /api/advertisers/:advertiser/feed-address-checks': { problem: null, format: 'RSS or Atom' },
  'POST /api/advertisers/:advertiser/campaigns/:campaign/feeds': { id: FEED },
  'PUT /api/advertisers/:advertiser/feeds/:feed': { done: true },
  'PUT /api/advertisers/:advertiser/feeds/:feed/paused': { done: true },
  'POST /api/advertisers/:advertiser/feeds/:feed/fetch': { done: true },
  'DELETE /api/advertisers/:advertiser/feeds/:feed': { done: true },
  'POST /api/advertisers/:advertiser/campaigns/:campaign/feed-uploads': { id: UPLOAD },
  'POST /api/advertisers/:advertiser/feed-uploads/:upload/publish': { done: true },
  'DELETE /api/advertisers/:advertiser/feed-uploads/:upload': { done: true },
}
