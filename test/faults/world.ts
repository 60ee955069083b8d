import { randomBytes } from 'node:crypto'
import { createGateway } from '../../src/gateway/gateway.ts'
import { createServer } from '../../src/gateway/server.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics, type Metrics } from '../../src/metrics.ts'
import { createSecrets, type Secrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { perClass } from '../../src/rules/billing/usage.ts'
import { LEASE_MS } from '../../src/rules/limits.ts'
import type { Store } from '../../src/store/database.ts'
import { createTestDatabase, openTestStore } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { EMBEDDING_PRICE, PRICE, addProject, until, type TestProject } from '../support/world.ts'
import { nameOf, type Adapter } from './adapters.ts'
import type { Cell } from './cells.ts'
import { SHORT_MS } from './expected.ts'
import { REPEATED_FAULTS } from './repeated-faults.ts'
import { openPlaces, type Place, type Places } from './places.ts'

/** A gateway with a model, a provider and a place for every cell: none of them learns anything from another's faults. */
export interface World {
  url: string
  store: Store
  metrics: Metrics
  project: TestProject
  places: Places
  /** Everything the gateway has logged. */
  logs: string[]
  /** Known when the gateway has written its line about the call. */
  callIdOf(requestId: string): string | undefined
  stationOf(cell: Cell): Station
  close(): Promise<void>
}

export interface Station {
  model: string
  /** A second model that the caller names, if it does. */
  fallback: string | undefined
  /** The provider that the fault strikes. */
  provider: string
  place: Place
}

/** Told apart from anything else in a log. */
export const API_KEY = 'upstream-key-of-the-matrix'
export const TOKENS = 12
export const CACHED_TOKENS = 3
export const REASONING_TOKENS = 5
/** The reported usage differs from what can be counted, so that a charge shows which of the two it came from. */
const HEALTHY_SCRIPT = `tokens=${TOKENS}&cached=${CACHED_TOKENS}&reasoning=${REASONING_TOKENS}`
/** The same of embeddings: each token is reported twice. */
export const EMBEDDING_FACTOR = 2
const EMBEDDING_SCRIPT = `factor=${EMBEDDING_FACTOR}`

export async function openWorld(cells: readonly Cell[]): Promise<World> {
  const database = await createTestDatabase()
  const places = await openPlaces()
  const secrets = createSecrets([{ version: 1, bytes: randomBytes(32) }])
  const store = openTestStore({ url: database.url, applicationName: 'parley faults' })
  const gatewayStore = openTestStore({
    url: loginUrl(database.url, 'gateway'),
    applicationName: 'parley faults gateway',
  })
  const project = await addProject(store, secrets, { credits: '1000' })
  const stations = await addStations(store, secrets, cells, places)
  const logs: string[] = []
  const callIds = new Map<string, string>()
  const write = (line: string) => {
    logs.push(line)
    const { requestId, call } = JSON.parse(line) as Record<string, string | undefined>
    if (requestId !== undefined && call !== undefined) callIds.set(requestId, call)
  }
  const metrics = createMetrics()
  const gateway = createGateway({
    store: gatewayStore,
    secrets,
    metrics,
    log: createLog('info', { write }),
    leaseMs: LEASE_MS,
    callsMax: 10_000,
    publicUrl: 'http://127.0.0.1:8080',
    matcherUrl: 'http://127.0.0.1:9',
    transport: { ca: places.ca, dns: { servers: [places.nameServer], systemLookup: knowsNobody } },
  })
  const app = createServer(gateway)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  await until(() => gateway.health.isReady, 10_000)
  return {
    url,
    store,
    metrics,
    project,
    places,
    logs,
    callIdOf: (requestId) => callIds.get(requestId),
    stationOf(cell) {
      const station = stations.get(cell.id)
      if (!station) throw new Error(`${cell.id} has no station`)
      return station
    },
    async close() {
      await gateway.stop(5_000)
      app.server.closeAllConnections()
      await app.close()
      await gatewayStore.close()
      await store.close()
      await places.close()
      await database.drop()
    },
  }
}

/** The names of the matrix are known to its own name server alone, on whatever machine it runs. */
async function knowsNobody(): Promise<never> {
  throw new Error('ENOTFOUND')
}

/** A statement per table, not per cell: there are more than a thousand of them. */
async function addStations(
  store: Store,
  secrets: Secrets,
  cells: readonly Cell[],
  places: Places,
): Promise<Map<string, Station>> {
  const found = await Promise.all(cells.map((cell, n) => places.of(cell.fault, n)))
  const spares = [...new Set(cells.map((cell) => cell.adapter))].map((adapter) =>
    providerAt(adapter, `healthy-${nameOf(adapter)}`, places.healthy.url),
  )
  const furnished = cells.map((cell, n) => {
    const fallback = cell.hasFallback ? `fallback-${n}` : undefined
    const station: Station = { model: `cell-${n}`, fallback, provider: `faulty-${n}`, place: found[n] as Place }
    const provider = providerAt(cell.adapter, station.provider, station.place.url)
    const spare = spares.find(({ name }) => name === `healthy-${nameOf(cell.adapter)}`) as ProviderRow
    return { cell, station, provider, deployments: deploymentsOf(cell, station, provider.id, spare.id) }
  })
  const providers = [...spares, ...furnished.map(({ provider }) => provider)]
  await insertInBulk(providers, (rows) => store.db.insertInto('providers').values(rows))
  const keys = providers.map(({ id, kind }) => keyOf(id, kind, cells, secrets))
  await insertInBulk(keys, (rows) => store.db.insertInto('provider_keys').values(rows))
  const models = furnished.flatMap(({ cell, station }) => {
    const kind = cell.adapter.isEmbedding ? 'embedding' : 'chat'
    const ids = station.fallback ? [station.model, station.fallback] : [station.model]
    return ids.map((id) => ({ id, kind, owned_by: 'matrix', max_output_tokens: 16_384 }))
  })
  await insertInBulk(models, (rows) => store.db.insertInto('models').values(rows))
  await insertInBulk(models.map(priceOf), (rows) => store.db.insertInto('price_versions').values(rows))
  const deployments = furnished.flatMap((row) => row.deployments)
  await insertInBulk(deployments, (rows) => store.db.insertInto('deployments').values(rows))
  return new Map(furnished.map(({ cell, station }) => [cell.id, station]))
}

/** PostgreSQL takes 65,535 values in a statement. */
const ROWS_AT_ONCE = 500

async function insertInBulk<Row>(rows: readonly Row[], insert: (rows: Row[]) => { execute(): Promise<unknown> }) {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) await insert(rows.slice(at, at + ROWS_AT_ONCE)).execute()
}

type ProviderRow = ReturnType<typeof providerAt>

function providerAt({ kind, basePath, settings = {} }: Adapter, name: string, url: string) {
  return { id: uuidv7(), name, kind, base_url: url + basePath, settings: JSON.stringify(settings) }
}

function keyOf(providerId: string, kind: string, cells: readonly Cell[], secrets: Secrets) {
  const { apiKey = API_KEY } = cells.find(({ adapter }) => adapter.kind === kind)?.adapter ?? {}
  return {
    id: uuidv7(),
    provider_id: providerId,
    name: 'default',
    sealed_key: secrets.seal(apiKey, `provider/${providerId}`),
  }
}

/** The price of a fallback model. */
export const DEARER = perClass((name) => 2n * PRICE[name])

function priceOf({ id, kind }: { id: string; kind: string }) {
  const chat = id.startsWith('fallback') ? DEARER : PRICE
  const { cachedInput: cached_input, cacheWrite: cache_write, ...same } = kind === 'chat' ? chat : EMBEDDING_PRICE
  return { model_id: id, ...same, cached_input, cache_write, effective_from: new Date(Date.now() - 60_000) }
}

function deploymentsOf(cell: Cell, { model, fallback }: Station, faulty: string, healthy: string) {
  const healthyScript = cell.adapter.isEmbedding ? EMBEDDING_SCRIPT : HEALTHY_SCRIPT
  const said = isInManyBytes(cell.fault) ? `${healthyScript}&utf8=1` : healthyScript
  const row = (provider_id: string, position: number, script: string, timers: object, of = model) => {
    return { id: uuidv7(), model_id: of, provider_id, position, upstream_model: `sim?${script}`, ...timers }
  }
  const first = row(
    faulty,
    0,
    said + misbehaviourOf(REPEATED_FAULTS[cell.fault]?.fault ?? cell.fault),
    timersOf(cell.fault),
  )
  if (fallback) return [first, row(healthy, 0, said, TIMERS, fallback)]
  return cell.hasSecondRoute ? [first, row(healthy, 1, said, TIMERS)] : [first]
}

/** Characters of several bytes, for the fault that cuts them. */
export function isInManyBytes(fault: string): boolean {
  return fault === 'U8'
}

function misbehaviourOf(fault: string): string {
  const [name = '', after] = fault.split('@')
  const isOfPlace = name === 'none' || /^U[1-4](?!\d)/.test(name)
  if (isOfPlace) return ''
  return `&fault=${name}${after === undefined ? '' : `&after=${after}`}`
}

/** Long enough for anything that is not about them, on any machine. */
const TIMERS = { connect_timeout_ms: 3_000, first_token_timeout_ms: 60_000, idle_timeout_ms: 60_000 }

function timersOf(fault: string) {
  switch (fault) {
    case 'U2':
      return { ...TIMERS, connect_timeout_ms: SHORT_MS }
    case 'U5':
      return { ...TIMERS, first_token_timeout_ms: SHORT_MS }
    case 'U6':
      return { ...TIMERS, idle_timeout_ms: SHORT_MS }
    case 'U6@0':
      return { ...TIMERS, first_token_timeout_ms: SHORT_MS, idle_timeout_ms: SHORT_MS }
    default:
      return TIMERS
  }
}
