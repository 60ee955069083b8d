import type { Call, RunningCalls } from '../../src/gateway/call.ts'
import type { Route } from '../../src/gateway/upstreams/catalogue.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { createWork } from '../../src/gateway/intake/work.ts'
import { createRefusalLines } from '../../src/gateway/refusal-lines.ts'
import { createIdempotency } from '../../src/gateway/idempotency.ts'
import { createLease, type Lease } from '../../src/gateway/lease.ts'
import { createModelStatistics } from '../../src/gateway/metering/model-statistics.ts'
import { createTokenMemory } from '../../src/gateway/metering/token-memory.ts'
import { createUpstreams } from '../../src/gateway/upstreams/upstreams.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { BEATS_PER_LEASE, LEASE_MS } from '../../src/rules/limits.ts'
import type { Db } from '../../src/store/database.ts'
import type { LedgerItem } from '../../src/store/billing/ledger/ledger-items.ts'
import { createLedger, type Ledger } from '../../src/store/billing/ledger/ledger.ts'
import type { Bank } from './bank.ts'
import { nameIn, type CallRecord } from './call-record.ts'
import type { Clock, Process } from './clock.ts'
import { claimKey, giveUpKey, giveUpOrphanedKeys } from './memory-keys.ts'
import { modelBy } from './models.ts'
import type { StoreLink } from './store-link.ts'

/** The parts of a gateway: its own, as in production, with the simulated store and providers behind them. */
export interface GatewayPartsOptions {
  gatewayId: string
  process: Process
  clock: Clock
  link: StoreLink
  bank: Bank
  callsMax: number
  /** One for each deployment. */
  providers: readonly Provider[]
  recordOf(callId: string): CallRecord
}

/** Statements get this instead of a database, and never look at it: theirs are the bank's tables. */
const NO_DATABASE = undefined as unknown as Db
const SECRETS = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 7) }])
const DIGEST_KEYS = { keyFor: () => SECRETS.keyFor('message-digests') }

const notAsked = () => Promise.reject(new Error('nobody follows links here'))

/** Parts that the request path must not touch, or whose content does not matter. */
const NOT_SIMULATED = {
  db: NO_DATABASE,
  authenticate: () => Promise.reject(new Error('calls are authenticated before they get here')),
  catalogue: {
    modelsFor: () => [],
    embeddingRouteFor: () => {
      throw new Error('nobody asks for embeddings here')
    },
    refresh: () => Promise.resolve(),
    isLoaded: true,
    problem: undefined,
  },
  mint: { begin: notAsked },
  links: { offer: notAsked, why: notAsked, report: notAsked },
  log: createLog('silent'),
  metrics: createMetrics(),
  intake: {
    greet: () => undefined,
    refuseKeys: () => Promise.reject(new Error('calls are authenticated before they get here')),
    admit: () => {
      throw new Error('calls are let in before they get here')
    },
    read: () => Promise.reject(new Error('bodies are read before they get here')),
  },
  refusalLines: createRefusalLines(),
  health: { isReady: true, readiness: () => Promise.resolve({ missing: [], warnings: [] }) },
  isDraining: false,
  stop: () => Promise.reject(new Error('the simulation has its own way to end')),
}

/** A cache takes its memory when it is made, and a simulation makes thousands of gateways that live for seconds. */
const REMEMBERED_MAX = 100
export const BEAT_MS = LEASE_MS / BEATS_PER_LEASE

export function createGatewayParts(options: GatewayPartsOptions): { gateway: Gateway; lease: Lease } {
  const { gatewayId, process, clock, link, bank, recordOf } = options
  const { tables } = bank
  const running: RunningCalls = new Map()
  const transact = <T>(what: string, work: () => T) => link.transact(process, what, work)
  const ledger = createLedger((items) => {
    for (const item of items)
      // Settled because no call has it, a hold carries no request's id.
      if (item.part === 'settle' && item.settlement.requestId !== '')
        recordOf(item.settlement.callId).settlements.add(item.settlement)
    return transact('batch', () => bank.apply(process, gatewayId, items.map(withKeyPair)))
  })
  // To the gateway each call has a key pair of its own: see its catalogue.
  const withKeyPair = (item: LedgerItem): LedgerItem => {
    if (item.part !== 'hold') return item
    const { projectId, plan } = recordOf(item.request.callId)
    return { ...item, request: { ...item.request, keyPairId: nameIn(projectId, plan.keyPair) } }
  }
  const work = createWork({ accountPercent: 100, restFor: (_ms, then) => then(), rememberedMax: REMEMBERED_MAX })
  const idempotency = createIdempotency({
    db: NO_DATABASE,
    secrets: SECRETS,
    digestKeys: DIGEST_KEYS,
    log: NOT_SIMULATED.log,
    gatewayId,
    leaseMs: LEASE_MS,
    work,
    statements: {
      claimKey: (_, claim, leaseMs, keptMs) =>
        transact(`claim of ${claim.callId}`, () => claimKey(tables, claim, leaseMs, keptMs, clock.nowMs)),
      giveUpKey: (_, callId) => transact(`giving up of ${callId}`, () => giveUpKey(tables, callId)),
    },
  })
  const gateway: Gateway = {
    ...NOT_SIMULATED,
    catalogue: {
      ...NOT_SIMULATED.catalogue,
      routesFor: (caller) => [routeOf(recordOf(caller.keyPairId), options.providers)],
    },
    upstreams: createUpstreams({ ...NOT_SIMULATED, noteKeyRefusal: () => Promise.resolve() }),
    recommendations: {
      strip: (_caller, request) => ({ request, history: { turns: 0, recommended: [] } }),
      begin: () => ({ conclude: () => Promise.resolve(undefined), outcome: () => undefined, end: () => undefined }),
      stop: () => Promise.resolve(),
    },
    conversations: { check: () => Promise.resolve(undefined), record: () => undefined, idle: () => Promise.resolve() },
    endUsers: {
      digestOf: (_projectId, endUser) => endUser,
      noteSeen: () => undefined,
      write: () => Promise.resolve(),
    },
    metadata: { record: () => undefined, idle: () => Promise.resolve() },
    ignoredFields: { note: () => undefined, write: () => Promise.resolve() },
    refusedRequests: { note: () => undefined, write: () => Promise.resolve() },
    keyOwners: { find: () => Promise.resolve(undefined) },
    idempotency,
    ledger,
    statistics: createModelStatistics(REMEMBERED_MAX),
    tokenMemory: createTokenMemory(REMEMBERED_MAX),
    // The simulation's own chance.
    chance: () => Math.random(),
    running,
    work,
    callsMax: options.callsMax,
  }
  return { gateway, lease: createSimulatedLease(options, ledger, running) }
}

function createSimulatedLease(options: GatewayPartsOptions, ledger: Ledger, running: RunningCalls): Lease {
  const { gatewayId, process, clock, link, bank } = options
  const transact = <T>(what: string, work: () => T) => link.transact(process, what, work)
  return createLease({
    db: NO_DATABASE,
    gatewayId,
    ledger,
    running,
    metrics: NOT_SIMULATED.metrics,
    beatMs: BEAT_MS,
    secrets: SECRETS,
    statements: {
      beat: () => transact('beat', () => bank.beat(gatewayId)).then(() => new Date()),
      findOldHolds: (_, id, olderThanMs) => transact('old holds', () => bank.oldHolds(id, olderThanMs)),
      giveUpOrphanedKeys: (_, id, ids, olderThanMs) =>
        transact('orphaned keys', () => giveUpOrphanedKeys(bank.tables, id, ids, olderThanMs, clock.nowMs)),
    },
  })
}

export function endUserOf({ projectId, plan: { endUser } }: CallRecord): Call['endUser'] {
  return endUser === undefined ? undefined : { id: nameIn(projectId, endUser), label: undefined }
}

const KEYS = ['first', 'second']

function routeOf({ id, plan }: CallRecord, providers: readonly Provider[]): Route {
  const model = modelBy(plan.model)
  const deployments = providers.map((provider, i) => {
    const keys = KEYS.map((name) => ({ id: `${provider.name} ${name}`, version: '1', name, secret: name }))
    // How a scripted provider knows whose attempt it is asked for.
    return { ...model.deployments[i]!, upstreamModel: id, provider, keys }
  })
  return { model, price: model.price, deployments: deployments.slice(0, plan.deployments) }
}
