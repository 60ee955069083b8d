import { ShutDown, type Call, type RunningCalls } from '../../src/gateway/call.ts'
import type { ModelRoute } from '../../src/gateway/catalogue.ts'
import { chatCompletion } from '../../src/gateway/chat-completions.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { createIdempotency } from '../../src/gateway/idempotency.ts'
import { createLease } from '../../src/gateway/lease.ts'
import { createTypicalOutput } from '../../src/gateway/typical-output.ts'
import { every } from '../../src/platform/every.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { BEATS_PER_LEASE, LEASE_MS } from '../../src/rules/limits.ts'
import type { Db } from '../../src/store/database.ts'
import { createLedger } from '../../src/store/ledger.ts'
import type { Bank } from './bank.ts'
import type { CallRecord } from './call-record.ts'
import type { Clock, Process } from './clock.ts'
import { claimKey, giveUpKey, giveUpOrphanedKeys } from './memory-keys.ts'
import { modelBy } from './models.ts'
import { createReader } from './reader.ts'
import type { StoreLink } from './store-link.ts'

/** A gateway's request path and lease, as in production, on a simulated store, network and clock. */
export interface SimulatedGateway {
  readonly process: Process
  /** Takes no calls any more. */
  readonly isDraining: boolean
  /** Answers a call, and tells its record how it went. */
  serve(record: CallRecord): Promise<void>
  /** Cuts its calls off, settles them and ends, as on SIGTERM after the grace period. */
  shutDown(): Promise<void>
}

export interface SimulatedGatewayOptions {
  id: string
  process: Process
  clock: Clock
  link: StoreLink
  bank: Bank
  callsMax: number
  /** One for each route. */
  providers: readonly Provider[]
  /** The calls of the whole simulation, by what identifies them here. */
  records: { byId: Map<string, CallRecord>; bySignal: Map<AbortSignal, CallRecord> }
  onChunk(record: CallRecord): void
  onEnd(record: CallRecord): void
}

/** Statements get this instead of a database, and never look at it: theirs are the bank's tables. */
const NO_DATABASE = undefined as unknown as Db
const SHUT_DOWN_WITHIN_MS = 5_000
const SECRETS = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 7) }])
const METRICS = createMetrics()
const SILENT = createLog('silent')

/** What the request path must not touch, or whose content does not matter. */
const NOT_SIMULATED = {
  db: NO_DATABASE,
  authenticate: () => Promise.reject(new Error('calls are authenticated before they get here')),
  catalogue: { modelsFor: () => [], refresh: () => Promise.resolve(), isLoaded: true },
  log: SILENT,
  metrics: METRICS,
  isReady: true,
  isDraining: false,
  stop: () => Promise.reject(new Error('the simulation has its own way to end')),
}

export function createSimulatedGateway(options: SimulatedGatewayOptions): SimulatedGateway {
  const { id: gatewayId, process, clock, link, bank, records } = options
  const { tables } = bank
  const recordOf = (callId: string) => records.byId.get(callId)!
  const running: RunningCalls = new Map()
  let isDraining = false
  const ledger = createLedger((items) => {
    for (const item of items)
      // Settled because no call has it, a hold carries no request's id.
      if (item.part === 'settle' && item.settlement.requestId !== '')
        recordOf(item.settlement.callId).settlements.add(item.settlement)
    return link.transact(process, 'batch', () => bank.apply(process, gatewayId, items))
  })
  const transact = <T>(what: string, work: () => T) => link.transact(process, what, work)
  const lease = createLease({
    db: NO_DATABASE,
    gatewayId,
    ledger,
    running,
    metrics: NOT_SIMULATED.metrics,
    beatMs: LEASE_MS / BEATS_PER_LEASE,
    statements: {
      beat: () => transact('beat', () => bank.beat(gatewayId)),
      findOldHolds: (_, id, olderThanMs) => transact('old holds', () => bank.oldHolds(id, olderThanMs)),
      giveUpOrphanedKeys: (_, id, ids, olderThanMs) =>
        transact('orphaned keys', () => giveUpOrphanedKeys(tables, id, ids, olderThanMs, clock.nowMs)),
    },
  })
  const idempotency = createIdempotency({
    db: NO_DATABASE,
    secrets: SECRETS,
    gatewayId,
    leaseMs: LEASE_MS,
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
      routeFor(caller): ModelRoute {
        const { model: modelId, routes } = recordOf(caller.keyPairId).plan
        const model = modelBy(modelId)
        const pairs = options.providers.map((provider, i) => ({ provider, deployment: model.deployments[i]! }))
        return { model, price: model.price, routes: pairs.slice(0, routes) }
      },
    },
    conversations: { check: () => Promise.resolve(), record: () => undefined, idle: () => Promise.resolve() },
    idempotency,
    ledger,
    typicalOutput: createTypicalOutput(),
    running,
    callsMax: options.callsMax,
  }
  const job = every(LEASE_MS / BEATS_PER_LEASE, () => lease.renew(), 'lease', SILENT)

  return {
    process,
    get isDraining() {
      return isDraining
    },
    async serve(record) {
      const abort = new AbortController()
      records.bySignal.set(abort.signal, record)
      running.set(record.id, abort)
      const call = callOf(record, abort.signal, clock)
      const reader = createReader(clock, record, abort)
      try {
        for await (const chunk of chatCompletion(gateway, call)) {
          record.replayed = call.facts.replayed
          options.onChunk(record)
          if (!reader.isGone) record.delivered.push(chunk)
          await reader.readOn()
        }
        record.end = { kind: 'returned' }
      } catch (error) {
        record.end = { kind: 'threw', error }
      }
      running.delete(record.id)
      options.onEnd(record)
    },
    async shutDown() {
      isDraining = true
      for (const [id, call] of running) {
        recordOf(id).abortedBy ??= 'shut_down'
        call.abort(new ShutDown())
      }
      const until = clock.nowMs + SHUT_DOWN_WITHIN_MS
      while (running.size > 0 && clock.nowMs < until) await new Promise((resolve) => setTimeout(resolve, 20))
      job.stop()
      await ledger.idle()
      await transact('goodbye', () => bank.forget(gatewayId)).catch(() => undefined)
      clock.crash(process)
    },
  }
}

function callOf(record: CallRecord, signal: AbortSignal, clock: Clock): Call {
  const { plan } = record
  return {
    id: record.id,
    requestId: record.plan.name,
    caller: {
      // How the catalogue of the simulation knows whose request it is asked about.
      keyPairId: record.id,
      projectId: record.projectId,
      allowedModels: null,
      contentRetentionDays: 30,
    },
    body: {
      model: plan.model,
      messages: [{ role: 'user', content: plan.prompt }],
      stream: plan.isStreamed,
      ...(plan.maxTokens === undefined ? {} : { max_tokens: plan.maxTokens }),
    },
    conversationId: undefined,
    idempotencyKey: plan.key,
    createdAt: new Date(0),
    startedMs: clock.nowMs,
    signal,
    facts: { streamed: false, attempts: [] },
  }
}
