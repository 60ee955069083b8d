/**
 * `npm run soak`: a gateway under steady traffic, with tenants that come and go, callers that hang up and providers that fail now
 * and then. What it needs must stay what it is, and when the traffic stops nothing may be left of it.
 *
 *   npm run soak -- [--seconds 60] [--seed 1]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { checkLedger } from '../../src/store/billing/ledger-check/ledger-check.ts'
import type { Store } from '../../src/store/database.ts'
import { globalSetup, globalTeardown } from '../support/global-setup.ts'
import { auditOf } from '../support/ledger.ts'
import { startSystem, type System } from './system.ts'
import { startTraffic, type Traffic } from './traffic.ts'
import { slopeMaxOf, slopeOf, tableOf, warmUpOf, type Seen } from './verdict.ts'

const SAMPLES = 24
const SAMPLE_EVERY_MS_MAX = 10_000
/** Connections to providers are kept for a while, and then are not. */
const QUIET_WITHIN_MS = 90_000
const DESCRIPTORS_MORE = 10

const { values: flags } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
})
const seconds = Number(flags.seconds)
if (!Number.isInteger(seconds) || seconds < 20) throw new Error('--seconds must be a whole number, 20 at least')
if (process.platform !== 'linux') throw new Error('soak needs Linux: it counts descriptors in /proc')

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
// Until the verdict says otherwise: also a run that ends before it is a failure.
process.exitCode = 1
await globalSetup()
try {
  const system = await startSystem()
  try {
    process.exitCode = (await soak(system)) ? 0 : 1
  } finally {
    await system.close()
  }
} finally {
  await globalTeardown()
}
process.exit()

async function soak(system: System): Promise<boolean> {
  const base = await system.sample()
  const traffic = await startTraffic(system, Number(flags.seed))
  const samples = await watch(system)
  await traffic.stop()
  const openHolds = await untilNoHolds(system.store)
  const descriptors = await untilQuiet(system, base.descriptors + DESCRIPTORS_MORE)
  const ended = await system.stop()
  const slope = slopeOf(samples, warmUpOf(seconds))
  const slopeMax = slopeMaxOf(seconds, traffic.calls)
  console.log(tableOf(samples))
  const kinds = Object.entries(traffic.kinds).map(([kind, times]) => `${kind} ${times}`)
  console.log(`calls: ${kinds.join(', ')}`)
  const summary = `${traffic.calls} calls of ${traffic.tenants} tenants in ${seconds} s, heap ${slope.toFixed(2)} MiB/min of ${slopeMax.toFixed(2)}, descriptors ${base.descriptors} and then ${descriptors}`
  const complaints = [
    ...(slope <= slopeMax
      ? []
      : [`the heap grows by ${slope.toFixed(2)} MiB a minute, at most ${slopeMax.toFixed(2)}`]),
    ...(descriptors <= base.descriptors + DESCRIPTORS_MORE
      ? []
      : [`${descriptors} descriptors, ${base.descriptors} before`]),
    ...(openHolds === 0 ? [] : [`${openHolds} holds are open`]),
    ...(ended === undefined ? [] : [ended]),
    ...(await ledgerComplaints(system.store)),
    ...trafficComplaints(traffic),
    ...[...new Set(system.alarms)].filter((line) => !isExpected(line)).slice(0, 20),
  ]
  for (const complaint of complaints) console.log(`FAILED ${complaint}`)
  console.log(`soak: ${summary}: ${complaints.length === 0 ? 'ok' : 'FAILED'}`)
  return complaints.length === 0
}

async function watch(system: System): Promise<Seen[]> {
  const startedMs = performance.now()
  const everyMs = Math.min((seconds * 1_000) / SAMPLES, SAMPLE_EVERY_MS_MAX)
  const samples: Seen[] = []
  while (performance.now() - startedMs < seconds * 1_000) {
    await sleep(everyMs)
    samples.push({ ...(await system.sample()), seconds: (performance.now() - startedMs) / 1_000 })
  }
  return samples
}

async function untilNoHolds({ db }: Store): Promise<number> {
  const deadline = performance.now() + QUIET_WITHIN_MS
  for (;;) {
    const open = (await db.selectFrom('holds').select('id').execute()).length
    if (open === 0 || performance.now() > deadline) return open
    await sleep(200)
  }
}

async function untilQuiet(system: System, most: number): Promise<number> {
  const deadline = performance.now() + QUIET_WITHIN_MS
  for (;;) {
    const { descriptors } = await system.sample()
    if (descriptors <= most || performance.now() > deadline) return descriptors
    await sleep(1_000)
  }
}

async function ledgerComplaints(store: Store): Promise<string[]> {
  const { verdicts } = await checkLedger(store.db, { isFull: true, leaseMs: 0 })
  const own = verdicts.flatMap(({ invariant, examples }) =>
    examples.map((each) => `${invariant} ${JSON.stringify(each)}`),
  )
  return [...own, ...(await auditOf(store))].slice(0, 20)
}

/** A run in which something was never asked has shown nothing about it. */
function trafficComplaints({ unexpected, kinds, calls, busy }: Traffic): string[] {
  const missing = ['json', 'stream', 'embeddings', 'responses', 'conversation', 'session', 'new session'].filter(
    (kind) => !kinds[kind],
  )
  return [
    ...(busy * 100 <= calls ? [] : [`${busy} of ${calls} calls were answered 503`]),
    ...(calls < seconds * 5 ? [`only ${calls} calls`] : []),
    ...missing.map((kind) => `there was no call of the kind ${kind}`),
    ...[...new Set(unexpected)].slice(0, 20),
  ]
}

/** Whether the line is about the missing mail server, or about a provider that fails on purpose. */
function isExpected(line: string): boolean {
  return /PARLEY_SMTP_URL|"provider":"faulty-/.test(line)
}
