/**
 * Processes that click all at once on recommendations of campaigns that can pay for a few of the clicks: by day, in all, or by
 * their advertiser's credit. Whatever the order, each campaign pays for exactly as many as it can, and nobody for more.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { sql } from 'kysely'
import { createSecrets } from '../../src/platform/secrets.ts'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { checkLedger } from '../../src/store/billing/ledger-check/ledger-check.ts'
import type { Db, Store } from '../../src/store/database.ts'
import { fund, show } from '../support/clicks.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { loginUrl } from '../support/logins.ts'
import { addProject } from '../support/world.ts'
import type { RacerTask } from './racer.ts'

export interface RaceOptions {
  store: Store
  /** With the login of the database owner. */
  databaseUrl: string
  processes: number
  clicks: number
}

export interface RaceResult {
  /** By verdict. */
  clicks: Record<string, number>
  /** The amount spent beyond a budget or a credit, summed over all campaigns. */
  overspentNanos: bigint
  /** The amount not spent although there were clicks and room for them. */
  underspentNanos: bigint
  /** Recommendations that were paid for more than once. */
  doubled: number
  /** Clicks of which there is no row. */
  lost: number
  /** The sum of all entries of the journal. It must be zero. */
  journalNanos: bigint
  /** Invariants of the ledger that are broken. */
  broken: string[]
  seconds: number
}

const CAMPAIGNS = 24
/** For each recommendation, in different processes. */
const CLICKS_OF_ONE = 4
const PROJECTS = 3
const MINUTE_MS = 60_000
/** For every advertiser. */
const CREDIT = 1_000_000_000_000n
const PRICE = 120_000_007n
const FIRST_NETWORK = 20

interface Racing {
  match: Match
  /** How many clicks it can pay for. */
  affordable: bigint
  recommendations: string[]
}

export async function race({ store, databaseUrl, processes, clicks }: RaceOptions): Promise<RaceResult> {
  const { db } = store
  const campaigns = await prepare(store, Math.ceil(clicks / CLICKS_OF_ONE / CAMPAIGNS))
  const shownAtMs = Date.now() - MINUTE_MS
  const lists = dealOut(campaigns, processes, clicks)
  const tasks = lists.map((recommendations, n) => {
    return { databaseUrl: loginUrl(databaseUrl, 'gateway'), recommendations, shownAtMs, network: FIRST_NETWORK + n }
  })
  const startedMs = performance.now()
  await run(tasks)
  return { ...(await judge(db, campaigns, clicks)), seconds: (performance.now() - startedMs) / 1_000 }
}

async function prepare(store: Store, recommendationsEach: number): Promise<Racing[]> {
  const secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 7) }])
  const projects = await Promise.all(Array.from({ length: PROJECTS }, () => addProject(store, secrets)))
  const campaigns: Racing[] = []
  for (let n = 0; n < CAMPAIGNS; n++) {
    const affordable = BigInt(2 + n)
    // By their credit; the others by their budgets.
    const isPoor = n % 3 === 2
    const price = isPoor ? CREDIT / affordable : PRICE
    const match = await addOffer(store.db, { priceNanos: String(price) })
    await fund(store.db, match.advertiserId, CREDIT)
    // Nearly enough for one more.
    const budget = price * affordable + price - 1n
    const column = n % 3 === 0 ? 'daily_budget_nanos' : 'total_budget_nanos'
    if (!isPoor)
      await store.db
        .updateTable('campaigns')
        .set({ [column]: budget })
        .where('id', '=', match.campaignId)
        .execute()
    const project = projects[n % PROJECTS]!
    const recommendations = await show(store.db, match, project.id, recommendationsEach)
    campaigns.push({ match, affordable, recommendations })
  }
  return campaigns
}

/** Neighbours in the order of all clicks are of different campaigns, and go to different processes. */
function dealOut(campaigns: readonly Racing[], processes: number, clicks: number): string[][] {
  const lists = Array.from({ length: processes }, (): string[] => [])
  for (let n = 0; n < clicks; n++) {
    const { recommendations } = campaigns[n % CAMPAIGNS]!
    const turn = Math.floor(n / CAMPAIGNS)
    lists[(n + turn) % processes]!.push(recommendations[turn % recommendations.length]!)
  }
  return lists
}

async function run(tasks: readonly RacerTask[]): Promise<void> {
  const racers = tasks.map(() => fork(new URL('racer.ts', import.meta.url), { execArgv: [] }))
  try {
    await Promise.all(racers.map((racer, n) => said(racer, () => racer.send(tasks[n]!))))
    await Promise.all(racers.map((racer) => said(racer, () => racer.send('go'))))
  } finally {
    for (const racer of racers) racer.kill('SIGKILL')
  }
}

/** Waits for the next word of a racer, which may also end without one. */
async function said(racer: ChildProcess, ask: () => void): Promise<void> {
  const gone = new AbortController()
  const ended = once(racer, 'exit', { signal: gone.signal }).then(([code]) => {
    throw new Error(`a racer ended with ${String(code)}`)
  })
  ask()
  try {
    await Promise.race([once(racer, 'message', { signal: gone.signal }), ended])
  } finally {
    gone.abort()
    await ended.catch(() => {})
  }
}

async function judge(db: Db, campaigns: readonly Racing[], clicks: number): Promise<Omit<RaceResult, 'seconds'>> {
  const { rows: verdicts } = await sql<{ verdict: string; clicks: number }>`
    select verdict, count(*)::int as clicks from clicks group by 1 order by 1`.execute(db)
  const { rows: spent } = await sql<{ campaignId: string; days: number; paid: bigint }>`
    select campaign_id as "campaignId", count(distinct time_of_id(id)::date)::int as days, sum(price_nanos)::int8 as paid
    from clicks where price_nanos > 0 group by 1`.execute(db)
  const { rows: twice } = await sql`
    select from clicks where price_nanos > 0 group by recommendation_id having count(*) > 1`.execute(db)
  const { rows: journal } = await sql<{ nanos: bigint }>`
    select coalesce(sum(delta_nanos), 0)::int8 as nanos from journal`.execute(db)
  let [overspentNanos, underspentNanos] = [0n, 0n]
  for (const { match, affordable } of campaigns) {
    const { paid = 0n, days = 1 } = spent.find(({ campaignId }) => campaignId === match.campaignId) ?? {}
    // A race that began just before midnight has the budgets of two days.
    const difference = paid - BigInt(match.priceNanos) * affordable * BigInt(days)
    if (difference > 0n) overspentNanos += difference
    else if (days === 1) underspentNanos -= difference
  }
  const { verdicts: checked } = await checkLedger(db, { isFull: true, leaseMs: MINUTE_MS })
  const stored = verdicts.reduce((sum, each) => sum + each.clicks, 0)
  return {
    clicks: Object.fromEntries(verdicts.map((each) => [each.verdict, each.clicks])),
    overspentNanos,
    underspentNanos,
    doubled: twice.length,
    lost: clicks - stored,
    journalNanos: journal[0]?.nanos ?? -1n,
    broken: checked.filter(({ violations }) => violations > 0).map(({ invariant }) => invariant),
  }
}
