import { rehearsalEvent } from '../../../../src/console/contract/rehearsal.ts'
import { outcomeWordsOf } from '../../../../src/rules/recommendations/outcome-labels.ts'
import type { RecommendationOutcome } from '../../../../src/rules/recommendations/matching.ts'
import type { Replies } from '../canned-console.ts'
import { ago } from './ids.ts'

/** The events as the server sends them, checked by the contract. */
export function rehearsalEvents(...events: object[]): string {
  return events.map((event) => `data: ${JSON.stringify(rehearsalEvent.parse(event))}\n\n`).join('')
}

const outcome = (name: RecommendationOutcome, replies: number) => {
  const { kind, title, explanation, advice } = outcomeWordsOf(name)
  return { outcome: name, kind, title, explanation, advice, replies }
}

const placement = (n: number) => ({
  risk: n % 2 === 0 ? 'sensitive' : 'relevance',
  conversation: `chat-${n}`,
  at: ago({ hours: 5 * n }),
  said: `I sleep badly since we moved. Is there something for the noise? ${'It is loud at night. '.repeat(n)}`,
  answer: 'Heavy curtains and a rug take away much of it.\nEarplugs of soft foam take away more.',
  advertiser: `Shop ${n}`,
  headline: 'Hush 45',
  benefit: 'foam earplugs for side sleepers',
  relevance: 0.43 + n / 100,
  nearSensitive: 0.91 - n / 50,
})

export const REHEARSED = {
  looked: { conversations: 10_000, of: 24_310, isMore: false },
  conversations: 9_204,
  replies: 21_450,
  unread: 310,
  recommended: 1_240,
  outcomes: [
    outcome('not_commercial', 16_900),
    outcome('capped', 1_800),
    outcome('test', 1_240),
    outcome('sensitive', 1_010),
    outcome('below_relevance', 500),
  ],
  advertisers: [
    { name: 'Acme Tools', replies: 800 },
    { name: 'Books & Co', replies: 440 },
  ],
  categories: [
    { name: 'Home', replies: 900 },
    { name: 'No category', replies: 340 },
  ],
  clickPrice: { leastNanos: 50_000_000n, meanNanos: 210_000_000n, mostNanos: 900_000_000n },
  earnings: { fewNanos: 364_560_000n, manyNanos: 3_645_600_000n, shareBps: 7_000 },
  clicksPerThousand: { few: 2, many: 20 },
  riskiest: [1, 2, 3].map(placement),
}

export const PROGRESS = { progress: { seen: 1_250, of: 10_000, replies: 2_611, recommended: 140 } }

export const REHEARSAL: Replies = {
  'POST /api/projects/:project/monetization/rehearsal': rehearsalEvents(PROGRESS, { result: REHEARSED }),
}
