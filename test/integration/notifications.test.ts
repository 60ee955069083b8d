import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { createGateway, type Gateway } from '../../src/gateway/gateway.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/metrics.ts'
import type { Store } from '../../src/store/database.ts'
import { listen } from '../../src/store/notifications.ts'
import { setModelEnabled } from '../../src/store/catalogue/models.ts'
import { addModel, createWorld, until, type World } from '../support/world.ts'
import { openTestStore } from '../support/database.ts'

const NAME = 'parley listening'
const NEVER_MS = 3_600_000

let world: World
let store: Store
let gateway: Gateway

before(async () => {
  world = await createWorld()
  await addModel(world.store, { id: 'toggled', provider: 'simulator' })
  store = openTestStore({ url: world.env.PARLEY_GATEWAY_DATABASE_URL ?? '', applicationName: NAME })
  // It never looks by itself: what it knows, it was told.
  gateway = createGateway({ ...optionsOf(store), cataloguePollMs: NEVER_MS })
  await until(() => gateway.health.isReady)
  await until(async () => (await listening()).length === 1)
})
after(async () => {
  await gateway.stop(1_000)
  await store.close()
  await world.close()
})

function optionsOf(itsStore: Store) {
  const log = createLog('silent')
  return {
    store: itsStore,
    secrets: world.secrets,
    log,
    metrics: createMetrics(),
    leaseMs: 30_000,
    callsMax: 10,
    publicUrl: 'http://127.0.0.1:8080',
    matcherUrl: 'http://127.0.0.1:9',
  }
}

async function listening(): Promise<number[]> {
  const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity
    where datname = current_database() and application_name = ${NAME} and query like 'listen %'`.execute(world.store.db)
  return rows.map(({ pid }) => pid)
}

const CALLER = { allowedModels: null } as Parameters<Gateway['catalogue']['modelsFor']>[0]

function isListed(by: Gateway = gateway): boolean {
  return by.catalogue.modelsFor(CALLER).some(({ id }) => id === 'toggled')
}

test('a gateway that never polls sees each change because it is told', async () => {
  for (const isEnabled of [false, true, false, true]) {
    await setModelEnabled(world.store.db, 'toggled', isEnabled)
    await until(() => isListed() === isEnabled, 2_000)
  }
})

test('a listening connection that was cut is replaced, and what was missed meanwhile is seen', async () => {
  const [pid] = await listening()
  await sql`select pg_terminate_backend(${pid})`.execute(world.store.db)
  await setModelEnabled(world.store.db, 'toggled', false)
  await until(() => !isListed(), 5_000)
  await until(async () => {
    const [other] = await listening()
    return other !== undefined && other !== pid
  })
  await setModelEnabled(world.store.db, 'toggled', true)
  await until(() => isListed(), 2_000)
})

test('a gateway that is told nothing sees a change within two seconds, because it looks', async (t) => {
  const deaf = createGateway(optionsOf({ ...store, listen: () => ({ stop: () => Promise.resolve() }) }))
  t.after(() => deaf.stop(1_000))
  await until(() => deaf.health.isReady)
  for (const isEnabled of [false, true]) {
    await setModelEnabled(world.store.db, 'toggled', isEnabled)
    await until(() => isListed(deaf) === isEnabled, 2_000)
  }
})

test('a gateway as it is started sees a change within two seconds, also while its listening connection is cut', async () => {
  const etag = async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    await response.arrayBuffer()
    return response.headers.get('etag')
  }
  const before = await etag()
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'parley gateway' and query like 'listen %'`.execute(
    world.store.db,
  )
  await setModelEnabled(world.store.db, 'toggled', false)
  await until(async () => (await etag()) !== before, 2_000)
  await setModelEnabled(world.store.db, 'toggled', true)
  await until(async () => (await etag()) === before, 2_000)
})

test('a store that cannot be reached neither throws nor keeps anybody waiting at the end', async () => {
  let notices = 0
  const listener = listen({
    url: 'postgres://nobody@127.0.0.1:1/none',
    applicationName: NAME,
    channel: 'parley_catalogue',
    onNotice: () => (notices += 1),
    retryMs: 1,
  })
  await new Promise((resolve) => setTimeout(resolve, 100))
  await listener.stop()
  assert.equal(notices, 0)
})
