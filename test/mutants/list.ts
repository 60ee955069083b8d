import { createHash } from 'node:crypto'
import { ADVERTISERS } from './advertisers.ts'
import { ARCHIVING } from './archive.ts'
import { CALLS } from './calls.ts'
import { CLI } from './cli.ts'
import { CLICKS } from './clicks.ts'
import { CONSOLE_ACCOUNTS } from './console-accounts.ts'
import { CONSOLE_FIGURES } from './console-figures.ts'
import { CONSOLE } from './console.ts'
import { DASHBOARD } from './dashboard.ts'
import { DOCS } from './docs.ts'
import { DOMAINS } from './domains.ts'
import { EMBEDDINGS } from './embeddings.ts'
import { FALLBACKS } from './fallbacks.ts'
import { FEEDS } from './feeds.ts'
import { GATEWAY } from './gateway.ts'
import { GREED } from './greed.ts'
import { INTAKE } from './intake.ts'
import { LEDGER } from './ledger.ts'
import { LIMITS } from './limits.ts'
import { METADATA } from './metadata.ts'
import { OPERATIONS } from './operations.ts'
import { PAID_CLICKS } from './paid-clicks.ts'
import { PALETTE } from './palette.ts'
import { PLATFORM } from './platform.ts'
import { PROMPT_CACHING } from './prompt-caching.ts'
import { PROVIDERS } from './providers.ts'
import { PUBLIC_PAGES } from './public-pages.ts'
import { RACES } from './races.ts'
import { RECOMMEND } from './recommend.ts'
import { REFUSED_REQUESTS } from './refused-requests.ts'
import { RESPONSES } from './responses.ts'
import { RETENTION } from './retention.ts'
import { RULES } from './rules.ts'
import { SAVED_PROMPTS } from './saved-prompts.ts'
import { SECRETS } from './secrets.ts'
import { SANDBOXES } from './sandboxes.ts'
import { SESSIONS } from './sessions.ts'
import { SHARES } from './shares.ts'
import { SPREAD_CONSOLE } from './spread-console.ts'
import { SPREAD_GATEWAY } from './spread-gateway.ts'
import { SPREAD_STORE } from './spread-store.ts'
import { STORE_SCOPES } from './store-scopes.ts'
import { STORE } from './store.ts'
import { TOP_UPS } from './top-ups.ts'
import { TURNS_OF_CONVERSATIONS } from './turns.ts'
import { WEBHOOKS } from './webhooks.ts'
import { WORKER_PUBLISHERS } from './worker-publishers.ts'
import { WORKER } from './worker.ts'
import type { Mutant } from './mutant.ts'

export const MUTANTS: readonly Mutant[] = [
  ...ADVERTISERS,
  ...ARCHIVING,
  ...CALLS,
  ...CLI,
  ...CLICKS,
  ...PAID_CLICKS,
  ...CONSOLE_ACCOUNTS,
  ...CONSOLE_FIGURES,
  ...CONSOLE,
  ...DASHBOARD,
  ...DOCS,
  ...DOMAINS,
  ...EMBEDDINGS,
  ...FALLBACKS,
  ...FEEDS,
  ...GATEWAY,
  ...GREED,
  ...INTAKE,
  ...LEDGER,
  ...LIMITS,
  ...METADATA,
  ...OPERATIONS,
  ...PALETTE,
  ...PLATFORM,
  ...PROMPT_CACHING,
  ...PROVIDERS,
  ...PUBLIC_PAGES,
  ...RACES,
  ...RECOMMEND,
  ...REFUSED_REQUESTS,
  ...RESPONSES,
  ...RETENTION,
  ...RULES,
  ...SAVED_PROMPTS,
  ...SECRETS,
  ...SANDBOXES,
  ...SESSIONS,
  ...SHARES,
  ...SPREAD_CONSOLE,
  ...SPREAD_GATEWAY,
  ...SPREAD_STORE,
  ...STORE_SCOPES,
  ...STORE,
  ...TOP_UPS,
  ...TURNS_OF_CONVERSATIONS,
  ...WEBHOOKS,
  ...WORKER,
  ...WORKER_PUBLISHERS,
]

/** As many as asked for, in an order that the seed decides. */
export function sampleOf(mutants: readonly Mutant[], size: number, seed: string): Mutant[] {
  const rankOf = ({ file, bug }: Mutant) => createHash('sha256').update(`${seed}\0${file}\0${bug}`).digest('hex')
  return mutants
    .map((mutant) => ({ mutant, rank: rankOf(mutant) }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, size)
    .map(({ mutant }) => mutant)
}
