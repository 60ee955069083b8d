/**
 * Readers who follow the links of recommendations through everything that goes wrong, and what must be true of their clicks:
 *
 * | what the reader saw                     | what is stored                                                              |
 * |-----------------------------------------|-----------------------------------------------------------------------------|
 * | led on sooner than a redirect may wait  | the click: less is LOST                                                     |
 * | led on later, an error or nothing       | the click or none: the gateway leads on whoever has waited for the store    |
 * | anything                                | no more rows than attempts, and one of them paid for: more is DOUBLED       |
 *
 * OVERSPENT is a campaign that has paid more than its budget.
 */
import { createSecretKey } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { tokenOf } from '../../src/rules/recommendations/link-token.ts'
import type { Store } from '../../src/store/database.ts'
import { fund, show } from '../support/clicks.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { createRandom, type Random } from '../support/random.ts'
import type { TestProject } from '../support/world.ts'
import type { Case } from './oracle.ts'
import type { ChaosSystem } from './system.ts'
import { patiently } from './wallets.ts'

/** One attempt to follow a link. */
export interface Follow {
  recommendationId: string
  /** Undefined: there was no answer. */
  status: number | undefined
  durationMs: number
}

/** The stored clicks on one recommendation. */
export interface ClicksOfOne {
  recommendationId: string
  stored: number
  paid: number
}

export interface Spending {
  campaignId: string
  spent: bigint
  budget: bigint
}

export interface Readers {
  readonly follows: readonly Follow[]
  stop(): Promise<void>
}

const READERS = 5
const ANSWER_WITHIN_MS = 20_000
/** Gateways lead on after half a second, stored or not. Who was led on before this was waited for. */
const SURELY_STORED_MS = 450
const REST_MS = 250
const SHOWN_AT_ONCE = 8
/** Tight: it is used up in the middle of a run. */
const AFFORDED_CLICKS = [1_000_000n, 25n]
const HEADERS = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0',
  accept: 'text/html',
  'accept-language': 'en',
}

export async function startReaders(system: ChaosSystem, project: TestProject, seed: number): Promise<Readers> {
  const campaigns = await Promise.all(AFFORDED_CLICKS.map((clicks) => addCampaign(system.store, clicks)))
  const follows: Follow[] = []
  let isOver = false
  let network = 0

  async function read(random: Random): Promise<void> {
    while (!isOver) {
      for (const shown of await showSome(system, project, random.pick(campaigns))) {
        for (let n = 0; n <= random.int(3) && !isOver; n++) {
          network += 1
          const { port } = random.pick(system.gateways).front
          follows.push({ recommendationId: shown.id, ...(await follow(port, shown.token, addressOf(network))) })
          await sleep(random.int(REST_MS))
        }
      }
    }
  }

  const readers = Array.from({ length: READERS }, (_, n) => read(createRandom(seed * 10 + n)))
  return {
    follows,
    async stop() {
      isOver = true
      await Promise.all(readers)
    },
  }
}

/** No two follows come from one network. */
function addressOf(network: number): string {
  return `20.${network >> 8}.${network & 255}.7`
}

async function addCampaign({ db }: Store, clicks: bigint): Promise<Match> {
  const match = await addOffer(db)
  await fund(db, match.advertiserId, 1_000_000_000_000_000n)
  await db
    .updateTable('campaigns')
    .set({ total_budget_nanos: BigInt(match.priceNanos) * clicks + 1n })
    .where('id', '=', match.campaignId)
    .execute()
  return match
}

/** A minute ago, as far as the store knows. */
async function showSome({ store, secrets }: ChaosSystem, project: TestProject, match: Match) {
  const ids = await patiently(() => show(store.db, match, project.id, SHOWN_AT_ONCE))
  const aMinuteAgo = new Date(Date.now() - 60_000)
  await patiently(() =>
    store.db.updateTable('recommendations').set({ created_at: aMinuteAgo }).where('id', 'in', ids).execute(),
  )
  const signing = { version: secrets.version, key: createSecretKey(secrets.keyFor('recommendations')) }
  const line = { projectId: project.id, words: match.headline }
  return ids.map((id) => ({ id, token: tokenOf(id, line, signing) }))
}

function follow(port: number, token: string, address: string): Promise<Omit<Follow, 'recommendationId'>> {
  const startedMs = performance.now()
  return new Promise((resolve) => {
    const end = (status?: number) => resolve({ status, durationMs: performance.now() - startedMs })
    const headers = { ...HEADERS, 'x-forwarded-for': address }
    const options = { host: '127.0.0.1', port, path: `/r/${token}`, headers, agent: false as const }
    request({ ...options, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) }, (response) => {
      end(response.statusCode)
      response.resume().on('error', () => {})
    })
      .on('error', () => end())
      .end()
  })
}

export interface ClicksVerdict {
  lost: Case[]
  doubled: Case[]
  overspent: Case[]
  /** How often the rarer paths were taken. */
  seen: Record<'followed' | 'led' | 'surely' | 'paid' | 'over_budget', number>
}

/** When everything is healed. */
export async function judgeReaders({ db }: Store, follows: readonly Follow[]): Promise<ClicksVerdict> {
  const { rows: stored } = await sql<ClicksOfOne>`
    select recommendation_id as "recommendationId", count(*)::int as stored,
      count(*) filter (where price_nanos > 0)::int as paid from clicks group by 1`.execute(db)
  const { rows: spending } = await sql<Spending>`
    select c.id as "campaignId", c.total_budget_nanos as budget, coalesce(sum(k.price_nanos), 0)::int8 as spent
    from campaigns c left join clicks k on k.campaign_id = c.id where c.total_budget_nanos is not null group by c.id`.execute(
    db,
  )
  const { rows: over } = await sql<{ clicks: number }>`
    select count(*)::int as clicks from clicks where verdict = 'over_budget'`.execute(db)
  const led = follows.filter(({ status }) => status === 302)
  return {
    ...judgeClicks(follows, stored, spending),
    seen: {
      followed: follows.length,
      led: led.length,
      surely: led.filter(isSurelyStored).length,
      paid: stored.reduce((sum, { paid }) => sum + paid, 0),
      over_budget: over[0]?.clicks ?? 0,
    },
  }
}

function isSurelyStored({ status, durationMs }: Follow): boolean {
  return status === 302 && durationMs < SURELY_STORED_MS
}

export function judgeClicks(
  follows: readonly Follow[],
  stored: readonly ClicksOfOne[],
  spending: readonly Spending[],
): Pick<ClicksVerdict, 'lost' | 'doubled' | 'overspent'> {
  const rows = new Map(stored.map((row) => [row.recommendationId, row]))
  const [lost, doubled]: [Case[], Case[]] = [[], []]
  for (const [id, attempts] of Map.groupBy(follows, ({ recommendationId }) => recommendationId)) {
    const { stored: count, paid } = rows.get(id) ?? { stored: 0, paid: 0 }
    const surely = attempts.filter(isSurelyStored).length
    if (count < surely) lost.push({ what: `of ${id} ${surely} clicks were led on in time, ${count} are stored` })
    if (count > attempts.length) doubled.push({ what: `${id} was followed ${attempts.length} times, stored ${count}` })
    if (paid > 1) doubled.push({ what: `${id} was paid for ${paid} times` })
  }
  const overspent = spending
    .filter(({ spent, budget }) => spent > budget)
    .map(({ campaignId, spent, budget }) => ({ what: `campaign ${campaignId} spent ${spent} of ${budget}` }))
  return { lost, doubled, overspent }
}
