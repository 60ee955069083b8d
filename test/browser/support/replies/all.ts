import type { Replies } from '../canned-console.ts'
import { ACCOUNT } from './account.ts'
import { ADVERTISERS } from './advertisers.ts'
import { ALERTS } from './alerts.ts'
import { CALLS } from './calls.ts'
import { EARNINGS } from './earnings.ts'
import { FEED_REPLIES } from './feeds.ts'
import { LIMITS } from './limits.ts'
import { MONETIZATION } from './monetization.ts'
import { MONEY } from './money.ts'
import { PROJECTS } from './project.ts'
import { REHEARSAL } from './rehearsal.ts'
import { TEAM } from './team.ts'

/** The default replies, used where a test gives no others. */
export const REPLIES: Replies = {
  ...ACCOUNT,
  ...TEAM,
  ...PROJECTS,
  ...CALLS,
  ...MONEY,
  ...LIMITS,
  ...MONETIZATION,
  ...EARNINGS,
  ...REHEARSAL,
  ...ALERTS,
  ...ADVERTISERS,
  ...FEED_REPLIES,
}
