import { ShutDown, type Call } from '../../src/gateway/call.ts'
import { chatCompletion } from '../../src/gateway/chat-completions.ts'
import { parseChatRequest } from '../../src/rules/calls/chat-request.ts'
import { every } from '../../src/platform/every.ts'
import type { CallRecord } from './call-record.ts'
import type { Clock, Process } from './clock.ts'
import { BEAT_MS, createGatewayParts, endUserOf, type GatewayPartsOptions } from './gateway-parts.ts'
import { createReader } from './reader.ts'

/** A gateway's request path and lease, as in production, on a simulated store, network and clock. */
export interface SimulatedGateway {
  readonly process: Process
  /** Takes no calls any more. */
  readonly isDraining: boolean
  /** Attempts at providers that it believes to be under way. */
  readonly attemptsInFlight: number
  /** Answers a call, and tells its record how it went. */
  serve(record: CallRecord): Promise<void>
  /** Cuts its calls off, settles them and ends, as on SIGTERM after the grace period. */
  shutDown(): Promise<void>
}

export interface SimulatedGatewayOptions extends Omit<GatewayPartsOptions, 'recordOf'> {
  /** The calls of the whole simulation. */
  records: ReadonlyMap<string, CallRecord>
  onChunk(record: CallRecord): void
  onEnd(record: CallRecord): void
}

const SHUT_DOWN_WITHIN_MS = 5_000

export function createSimulatedGateway(options: SimulatedGatewayOptions): SimulatedGateway {
  const { gatewayId, process, clock, link, bank, records } = options
  const recordOf = (callId: string) => records.get(callId)!
  const { gateway, lease } = createGatewayParts({ ...options, recordOf })
  const { running, ledger, log } = gateway
  const job = every(BEAT_MS, () => lease.renew(), 'lease', { log, metrics: gateway.metrics })
  let isDraining = false

  return {
    process,
    get isDraining() {
      return isDraining
    },
    get attemptsInFlight() {
      return gateway.upstreams.inFlight
    },
    async serve(record) {
      const abort = new AbortController()
      running.set(record.id, abort)
      const call = callOf(record, abort.signal, clock)
      const reader = createReader(clock, record, call.progress, abort)
      try {
        for await (const chunks of chatCompletion(gateway, call, parseChatRequest(call.body))) {
          record.replayed = call.progress.replayed
          options.onChunk(record)
          record.answered.push(...chunks)
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
      await link.transact(process, 'goodbye', () => bank.forget(gatewayId)).catch(() => undefined)
      clock.crash(process)
    },
  }
}

function callOf(record: CallRecord, signal: AbortSignal, clock: Clock): Call {
  const { plan } = record
  return {
    id: record.id,
    endpoint: 'chat',
    address: '127.0.0.1',
    requestId: record.plan.name,
    caller: {
      // How the catalogue of the simulation knows whose request it is asked about.
      keyPairId: record.id,
      publishableKey: record.id,
      countedAs: record.id,
      projectId: record.projectId,
      publisherId: record.projectId,
      allowedModels: null,
      contentRetentionDays: 30,
      isPlayground: false,
      isSandbox: false,
      isWalletEmpty: false,
      monetization: undefined,
      domain: 'example.com',
    },
    bodyBytes: 0,
    body: {
      model: plan.model,
      messages: plan.messages,
      stream: plan.isStreamed,
      ...(plan.maxTokens === undefined ? {} : { max_tokens: plan.maxTokens }),
    },
    conversationId: undefined,
    endUser: endUserOf(record),
    idempotencyKey: plan.key,
    monetizationHeader: undefined,
    createdAt: new Date(0),
    startedMs: clock.nowMs,
    reserve: () => undefined,
    signal,
    facts: { streamed: plan.isStreamed, attempts: [] },
    progress: {},
  }
}
