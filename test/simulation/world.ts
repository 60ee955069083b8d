import type { Random } from '../support/random.ts'
import { createBank, type Bank } from './bank.ts'
import { checkDelivery, checkEnd, checkKey, checkRequest } from './call-invariants.ts'
import type { CallRecord } from './call-record.ts'
import { createClock, createProcess, type Clock, type Process } from './clock.ts'
import { createSimulatedGateway, type SimulatedGateway } from './gateway.ts'
import type { Statement } from './memory-ledger.ts'
import { createScriptedProvider } from './provider.ts'
import { checkRoute } from './route-invariants.ts'
import type { Weather } from './scenario.ts'
import { createStoreLink, type StoreLink } from './store-link.ts'
import { createTrace, type Trace } from './trace.ts'

/** Everything that exists in one run: a store, providers, gateways in numbered slots, and what became of the calls. */
export interface World {
  readonly clock: Clock
  /** The process of everyone who is neither a gateway nor the store. */
  readonly outside: Process
  readonly store: Process
  readonly bank: Bank
  readonly link: StoreLink
  readonly records: Map<string, CallRecord>
  readonly violations: string[]
  /** The trace of the run, line by line. Empty unless it is traced. */
  readonly lines: string[]
  readonly trace: Trace
  report(violation: string): void
  /** The gateway that a slot's address leads to; undefined when none answers there. */
  gatewayIn(slot: number): SimulatedGateway | undefined
  startGateway(slot: number): void
  /** Returns the gateways that have not crashed. */
  livingGateways(): SimulatedGateway[]
}

export interface WorldOptions {
  random: Random
  weather: Weather
  callsMax: number
  statement: Statement
  isTraced: boolean
}

const PROVIDERS = ['provider 1', 'provider 2', 'provider 3']

export function createWorld({ random, weather, callsMax, statement, isTraced }: WorldOptions): World {
  const outside = createProcess('outside')
  const store = createProcess('store')
  const clock = createClock(outside)
  const lines: string[] = []
  const trace = createTrace(clock, isTraced ? lines : undefined)
  const violations: string[] = []
  const records = new Map<string, CallRecord>()
  const slots: SimulatedGateway[] = []
  let started = 0

  function report(violation: string): void {
    if (violations.includes(violation)) return
    violations.push(violation)
    trace(clock.current, `VIOLATION: ${violation}`)
  }

  const onGrant = (callId: string, total: bigint) => void records.get(callId)?.granted.push(total)
  const bank = createBank({ clock, store, statement, report, trace, onGrant })
  const link = createStoreLink({ clock, store, random, weather, trace })
  function onAttempt(record: CallRecord, provider: string): void {
    trace(clock.current, `${record.id} goes to ${provider}`)
    checkRequest(record, report)
    checkRoute(record, report)
    checkKey(record, records.values(), bank.tables, report)
  }

  const surroundings = {
    clock,
    link,
    bank,
    callsMax,
    providers: PROVIDERS.map((name) => createScriptedProvider({ name, clock, calls: records, onAttempt })),
    records,
    onChunk: (record: CallRecord) => checkDelivery(record, report),
    onEnd(record: CallRecord) {
      trace(clock.current, `${record.id} ${describeEnd(record)}`)
      checkEnd(record, records.get(record.replayed?.callId ?? ''), bank.tables, report)
    },
  }

  return {
    clock,
    outside,
    store,
    bank,
    link,
    records,
    violations,
    lines,
    trace,
    report,
    gatewayIn(slot) {
      const gateway = slots[slot]
      return gateway?.process.state === 'crashed' || gateway?.isDraining ? undefined : gateway
    },
    livingGateways: () => slots.filter(({ process }) => process.state !== 'crashed'),
    startGateway(slot) {
      const gatewayId = `gateway ${++started}`
      const process = createProcess(gatewayId)
      clock.schedule(process, 0, 'arrival', () => {
        trace(process, 'starts')
        slots[slot] = createSimulatedGateway({ ...surroundings, gatewayId, process })
      })
    },
  }
}

function describeEnd({ end, answered, replayed }: CallRecord): string {
  if (end?.kind === 'threw') return `ends in ${end.error instanceof Error ? end.error.message : String(end.error)}`
  return `ends after ${answered.length} chunks${replayed ? `, from the result of ${replayed.callId}` : ''}`
}
