import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { DAY_MS } from '../../src/rules/durations.ts'
import { KEPT_DAYS, KEPT_MS } from '../../src/rules/retention.ts'
import { detachTable, listOldDays, sealDay } from '../../src/store/archive.ts'
import { NO_LIMITS, replaceLimits } from '../../src/store/billing/limits.ts'
import { findConversations } from '../../src/store/calls/conversations.ts'
import { checkLedger } from '../../src/store/billing/ledger-check/ledger-check.ts'
import type { Database } from '../../src/store/schema.gen.ts'
import { addOffer } from '../support/catalogue.ts'
import { fund } from '../support/clicks.ts'
import { installClock, type DatabaseClock } from '../support/database-clock.ts'
import { DELETED_EVERY_DAYS, liveOneDay, OFFERED_DAYS, PER_DAY, TEXT_DAYS } from '../support/simulated-day.ts'
import { createWorkerWorld, LEASE_MS, PERIODS_MS, type WorkerWorld } from '../support/worker-world.ts'
import { addModel, addProvider } from '../support/world.ts'

/**
 * More than a year, day by day, on a database whose clock the test sets: calls, conversations, feeds, sign-ins and mails go on,
 * and nothing but the worker's own jobs cleans up. Of every table it is said how many rows it may have.
 */
const DAYS = 392
const ARCHIVED_AFTER_DAYS = 35
const WEEK_DAYS = 7
const MONTH_DAYS = 28

/** Jobs that run by the minute run once a day here. All others have a week to catch up with, as after an outage. */
const DAILY: readonly JobName[] = [
  'sweep holds',
  'send mails',
  'expire content',
  'expire idempotency keys',
  'forget restraints',
  'expire sessions',
  'forget attempts',
  'forget gateways',
]
/** A step of it is a day at most, and its first ones are short, so that a month at once is less work than each day. */
const ROLL_UP = 'roll up usage'

/** Done at the end of each month, by the operator. */
const MONTHLY: ((day: number) => Promise<void>)[] = [archive, checkWholeLedger]

let clock: DatabaseClock
let world: WorkerWorld
before(async () => {
  world = await createWorkerWorld({
    async prepare(databaseUrl) {
      clock = await installClock(databaseUrl)
      await clock.setBehind(DAYS * DAY_MS)
    },
  })
})
after(async () => {
  await clock.close()
  await world.close()
})

type JobName = keyof typeof PERIODS_MS

type Range = readonly [least: number, most: number]
/** How many rows there may be at the end of a day; the first is 0. `same`: as many as after a month. */
type Bound = 'view' | 'same' | ((day: number) => Range)

/** Kept for so many days. What is just a day old, or just written, may be there or not. */
function forDays(days: number, perDay = 1): Bound {
  return (day) => {
    const there = Math.min(day + 1, days)
    return [perDay * (there - 1), perDay * (there + 1)]
  }
}

/** Kept for good: every row that was written is there. */
function forGood(perDay: number, lackingToday = 0): Bound {
  return (day) => [perDay * (day + 1) - lackingToday, perDay * (day + 1)]
}

/** Kept for good by the worker; the operator of this year archives what is older than five weeks. */
function untilArchived(perDay: number): Bound {
  return (day) => {
    const there = Math.min(day + 1, ARCHIVED_AFTER_DAYS + 1)
    return [perDay * there - 1, perDay * (there + 1)]
  }
}

function daysArchivedBy(day: number): number {
  return Math.max(day - ARCHIVED_AFTER_DAYS, 0)
}

const daysOf = (ms: number) => ms / DAY_MS
const CONVERSATIONS = KEPT_DAYS.conversations
const deletedBy = (day: number) => Math.floor(day / DELETED_EVERY_DAYS) + 1
const deletedWithin = Math.ceil(CONVERSATIONS / DELETED_EVERY_DAYS) + 1

const BOUNDS: Record<keyof Database, Bound> = {
  accounts: 'same',
  // The fewest and the most of a day: what was served, and what was clicked, by four dimensions.
  // Of four kinds each, what was shown and what was clicked.
  advertiser_days: forDays(daysOf(KEPT_MS.advertiserDays), 8 * PER_DAY.offers),
  advertiser_days_progress: 'same',
  advertiser_members: 'same',
  // They go by whole months.
  advertiser_offer_months: (day) => [
    Math.min(day, daysOf(KEPT_MS.advertiserDays)) * PER_DAY.offers,
    (Math.min(day, daysOf(KEPT_MS.advertiserDays) + 31) + 2) * PER_DAY.offers,
  ],
  advertiser_payments: 'same',
  advertiser_people: 'same',
  advertiser_wallets: 'same',
  advertisers: 'same',
  alert_rules: 'same',
  // Alerts that are over, and one or two that are open.
  alerts: (day) => [Math.min(day, daysOf(KEPT_MS.alerts)) - 1, Math.min(day + 1, daysOf(KEPT_MS.alerts)) + 3],
  applied_functions: 'same',
  audit_checkpoint: 'same',
  audit_log: 'same',
  audit_sums: 'same',
  auto_top_ups: 'same',
  availability_days: forDays(daysOf(KEPT_MS.availabilityDays)),
  availability_slots: forDays(daysOf(KEPT_MS.availabilitySlots)),
  browser_sessions: forDays(1),
  // Calls that end, and one that is swept the day after.
  calls: untilArchived(PER_DAY.calls + 1),
  call_metadata: forDays(TEXT_DAYS, PER_DAY.calls),
  campaign_chances: forDays(daysOf(KEPT_MS.campaignChances)),
  campaign_days: forGood(PER_DAY.offers),
  campaign_totals: 'same',
  campaigns: 'same',
  catalogue_version: 'same',
  charges: untilArchived(PER_DAY.calls + 1),
  click_days: forGood(1),
  click_salts: forDays(2),
  clicks: forGood(PER_DAY.offers),
  conversation_restraints: forDays(1),
  conversation_sums: 'same',
  conversations(day) {
    const living = PER_DAY.conversations * Math.min(day + 1, CONVERSATIONS) + 1
    return [living - deletedWithin + deletedBy(day) - 1, living + PER_DAY.conversations + deletedBy(day)]
  },
  conversions: 'same',
  credentials: 'same',
  deployments: 'same',
  domains: 'same',
  earnings: 'same',
  encoders: 'same',
  end_user_days: forDays(daysOf(KEPT_MS.endUsers)),
  end_user_erasures: forDays(daysOf(KEPT_MS.erasures)),
  end_users: forDays(daysOf(KEPT_MS.endUsers)),
  feed_runs: forDays(daysOf(KEPT_MS.feedRuns)),
  feed_uploads: forDays(daysOf(KEPT_MS.feedUploads)),
  feeds: 'same',
  gateways: forDays(daysOf(KEPT_MS.gateways)),
  holds: () => [0, 1],
  idempotency_keys: forDays(1),
  ignored_fields: forDays(daysOf(KEPT_MS.ignoredFields)),
  invitations: forDays(7 + daysOf(KEPT_MS.invitations)),
  journal: 'view',
  key_pairs: 'same',
  // This month's counts of end users, and one count for each browser session there is.
  limit_counts: () => [1, 33],
  limit_states: 'view',
  limits: () => [1, 3],
  mails: forDays(KEPT_DAYS.mails, PER_DAY.mails),
  matchers: forDays(1),
  members: 'view',
  memberships: 'same',
  // One of the conversation that never ends, and those of the day's, but for what was deleted.
  message_words(day) {
    const days = Math.min(day + 1, TEXT_DAYS)
    const ofDay = 1 + PER_DAY.conversations * PER_DAY.messagesOfEach
    const deleted = PER_DAY.messagesOfEach * (Math.ceil(TEXT_DAYS / DELETED_EVERY_DAYS) + 1)
    return [(days - 1) * ofDay - deleted, (days + 1) * ofDay]
  },
  messages(day) {
    const endless = Math.min(day + 1, daysOf(KEPT_MS.messages))
    const ofDay = PER_DAY.conversations * PER_DAY.messagesOfEach
    const others = ofDay * Math.min(day + 1, CONVERSATIONS)
    return [endless - 1 + others - PER_DAY.messagesOfEach * deletedWithin, endless + 1 + others + ofDay]
  },
  migrations: 'same',
  models: 'same',
  monetization: 'same',
  offer_stops: 'same',
  offers: forDays(OFFERED_DAYS + daysOf(KEPT_MS.removedOffers), PER_DAY.offers),
  passkeys: 'same',
  payment_returns: 'same',
  payments: 'same',
  price_versions: 'same',
  projects: 'same',
  provider_keys: 'same',
  providers: 'same',
  public_figures: 'same',
  publishers: 'same',
  recommendation_days: forGood(PER_DAY.offers),
  recommendation_outcomes: forDays(daysOf(KEPT_MS.recommendationOutcomes)),
  recommendation_reports: forDays(daysOf(KEPT_MS.readerReports)),
  recommendation_switch: 'same',
  recommendations: untilArchived(PER_DAY.offers),
  refused_requests: forDays(daysOf(KEPT_MS.refusedRequests)),
  retention_cuts: 'same',
  saved_prompts: 'same',
  // And those before the first, which have no charges.
  sealed_days: (day) => [daysArchivedBy(day), daysArchivedBy(day) + 2],
  sealed_sums: (day) => [daysArchivedBy(day), daysArchivedBy(day)],
  secret_versions: 'same',
  sessions: forDays(7),
  tenant_key: 'same',
  text_vectors: forDays(OFFERED_DAYS + daysOf(KEPT_MS.removedOffers), PER_DAY.offers),
  throttles: forDays(daysOf(KEPT_MS.throttles)),
  // The first credit of both wallets; of a click two, and a third when its earnings are released.
  transfers: (day) => [2 + 2 * (day + 1), 2 + 3 * (day + 1)],
  trial_claims: 'same',
  two_factors: 'same',
  usage_anomalies: forDays(daysOf(KEPT_MS.usageAnomalies)),
  usage_days: forGood(1, 1),
  usage_hours: forDays(daysOf(KEPT_MS.usageHours)),
  usage_progress: 'same',
  users: 'same',
  verifications: forDays(1),
  wallet_alerts: 'same',
  wallet_cards: 'same',
  wallets: 'same',
  webhook_deliveries: forDays(daysOf(KEPT_MS.webhookEvents)),
  webhook_endpoints: 'same',
  webhook_events: forDays(daysOf(KEPT_MS.webhookEvents)),
}

async function countRows(): Promise<Map<string, number>> {
  const tables = Object.entries(BOUNDS).flatMap(([table, bound]) => (bound === 'view' ? [] : [table]))
  const counts = tables.map(
    (table) => sql`select ${sql.lit(table)} as name, count(*)::int as rows from ${sql.table(table)}`,
  )
  const { rows } = await sql<{ name: string; rows: number }>`${sql.join(counts, sql` union all `)}`.execute(
    world.store.db,
  )
  return new Map(rows.map(({ name, rows: count }) => [name, count]))
}

/** Sentences about tables that have too few rows, or too many. */
function complaintsOf(day: number, rows: ReadonlyMap<string, number>, usual: ReadonlyMap<string, number>): string[] {
  return Object.entries(BOUNDS).flatMap(([table, bound]) => {
    if (bound === 'view') return []
    const count = rows.get(table) ?? -1
    const same = usual.get(table) ?? -1
    const [least, most] = bound === 'same' ? [same, same] : bound(day)
    return count >= least && count <= most ? [] : [`day ${day}: ${table} has ${count} rows, not ${least} to ${most}`]
  })
}

async function checkWholeLedger(day: number): Promise<void> {
  const { verdicts } = await checkLedger(world.store.db, { isFull: true, leaseMs: LEASE_MS })
  const broken = verdicts.filter(({ violations }) => violations > 0)
  assert.deepEqual(broken, [], `the ledger on day ${day}`)
}

async function archive(): Promise<void> {
  const { db } = world.store
  for (const old of await listOldDays(db, ARCHIVED_AFTER_DAYS)) {
    await sealDay(db, old)
    for (const table of old.tables) await detachTable(db, old.day, table, () => {})
  }
}

async function work(names: readonly JobName[]): Promise<void> {
  for (const name of names) await world.pass(name, PERIODS_MS[name])
}

const ALL = Object.keys(PERIODS_MS) as JobName[]
/** In the order in which a worker starts them. The audit is MONTHLY. */
const WEEKLY = ALL.filter((name) => !DAILY.includes(name) && name !== ROLL_UP && name !== 'audit')

function isLastOf(day: number, days: number): boolean {
  return day % days === days - 1
}

test('for more than a year, every table has the rows of its retention and no others, and the ledger is whole all along', async () => {
  const { store, secrets } = world
  await world.pass('partitions', PERIODS_MS.partitions)
  await addProvider(store, secrets, 'simulator', 'http://127.0.0.1:1/v1')
  await addModel(store, { id: 'sim-small', provider: 'simulator' })
  const { id: priceVersion } = await store.db.selectFrom('price_versions').select('id').executeTakeFirstOrThrow()
  const project = await world.newProject()
  const shop = { advertiser: 'Shop', domain: 'shop.example', headline: 'The first' }
  await fund(store.db, (await addOffer(store.db, shop)).advertiserId, 1_000_000n)
  await store.db.deleteFrom('offers').execute()
  const { id: feedId } = await store.db.selectFrom('feeds').select('id').executeTakeFirstOrThrow()
  const life = { store, secrets, project, modelId: 'sim-small', priceVersion, feed: { id: feedId, advertiser: 'Shop' } }

  await replaceLimits(
    store.db,
    { scope: 'end_users', subject: project.id, publisherId: project.publisherId, projectId: project.id },
    { ...NO_LIMITS, day_nanos: 1_000_000n },
  )

  let usual: ReadonlyMap<string, number> | undefined
  for (let day = 0; day < DAYS; day++) {
    await clock.setBehind((DAYS - day) * DAY_MS)
    await liveOneDay({ ...life, day, nowMs: clock.nowMs() })
    await work(DAILY)
    if (isLastOf(day, WEEK_DAYS)) await work(WEEKLY)
    if (!isLastOf(day, MONTH_DAYS)) continue
    // Real time has passed, too: what is older than a lease by now is swept.
    // A month at once brings weeks of slots that nobody is shown any more.
    await work([ROLL_UP, 'forget availability', 'sweep holds'])
    for (const doMonthly of MONTHLY) await doMonthly(day)
    const rows = await countRows()
    assert.deepEqual(complaintsOf(day, rows, (usual ??= rows)), [])
  }

  const key = { projectId: project.id, id: 'day-0-0' }
  assert.equal(
    (await findConversations(store.db, [key]))[0]?.isDeleted,
    true,
    'what was deleted in the first week still answers 404',
  )
  const { rows: texts } = await sql<{ days: number; headlines: number }>`
    select (extract(epoch from now() - min(created_at) filter (where content is not null)) / 86400)::float8 as days,
      (select count(headline)::int from recommendations) as headlines from messages`.execute(store.db)
  assert.ok(Number(texts[0]?.days) < 30.1, 'no text is older than its retention')
  assert.equal(
    texts[0]?.headlines,
    (ARCHIVED_AFTER_DAYS + 1) * PER_DAY.offers,
    'what was recommended is readable, also of offers that are gone',
  )
  assert.deepEqual(
    world.lines.filter(({ level, msg }) => level === 'error' && msg !== 'mail given up'),
    [],
  )
})
