import type { z } from 'zod'
import { account } from './contract/accounts/account.ts'
import { auditLog } from './contract/accounts/audit-log.ts'
import { advertisers } from './contract/offers/advertisers.ts'
import { advertiserReport } from './contract/offers/advertiser-report.ts'
import { advertiserWallet } from './contract/offers/advertiser-wallet.ts'
import { campaigns } from './contract/offers/campaigns.ts'
import { feeds } from './contract/offers/feeds.ts'
import { offers } from './contract/offers/offers.ts'
import { alerts } from './contract/alerts.ts'
import { browserSessions } from './contract/browser-sessions.ts'
import { calls } from './contract/calls.ts'
import { conversations } from './contract/conversations.ts'
import { domains } from './contract/domains.ts'
import { earnings } from './contract/earnings.ts'
import { endUsers } from './contract/end-users.ts'
import type { Entry } from './contract/fields.ts'
import { home } from './contract/home.ts'
import { keys } from './contract/keys.ts'
import { limits } from './contract/limits.ts'
import { monetization } from './contract/monetization.ts'
import { passkeys } from './contract/accounts/passkeys.ts'
import { playground } from './contract/playground.ts'
import { projectSettings } from './contract/project-settings.ts'
import { projects } from './contract/projects.ts'
import { quickStart } from './contract/quick-start.ts'
import { rehearsal } from './contract/rehearsal.ts'
import { signIn } from './contract/accounts/sign-in.ts'
import { team } from './contract/accounts/team.ts'
import { usage } from './contract/usage.ts'
import { wallet } from './contract/wallet.ts'

/**
 * Everything that the console's API does, in one place: the server is built from it (route.ts) and the web app takes its
 * types from it, so the two cannot disagree. Money is nanos in a decimal string, times are ISO strings, lists are
 * `{ items, next }`.
 */
export const contract = {
  ...signIn,
  ...projects,
  ...home,
  ...quickStart,
  ...playground,
  ...domains,
  ...keys,
  ...browserSessions,
  ...limits,
  ...team,
  ...auditLog,
  ...account,
  ...passkeys,
  ...usage,
  ...calls,
  ...conversations,
  ...endUsers,
  ...wallet,
  ...alerts,
  ...monetization,
  ...earnings,
  ...rehearsal,
  ...projectSettings,
  ...advertisers,
  ...advertiserReport,
  ...advertiserWallet,
  ...campaigns,
  ...feeds,
  ...offers,
}

export { rehearsalEvent, type RehearsalEvent } from './contract/rehearsal.ts'
export type Contract = typeof contract
export type RouteKey = keyof Contract

/** The queries, bodies and replies of the web app. */
export type QueryOf<Key extends RouteKey> = Contract[Key] extends { query: infer Query extends z.ZodType }
  ? z.input<Query>
  : undefined
export type BodyOf<Key extends RouteKey> = Contract[Key] extends { body: infer Body extends z.ZodType }
  ? z.input<Body>
  : undefined
export type ReplyOf<Key extends RouteKey> = z.output<Contract[Key]['reply']>

/** The names of a path's parameters: 'publisher' | 'member' of '/api/publishers/:publisher/members/:member'. */
export type ParamOf<Key extends string> = Key extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamOf<`/${Rest}`>
  : Key extends `${string}:${infer Name}`
    ? Name
    : never

export function entryOf(key: RouteKey): Entry {
  return contract[key]
}
