import { sql } from 'kysely'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { createMetrics } from '../../src/metrics.ts'
import type { every } from '../../src/platform/every.ts'
import { createLog } from '../../src/platform/log.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/rules/durations.ts'
import type { Findings } from '../../src/rules/projects/domains.ts'
import { KEPT_DAYS } from '../../src/rules/retention.ts'
import type { Posted, WebhookRequest } from '../../src/worker/post-webhook.ts'
import type { FetchedFeed, FetchFeed } from '../../src/actions/offers/fetch-feed.ts'
import { createWorker } from '../../src/worker/worker.ts'
import { createTestDatabase, openTestStore } from './database.ts'
import { loginUrl } from './logins.ts'
import { createSchedule } from './schedule.ts'
import { addProject } from './world.ts'

export const LEASE_MS = MINUTE_MS

/** How often each runs. A new job is written here, and gets a test in test/integration/worker.test.ts or beside it. */
export const PERIODS_MS = {
  'sweep holds': LEASE_MS / 12,
  'cut retention': MINUTE_MS,
  'expire content': MINUTE_MS,
  'expire idempotency keys': MINUTE_MS,
  'forget restraints': MINUTE_MS,
  'grant trial credit': MINUTE_MS,
  'release earnings': HOUR_MS,
  'destroy click salts': HOUR_MS,
  'send mails': SECOND_MS,
  'check domains': 10 * SECOND_MS,
  'low balances': 10 * SECOND_MS,
  'top up wallets': 10 * SECOND_MS,
  'watch alerts': MINUTE_MS,
  'deliver webhooks': SECOND_MS,
  'fetch feeds': 10 * SECOND_MS,
  'import uploaded feeds': SECOND_MS,
  'withdraw removed feeds': 10 * SECOND_MS,
  'add up advertiser days': MINUTE_MS,
  'forget advertiser days': HOUR_MS,
  'forget conversions': HOUR_MS,
  audit: MINUTE_MS,
  'usage anomalies': MINUTE_MS,
  'roll up usage': 10 * SECOND_MS,
  'expire sessions': HOUR_MS,
  'forget attempts': HOUR_MS,
  'forget usage anomalies': HOUR_MS,
  'forget conversations': MINUTE_MS,
  'forget messages': HOUR_MS,
  'forget conversation sums': HOUR_MS,
  'erase leftovers': HOUR_MS,
  'add message words': MINUTE_MS,
  'forget end users': HOUR_MS,
  'forget browser sessions': HOUR_MS,
  'forget ignored fields': HOUR_MS,
  'forget refused requests': HOUR_MS,
  'forget mails': HOUR_MS,
  'forget campaign chances': HOUR_MS,
  'forget invitations': HOUR_MS,
  'forget feed runs': HOUR_MS,
  'forget uploaded feeds': MINUTE_MS,
  'forget offers': MINUTE_MS,
  'forget text vectors': HOUR_MS,
  'forget recommendation outcomes': HOUR_MS,
  'forget reader reports': HOUR_MS,
  'forget usage hours': HOUR_MS,
  'forget availability': HOUR_MS,
  'forget webhooks': HOUR_MS,
  'add up figures': HOUR_MS,
  partitions: 10 * MINUTE_MS,
  'forget gateways': HOUR_MS,
} as const

/** Times that have to be past are past by a second; times yet to come are a minute away. */
export const JUST_PAST_MS = -SECOND_MS
export const SOON_MS = MINUTE_MS

/** The database's time, off by so much. */
export function at(offsetMs: number) {
  return sql<Date>`now() + ${offsetMs} * interval '1 ms'`
}

export interface WorkerWorldOptions {
  /** Changes the database before anybody is connected to it. */
  prepare?: (databaseUrl: string) => Promise<void>
}

const SETTINGS = { leaseMs: LEASE_MS, kept: KEPT_DAYS, consoleUrl: 'http://console.test', tellsFigures: true }

export type WorkerWorld = Awaited<ReturnType<typeof createWorkerWorld>>

const storesAt = (url: string) => () => openTestStore({ url, applicationName: 'worker test import' })

/** A worker under its own login, whose jobs run when a test lets their time pass, with a mail server and a stand-in for DNS. */
export async function createWorkerWorld({ prepare }: WorkerWorldOptions = {}) {
  const database = await createTestDatabase()
  await prepare?.(database.url)
  /** The owner's store: tests put rows where no plane may. */
  const store = openTestStore({ url: database.url, applicationName: 'worker test' })
  const logins = { url: loginUrl(database.url, 'worker'), tenantUrl: loginUrl(database.url, 'tenant') }
  const workerStore = openTestStore({ ...logins, applicationName: 'worker test worker' })
  const mails = await startMailServer()
  const domains = takeDomains()
  const servers = { webhooks: takeWebhooks(), feeds: takeFeeds(), openImportStore: storesAt(logins.url) }
  const lines: Record<string, unknown>[] = []
  const secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }])
  const metrics = createMetrics()
  const { jobs, repeat, pass } = createSchedule()
  const startWorker = (schedule: typeof every) =>
    createWorker({
      db: workerStore.db,
      tenants: workerStore.tenants,
      log: createLog('info', { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) }),
      metrics,
      secrets,
      ...SETTINGS,
      stripe: undefined,
      mail: { smtpUrl: mails.url, from: 'Parley <parley@example.com>' },
      checkDomain: domains.check,
      postWebhook: servers.webhooks.post,
      fetchFeed: servers.feeds.fetch,
      openImportStore: servers.openImportStore,
      repeat: schedule,
    })
  const worker = startWorker(repeat)

  return {
    store,
    secrets,
    metrics,
    lines,
    jobs,
    pass,
    domains,
    ...servers,
    mailed: mails.mailed,
    startWorker,
    /** Looks a millisecond before the job's turn, and again after it. */
    async aroundTurn<T>(name: keyof typeof PERIODS_MS, look: () => T | Promise<T>): Promise<{ before: T; after: T }> {
      await pass(name, PERIODS_MS[name] - 1)
      const before = await look()
      await pass(name, 1)
      return { before, after: await look() }
    },
    /** Its key pair as well, and a person who owns it. */
    async newProject(options: Parameters<typeof addProject>[2] = {}) {
      const project = await addProject(store, secrets, options)
      const keys = store.db.selectFrom('key_pairs').select('id').where('project_id', '=', project.id)
      const { id: keyPairId } = await keys.executeTakeFirstOrThrow()
      const owner = { id: uuidv7(), name: 'Owner', email: `owner-${project.id}@example.com` }
      await store.db.insertInto('users').values(owner).execute()
      const membership = { publisher_id: project.publisherId, user_id: owner.id, role: 'owner' }
      await store.db.insertInto('memberships').values(membership).execute()
      return { ...project, keyPairId, owner }
    },
    async close() {
      worker.stop()
      await mails.close()
      await workerStore.close()
      await store.close()
      await database.drop()
    },
  }
}

/** In the place of the DNS. */
function takeDomains() {
  const domains = {
    checked: [] as string[],
    outcome: 'match' as 'match' | 'absent',
    onCheck: () => {},
    check({ name }: { name: string }): Promise<Findings> {
      domains.checked.push(name)
      domains.onCheck()
      const dns = { outcome: domains.outcome, values: [], misplacedAt: null }
      return Promise.resolve({ dns, file: { outcome: 'not_needed', reason: null, status: null } })
    },
  }
  return domains
}

/** In the place of publishers' servers. */
function takeWebhooks() {
  const sent: WebhookRequest[] = []
  const post = (webhook: WebhookRequest): Promise<Posted> => {
    sent.push(webhook)
    return Promise.resolve({ status: 200 })
  }
  return { sent, post }
}

/** In the place of advertisers' servers. */
function takeFeeds() {
  const feeds = {
    asked: [] as Parameters<FetchFeed>[0][],
    answer: (): FetchedFeed | Promise<FetchedFeed> => ({ problem: 'nothing is there' }),
    async fetch(feed: Parameters<FetchFeed>[0]): Promise<FetchedFeed> {
      feeds.asked.push(feed)
      return feeds.answer()
    },
  }
  return feeds
}

/** Takes every mail, but answers those to refused-500@ with 500. */
async function startMailServer() {
  const mailed: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const to = session.envelope.rcptTo.map(({ address }) => address).join()
      const [, refusal] = /^refused-(\d+)@/.exec(to) ?? []
      if (refusal === undefined) mailed.push(to)
      const error = refusal === undefined ? null : Object.assign(new Error('no'), { responseCode: Number(refusal) })
      stream.resume().on('end', () => done(error))
    },
  })
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()))
  return { url: `smtp://127.0.0.1:${port}`, mailed, close }
}

export async function erasedRows({ metrics }: WorkerWorld, table: string): Promise<number> {
  const { values } = await metrics.rowsErased.get()
  return values.find(({ labels }) => labels.table === table)?.value ?? 0
}

/** The values of a table's column before and after the job's turn, and the number of erased rows that it counts. */
export async function erasedBy(
  world: WorkerWorld,
  name: keyof typeof PERIODS_MS,
  table: string,
  column: string,
): Promise<{ before: string[]; after: string[]; counted: number }> {
  const countedBefore = await erasedRows(world, table)
  const seen = await world.aroundTurn(name, async () => {
    const { rows } = await sql<{ value: string }>`
      select ${sql.ref(column)}::text as value from ${sql.table(table)} order by 1`.execute(world.store.db)
    return rows.map(({ value }) => value)
  })
  return { ...seen, counted: (await erasedRows(world, table)) - countedBefore }
}
