import { createChance } from '../platform/chance.ts'
import { createJobs, type Repeat } from '../platform/every.ts'
import { errorFields, type Log } from '../platform/log.ts'
import type { Metrics } from '../metrics.ts'
import type { Secrets } from '../platform/secrets.ts'
import { uuidv7 } from '../platform/uuid.ts'
import { createTransport, type TransportOptions } from '../providers/transport.ts'
import { HOUR_MS } from '../rules/durations.ts'
import { looksLikeSessionSecret } from '../rules/projects/keys.ts'
import { BEATS_PER_LEASE, INTAKE_LIMITS, type IntakeLimits } from '../rules/limits.ts'
import type { Db, Store } from '../store/database.ts'
import { removeGateway } from '../store/billing/gateways.ts'
import { touchKeyPairs } from '../store/projects/keys.ts'
import type { Ledger } from '../store/billing/ledger/ledger.ts'
import { openLedger } from '../store/billing/ledger/open-ledger.ts'
import { noteKeyRefusal } from '../store/catalogue/providers.ts'
import { ensurePartitions } from '../store/partitions.ts'
import { createAuthenticate, type Caller, type Keys } from './authenticate.ts'
import { createAuthenticateSession } from './sessions/authenticate-session.ts'
import { createMint, type Mint } from './sessions/mint.ts'
import { ShutDown, type RunningCalls } from './call.ts'
import { createCallMetadata, type CallMetadata } from './call-metadata.ts'
import { createCatalogueView, type CatalogueView } from './upstreams/catalogue.ts'
import { createEndUsers, type EndUsers } from './end-users.ts'
import { createConversations, type Conversations } from './conversations/conversations.ts'
import { createDigestKeys, type LoadedDigestKeys } from './digest-keys.ts'
import { createGatewayHealth, type GatewayHealth } from './gateway-health.ts'
import { createIdempotency, type Idempotency } from './idempotency.ts'
import { createIgnoredFields, type IgnoredFields } from './intake/ignored-fields.ts'
import { createIntake, type Intake } from './intake/intake.ts'
import { createKeyOwners, type KeyOwners } from './intake/key-owners.ts'
import { createRefusedRequests, type RefusedRequests } from './intake/refused-requests.ts'
import { createWork, type Work } from './intake/work.ts'
import { createLease } from './lease.ts'
import { createClicks } from './recommendations/clicks.ts'
import { createNetworkTags } from './recommendations/network-tags.ts'
import { followDataCentres } from './recommendations/data-centres.ts'
import { createLinks, type Links } from './recommendations/links.ts'
import { createTokenMemory, type TokenMemory } from './metering/token-memory.ts'
import { createModelStatistics, type ModelStatistics } from './metering/model-statistics.ts'
import { createRefusalLines, type RefusalLines } from './refusal-lines.ts'
import { createRecommendations, type Recommendations } from './recommendations/recommendations.ts'
import { createUpstreams, type Upstreams } from './upstreams/upstreams.ts'

/** The parts that the request path works with: everything a call can touch is listed here. */
export interface Gateway {
  readonly db: Db
  authenticate(keys: Keys): Promise<Caller>
  readonly mint: Mint
  readonly catalogue: CatalogueView
  readonly upstreams: Upstreams
  readonly conversations: Conversations
  readonly endUsers: EndUsers
  readonly metadata: CallMetadata
  readonly ignoredFields: IgnoredFields
  readonly refusedRequests: RefusedRequests
  readonly keyOwners: KeyOwners
  readonly idempotency: Idempotency
  readonly recommendations: Recommendations
  readonly links: Links
  readonly ledger: Ledger
  readonly statistics: ModelStatistics
  readonly tokenMemory: TokenMemory
  /** Numbers from 0 to below 1 that no caller can foresee. */
  chance(): number
  readonly running: RunningCalls
  readonly intake: Intake
  readonly work: Work
  /** Completions at the same time in this process. More are for accounts that have few of them; twice as many are answered 503. */
  readonly callsMax: number
  readonly log: Log
  readonly refusalLines: RefusalLines
  readonly metrics: Metrics
  readonly health: GatewayHealth
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
  intakeLimits?: IntakeLimits
  messagesBytesPerDay?: number
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
  /** A folder with lists of networks of data centres: clicks from there are not paid for. */
  dataCentreNetworks?: string | undefined
}

const CATALOGUE_POLL_MS = 1_000
const PARTITIONS_EVERY_MS = HOUR_MS
const TOUCH_EVERY_MS = 30_000
const SEEN_EVERY_MS = 5_000

export function createGateway(options: GatewayOptions): Gateway {
  const { store, secrets, log, metrics, leaseMs, callsMax, storeWaitMs } = options
  const { cataloguePollMs = CATALOGUE_POLL_MS, intakeLimits = INTAKE_LIMITS } = options
  const id = uuidv7()
  const beatMs = leaseMs / BEATS_PER_LEASE
  const transport = createTransport(options.transport)
  const running: RunningCalls = new Map()
  const work = createWork({ accountPercent: intakeLimits.accountWorkPercent })
  const lastUsed = createLastUsed(store.db)
  const upstreams = createUpstreams({ log, metrics, noteKeyRefusal: noteKeyRefusal.bind(undefined, store.db) })
  const catalogue = createCatalogueView({ db: store.db, secrets, transport, log, onChange: upstreams.keepOnly })
  const digestKeys = createDigestKeys(store.db, secrets)
  const notes = notesOf(options, digestKeys)
  const conversations = createConversations({ ...options, db: store.db, digestKeys, work })
  const background = createJobs(options)
  const advertising = advertisingOf(options, digestKeys, background.repeat)
  const ledger = ledgerOf(options, id)
  const lease = createLease({ db: store.db, secrets, gatewayId: id, ledger, running, metrics, beatMs })

  // In this order: without a catalogue no call gets as far as needing a digest.
  const follow = background.repeat(cataloguePollMs, () => digestKeys.load().then(catalogue.refresh), 'catalogue')
  const changes = store.listen('parley_catalogue', () => follow.soon())
  const partitions = background.repeat(PARTITIONS_EVERY_MS, () => makePartitions(options), 'partitions')
  const jobs = [
    follow,
    background.repeat(beatMs, () => lease.renew(), 'lease'),
    partitions,
    background.repeat(TOUCH_EVERY_MS, () => lastUsed.write(), 'last used keys'),
    background.repeat(SEEN_EVERY_MS, () => notes.endUsers.write(), 'end users'),
    background.repeat(SEEN_EVERY_MS, () => notes.ignoredFields.write(), 'ignored fields'),
    background.repeat(SEEN_EVERY_MS, () => notes.refusedRequests.write(), 'refused requests'),
  ]
  const authenticate = authenticateWith(options, lastUsed)

  return {
    db: store.db,
    authenticate,
    keyOwners: createKeyOwners({ db: store.db, authenticate, waitMs: storeWaitMs }),
    mint: createMint(store.db, secrets, advertising.tagOf),
    catalogue,
    upstreams,
    conversations,
    ...notes,
    idempotency: createIdempotency({ db: store.db, secrets, digestKeys, log, gatewayId: id, leaseMs, work }),
    recommendations: advertising.recommendations,
    links: advertising.links,
    ledger,
    statistics: createModelStatistics(),
    tokenMemory: createTokenMemory(),
    chance: createChance(),
    running,
    intake: createIntake({ callsMax, limits: intakeLimits, metrics, work }),
    work,
    refusalLines: createRefusalLines(),
    callsMax,
    log,
    metrics,
    health: createGatewayHealth({ db: store.db, catalogue, lease, ledger, jobs: background, partitions }),
    isDraining: false,
    async stop(graceMs) {
      await endCalls(running, graceMs)
      for (const job of jobs) job.stop()
      await changes.stop()
      const writes = [lastUsed, notes.endUsers, notes.ignoredFields, notes.refusedRequests].map(writeLast)
      await Promise.all([conversations.idle(), notes.metadata.idle(), ledger.idle(), advertising.stop(), ...writes])
      await removeGateway(store.db, id).catch(() => {})
      await transport.close()
    },
  }
}

/** The recommendations that are shown below answers, with their links and clicks. */
function advertisingOf(options: GatewayOptions, digestKeys: LoadedDigestKeys, repeat: Repeat) {
  const { secrets, log, metrics, storeWaitMs } = options
  const { db } = options.store
  const networkTags = createNetworkTags(db)
  const dataCentres = followDataCentres({ directory: options.dataCentreNetworks, log, metrics, repeat })
  const recommendations = createRecommendations({ ...options, db, digestKeys, networkTags, repeat })
  const clicks = createClicks({ db, networkTags, isDataCentre: dataCentres.has, log, metrics })
  return {
    recommendations,
    links: createLinks({ db, secrets, clicks, networkTags, isDataCentre: dataCentres.has, storeWaitMs }),
    tagOf: networkTags.tagOf,
    stop() {
      dataCentres.stop()
      return Promise.all([recommendations.stop(), clicks.stop()])
    },
  }
}

/** By the secret key of a pair, or by that of a browser session. */
function authenticateWith(options: GatewayOptions, lastUsed: LastUsed): Gateway['authenticate'] {
  const { secrets, log, storeWaitMs: waitMs } = options
  const { db } = options.store
  const authenticatePair = createAuthenticate({ db, secrets, log, waitMs })
  const authenticateSession = createAuthenticateSession({ db, secrets, log, waitMs })
  return async (keys) => {
    const caller = await (looksLikeSessionSecret(keys.secret) ? authenticateSession : authenticatePair)(keys)
    lastUsed.add(caller.keyPairId)
    return caller
  }
}

/** Records about calls, written out of their way. */
function notesOf({ store: { db }, log, metrics }: GatewayOptions, digestKeys: LoadedDigestKeys) {
  const endUsers = createEndUsers(db, digestKeys)
  const metadata = createCallMetadata({ db, log, metrics })
  const refusedRequests = createRefusedRequests({ db, metrics })
  return { endUsers, metadata, ignoredFields: createIgnoredFields(db), refusedRequests }
}

/** Writes a last time. Records that cannot be written by now are given up. */
function writeLast(notes: { write(): Promise<void> }): Promise<void> {
  return notes.write().catch(() => {})
}

async function endCalls(running: RunningCalls, graceMs: number): Promise<void> {
  await waitUntilEmpty(running, graceMs)
  for (const call of running.values()) call.abort(new ShutDown())
  await waitUntilEmpty(running, graceMs)
}

/** Workers do it more often, and say so when they cannot: this is for installations without one. */
async function makePartitions({ store, metrics }: GatewayOptions): Promise<void> {
  const { daysAhead } = await ensurePartitions(store.db)
  metrics.partitionDaysAhead.set(daysAhead)
}

async function waitUntilEmpty(running: RunningCalls, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs
  while (running.size > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 20))
}

function ledgerOf({ store, metrics, log, storeWaitMs }: GatewayOptions, gatewayId: string): Ledger {
  const onBatch = (items: number, seconds: number) => {
    metrics.ledgerBatch.observe(items)
    metrics.ledgerSeconds.observe(seconds)
  }
  return openLedger(
    store,
    { gatewayId, onBatch },
    {
      holdWaitMs: storeWaitMs,
      onPutOff: (error) => log.warn(errorFields(error), 'the ledger cannot be written: calls are refused'),
      onRecovered: () => log.info({ job: 'ledger' }, 'recovered'),
    },
  )
}

type LastUsed = ReturnType<typeof createLastUsed>

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
