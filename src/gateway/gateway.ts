import { createChance } from '../platform/chance.ts'
import { every } from '../platform/every.ts'
import { errorFields, type Log } from '../platform/log.ts'
import type { Metrics } from '../metrics.ts'
import type { Secrets } from '../platform/secrets.ts'
import { uuidv7 } from '../platform/uuid.ts'
import { createTransport, type TransportOptions } from '../providers/transport.ts'
import { HOUR_MS } from '../rules/durations.ts'
import { BEATS_PER_LEASE } from '../rules/limits.ts'
import type { Db, Store } from '../store/database.ts'
import { removeGateway } from '../store/billing/gateways.ts'
import { touchKeyPairs } from '../store/projects/keys.ts'
import { applyWith } from '../store/billing/ledger-batch.ts'
import { createLedger, type Ledger } from '../store/billing/ledger.ts'
import { noteKeyRefusal } from '../store/catalogue/providers.ts'
import { ensurePartitions } from '../store/billing/wallets.ts'
import { createAuthenticate, type Caller, type Keys } from './authenticate.ts'
import { ShutDown, type RunningCalls } from './call.ts'
import { createCatalogueView, type CatalogueView } from './upstreams/catalogue.ts'
import { createConversations, type Conversations } from './conversations.ts'
import { createIdempotency, type Idempotency } from './idempotency.ts'
import { createLease } from './lease.ts'
import { createLinks, type Links } from './recommendations/links.ts'
import { createModelStatistics, type ModelStatistics } from './model-statistics.ts'
import { createRecommendations, type Recommendations } from './recommendations/recommendations.ts'
import { createUpstreams, type Upstreams } from './upstreams/upstreams.ts'

/** What the request path works with: everything a call can touch is listed here. */
export interface Gateway {
  readonly db: Db
  authenticate(keys: Keys): Promise<Caller>
  readonly catalogue: CatalogueView
  readonly upstreams: Upstreams
  readonly conversations: Conversations
  readonly idempotency: Idempotency
  readonly recommendations: Recommendations
  readonly links: Links
  readonly ledger: Ledger
  readonly statistics: ModelStatistics
  /** Numbers from 0 to below 1 that no caller can foresee. */
  chance(): number
  readonly running: RunningCalls
  /** Completions at the same time in this process; more are answered 503. */
  readonly callsMax: number
  readonly log: Log
  readonly metrics: Metrics
  /** Can it hold credit right now? */
  readonly isReady: boolean
  isDraining: boolean
  /** Ends when every call has been settled; calls that still run after `graceMs` are cut off with an error event. */
  stop(graceMs: number): Promise<void>
}

export interface GatewayOptions {
  store: Store
  secrets: Secrets
  log: Log
  metrics: Metrics
  leaseMs: number
  callsMax: number
  /** Where callers reach this gateway: links in recommendations begin with it. */
  publicUrl: string
  /** Where the matcher of this host answers. */
  matcherUrl: string
  /** How long a complete answer waits for a recommendation. */
  answerWaitMs?: number
  /** How long a new call waits for an answer of the store before it is answered 503. */
  storeWaitMs?: number
  transport?: TransportOptions
  /** How often it looks for changes that it was not told of. */
  cataloguePollMs?: number
}

const CATALOGUE_POLL_MS = 1_000
const PARTITIONS_EVERY_MS = 6 * HOUR_MS
const TOUCH_EVERY_MS = 30_000

export function createGateway(options: GatewayOptions): Gateway {
  const { store, secrets, log, metrics, leaseMs, callsMax, storeWaitMs } = options
  const id = uuidv7()
  const beatMs = leaseMs / BEATS_PER_LEASE
  const transport = createTransport(options.transport)
  const running: RunningCalls = new Map()
  const lastUsed = createLastUsed(store.db)
  const authenticate = createAuthenticate(store.db, secrets, storeWaitMs)
  const upstreams = createUpstreams({
    log,
    metrics,
    noteKeyRefusal: (keyId, refusal) => noteKeyRefusal(store.db, keyId, refusal),
  })
  const onChange = upstreams.keepOnly
  const catalogue = createCatalogueView({ db: store.db, secrets, transport, log, onChange })
  const digestKey = secrets.keyFor('message-digests')
  const conversations = createConversations({ db: store.db, digestKey, log, metrics, storeWaitMs })
  const recommendations = createRecommendations({ ...options, db: store.db })
  const ledger = openLedger(options, id)
  const lease = createLease({ db: store.db, gatewayId: id, ledger, running, metrics, beatMs })

  const follow = every(options.cataloguePollMs ?? CATALOGUE_POLL_MS, () => catalogue.refresh(), 'catalogue', log)
  const changes = store.listen('parley_catalogue', () => follow.soon())
  const jobs = [
    follow,
    every(beatMs, () => lease.renew(), 'lease', log),
    every(PARTITIONS_EVERY_MS, () => ensurePartitions(store.db), 'partitions', log),
    every(TOUCH_EVERY_MS, () => lastUsed.write(), 'last used keys', log),
  ]

  return {
    db: store.db,
    async authenticate(keys) {
      const caller = await authenticate(keys)
      lastUsed.add(caller.keyPairId)
      return caller
    },
    catalogue,
    upstreams,
    conversations,
    idempotency: createIdempotency({ db: store.db, secrets, gatewayId: id, leaseMs }),
    recommendations,
    links: createLinks(store.db, secrets),
    ledger,
    statistics: createModelStatistics(),
    chance: createChance(),
    running,
    callsMax,
    log,
    metrics,
    get isReady() {
      return catalogue.isLoaded && lease.isFresh && ledger.isWritable
    },
    isDraining: false,
    async stop(graceMs) {
      await waitUntilEmpty(running, graceMs)
      for (const call of running.values()) call.abort(new ShutDown())
      await waitUntilEmpty(running, graceMs)
      for (const job of jobs) job.stop()
      await changes.stop()
      await Promise.all([conversations.idle(), ledger.idle(), recommendations.stop(), lastUsed.write().catch(() => {})])
      await removeGateway(store.db, id).catch(() => {})
      await transport.close()
    },
  }
}

async function waitUntilEmpty(running: RunningCalls, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs
  while (running.size > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 20))
}

function openLedger({ store, metrics, log, storeWaitMs }: GatewayOptions, gatewayId: string): Ledger {
  const onBatch = (items: number, seconds: number) => {
    metrics.ledgerBatch.observe(items)
    metrics.ledgerSeconds.observe(seconds)
  }
  const events = {
    onPutOff: (error: unknown) => log.warn(errorFields(error), 'the ledger cannot be written: calls are refused'),
    onRecovered: () => log.info({ job: 'ledger' }, 'recovered'),
  }
  return createLedger(applyWith({ pool: store.ledgerPool, gatewayId, onBatch }), events, storeWaitMs)
}

/** When each key pair was last used, written now and then: people look at it, nothing depends on it. */
export function createLastUsed(db: Db) {
  const ids = new Set<string>()
  return {
    add: (keyPairId: string) => ids.add(keyPairId),
    async write(): Promise<void> {
      const used = [...ids]
      ids.clear()
      await touchKeyPairs(db, used, new Date())
    },
  }
}
