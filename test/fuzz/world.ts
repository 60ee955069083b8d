/** A gateway with every wire format behind it and tenants of every standing, for whoever sends it something odd. */
import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { createSimulator } from '../../simulator/server.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { createServer } from '../../src/gateway/server.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createLog } from '../../src/platform/log.ts'
import { createSecrets, type Secrets } from '../../src/platform/secrets.ts'
import { INTAKE_LIMITS, LEASE_MS } from '../../src/rules/limits.ts'
import { checkLedger } from '../../src/store/billing/ledger-check/ledger-check.ts'
import type { Store } from '../../src/store/database.ts'
import { createTestDatabase, openTestStore, STORE_WAIT_MS } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { WIRE_FORMATS } from '../support/wire-formats.ts'
import { addModel, addProject, addProvider, until, type TestProject } from '../support/world.ts'

export interface World {
  app: FastifyInstance
  store: Store
  /** Projects that may call, with enough credit or nearly none. */
  callers: readonly TestProject[]
  /** Projects that may not call, each for a different reason. */
  outsiders: readonly TestProject[]
  /** Lines that only a defect writes. */
  alarms: string[]
  /** Nothing negative, nothing held, nothing that does not add up. */
  complaints(): Promise<string[]>
  /** How many calls run, and what the database is busy with. */
  standstill(): Promise<string>
  close(): Promise<void>
}

export const CHAT_MODELS = WIRE_FORMATS.map(({ kind }) => `fuzz-${kind}`)
export const EMBEDDING_MODELS = ['fuzz-embedding', 'fuzz-gemini-embedding']
const SCRIPT = '?tokens=4&chunk=2'

/** One address sends everything here, as fast as it can: what is tried is not how often somebody may ask. */
const UNLIMITED = {
  ...INTAKE_LIMITS,
  addressRequestsPerSecond: 1_000_000,
  keyPairRequestsPerSecond: 1_000_000,
  sessionRequestsPerSecond: 1_000_000,
  accountWorkPercent: 100,
  projectCallsPercent: 100,
  keyPairCallsPercent: 100,
  keyPairBodiesPercent: 100,
}

export async function openWorld(): Promise<World> {
  const database = await createTestDatabase()
  const simulator = await createSimulator({ seed: 1 })
  const secrets = createSecrets([{ version: 1, bytes: randomBytes(32) }])
  const store = openTestStore({ url: database.url, applicationName: 'parley fuzz' })
  const gatewayStore = openTestStore({ url: loginUrl(database.url, 'gateway'), applicationName: 'parley fuzz gateway' })
  await addModels(store, secrets, simulator.url)
  const tenants = await addTenants(store, secrets)
  const alarms: string[] = []
  const write = (line: string) => {
    if (/"level":"(?:error|fatal)"/.test(line)) alarms.push(line.trim())
  }
  const gateway = createGateway({
    store: gatewayStore,
    secrets,
    metrics: createMetrics(),
    log: createLog('info', { write }),
    leaseMs: LEASE_MS,
    callsMax: 10_000,
    intakeLimits: UNLIMITED,
    publicUrl: 'http://127.0.0.1:8080',
    matcherUrl: 'http://127.0.0.1:9',
    storeWaitMs: STORE_WAIT_MS,
  })
  const app = createServer(gateway)
  await app.ready()
  await until(() => gateway.health.isReady, 20_000)
  return {
    app,
    store,
    ...tenants,
    alarms,
    async complaints() {
      await until(() => gateway.running.size === 0, 15_000).catch(() => {})
      const still = gateway.running.size === 0 ? [] : [`${gateway.running.size} calls have not ended`]
      await Promise.all([gateway.ledger.idle(), gateway.conversations.idle()])
      return [
        ...still,
        ...alarms.slice(0, 10).map((line) => `the gateway logged ${line}`),
        ...(await moneyComplaints(store)),
      ]
    },
    async standstill() {
      const { rows } = await sql<object>`
        select pid, state, wait_event_type, wait_event, now() - query_start as for, left(query, 80) as query
        from pg_stat_activity where datname = current_database() and state <> 'idle'`.execute(store.db)
      return `${gateway.running.size} calls run; ${JSON.stringify(rows)}`
    },
    async close() {
      await gateway.stop(2_000)
      app.server.closeAllConnections()
      await app.close()
      await gatewayStore.close()
      await store.close()
      await simulator.close()
      await database.drop()
    },
  }
}

async function addModels(store: Store, secrets: Secrets, simulatorUrl: string): Promise<void> {
  for (const { kind, path, settings = {}, upstreamModel } of WIRE_FORMATS) {
    await addProvider(store, secrets, kind, simulatorUrl + path, { kind, settings })
    await addModel(store, { id: `fuzz-${kind}`, provider: kind, upstreamModel: `${upstreamModel}${SCRIPT}` })
  }
  const [first = '', second = ''] = EMBEDDING_MODELS
  await addModel(store, { id: first, kind: 'embedding', provider: 'openai-compatible', upstreamModel: 'sim' })
  await addModel(store, { id: second, kind: 'embedding', provider: 'gemini', upstreamModel: 'sim' })
}

async function addTenants(store: Store, secrets: Secrets): Promise<Pick<World, 'callers' | 'outsiders'>> {
  const rich = await addProject(store, secrets, { credits: '1000000' })
  const other = await addProject(store, secrets, { credits: '1000000' })
  // A few calls, and then it has too little: what is asked of an almost empty wallet takes other ways.
  const poor = await addProject(store, secrets, { credits: '0.001' })
  const outsiders = await Promise.all([
    addProject(store, secrets, { credits: '0' }),
    addProject(store, secrets, { isActivated: false }),
    addProject(store, secrets, { isVerified: false }),
  ])
  const inactive = await addProject(store, secrets)
  await store.db.updateTable('key_pairs').set({ active: false }).where('project_id', '=', inactive.id).execute()
  return { callers: [rich, other, poor], outsiders: [...outsiders, inactive] }
}

async function moneyComplaints(store: Store): Promise<string[]> {
  const wallets = await store.db.selectFrom('wallets').selectAll().execute()
  const wrong = wallets.filter(
    (wallet) => wallet.balance_nanos < 0n || wallet.held_nanos !== 0n || wallet.open_holds !== 0,
  )
  const { verdicts } = await checkLedger(store.db, { isFull: true, leaseMs: LEASE_MS })
  return [
    ...wrong.map(({ project_id, balance_nanos, held_nanos, open_holds }) => {
      return `the wallet of ${project_id} has ${balance_nanos}, and ${held_nanos} is held by ${open_holds}`
    }),
    ...verdicts.flatMap(({ invariant, examples }) => examples.map((each) => `${invariant} ${JSON.stringify(each)}`)),
  ]
}
