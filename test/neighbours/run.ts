/**
 * `npm run neighbours`: a quiet tenant at a steady rate, first alone and then beside each attacker in turn. Where only
 * time was lost, the same attack is tried again: what is slow by itself is slow each time.
 *
 *   npm run neighbours -- [--only "slow calls"] [--seconds 4]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { globalSetup, globalTeardown } from '../support/global-setup.ts'
import { startAttack } from './attack-process.ts'
import { ATTACKS, type Attack } from './attacks.ts'
import { watchCalm } from './calm.ts'
import { createQuietTenant } from './quiet.ts'
import { reportOf, type Result } from './report.ts'
import { peakMemoryOf, startSystem, type Gateway, type System } from './system.ts'
import { complaintsOf, type Observation } from './verdict.ts'

/** Something of the system itself comes between now and then, a collection of garbage for one. */
const TRIES_MAX = 3
/** Where other machines of the same host take the processor all the time, only what is not a matter of time is judged. */
const DISTURBED_MAX = 3
const CALMS_DOWN_MS = 5_000

const { values: flags } = parseArgs({
  options: { only: { type: 'string' }, seconds: { type: 'string', default: '4' } },
})
const seconds = Number(flags.seconds)
if (!Number.isInteger(seconds) || seconds < 1) throw new Error('--seconds must be a positive whole number')
const chosen = ATTACKS.filter(({ name }) => flags.only === undefined || name.includes(flags.only))
if (chosen.length === 0) throw new Error(`--only is part of one of: ${ATTACKS.map(({ name }) => name).join(', ')}`)
if (process.platform !== 'linux') throw new Error('neighbours needs Linux: it reads the memory of processes in /proc')

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // The reaper ends everything that was started: it notices that this process is gone.
  process.on(signal, () => process.exit(130))
}
// Until the report says otherwise: also a run that ends before it is a failure.
process.exitCode = 1
await globalSetup()
try {
  const system = await startSystem()
  try {
    const results: Result[] = []
    for (const attack of chosen) results.push(await withstand(system, attack))
    console.log(reportOf(results))
    process.exitCode = results.every(({ complaints }) => complaints.length === 0) ? 0 : 1
  } finally {
    await system.close()
  }
} finally {
  await globalTeardown()
}
process.exit()

async function withstand(system: System, attack: Attack): Promise<Result> {
  const tries = { slow: 0, disturbed: 0 }
  for (;;) {
    const seen = await tryOnce(system, attack)
    const complaints = complaintsOf(seen, attack.missingFrom(seen.tally, seconds))
    const isTimeOnly = complaints.length > 0 && complaints.every(({ isOfTime }) => isOfTime)
    tries[seen.isCalm ? 'slow' : 'disturbed'] += 1
    const result = { attack: attack.name, seen, complaints, tries: tries.slow + tries.disturbed }
    if (!isTimeOnly || tries.slow === TRIES_MAX) return result
    if (tries.disturbed === DISTURBED_MAX) return { ...result, complaints: [], isUntimed: true }
    console.log(
      `${attack.name}, ${seen.isCalm ? 'again' : 'disturbed'}: ${complaints.map(({ text }) => text).join(', ')}`,
    )
    if (!seen.isCalm) await sleep(CALMS_DOWN_MS)
  }
}

async function tryOnce(system: System, attack: Attack): Promise<Observation> {
  const gateway = await system.startGateway(attack.env ?? {})
  try {
    return await observe(system, attack, gateway)
  } finally {
    gateway.service.kill()
  }
}

async function observe(system: System, { name, habit, target }: Attack, gateway: Gateway): Promise<Observation> {
  const { consoleUrl, databaseUrl, tenants } = system
  const quiet = createQuietTenant(habit, tenants.quiet, { gateway: gateway.url, console: consoleUrl })
  const attacked = target === 'gateway' ? gateway.service : system[target]
  await quiet.warmUp()
  const calm = watchCalm()
  const before = await quiet.measure(seconds)
  const orders = { attack: name, gatewayUrl: gateway.url, consoleUrl, databaseUrl, tenant: tenants.attacker }
  const attack = await startAttack(orders, system.reaper)
  const beside = await quiet.measure(seconds)
  const isCalm = calm(before)
  const peakBytes = peakMemoryOf(attacked)
  const tally = await attack.stop()
  quiet.close()
  return { before, beside, peakBytes, tally, crashes: attacked.crashes, isCalm }
}
