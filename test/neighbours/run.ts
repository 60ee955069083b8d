/**
 * `npm run neighbours`: a quiet tenant at a steady rate, first alone and then beside each attacker in turn.
 *
 *   npm run neighbours -- [--only "slow calls"] [--seconds 4]
 */
import { parseArgs } from 'node:util'
import { globalSetup, globalTeardown } from '../support/global-setup.ts'
import { startAttack } from './attack-process.ts'
import { ATTACKS, type Attack } from './attacks.ts'
import { createQuietTenant } from './quiet.ts'
import { reportOf, type Result } from './report.ts'
import { peakMemoryOf, startSystem, type Gateway, type System } from './system.ts'
import { complaintsOf, type Observation } from './verdict.ts'

const WARM_UP_SECONDS = 1

const { values: flags } = parseArgs({
  options: { only: { type: 'string' }, seconds: { type: 'string', default: '4' } },
})
const seconds = Number(flags.seconds)
if (!Number.isInteger(seconds) || seconds < 1) throw new Error('--seconds must be a positive whole number')
const chosen = ATTACKS.filter(({ name }) => flags.only === undefined || name.includes(flags.only))
if (chosen.length === 0) throw new Error(`--only is part of one of: ${ATTACKS.map(({ name }) => name).join(', ')}`)
if (process.platform !== 'linux') throw new Error('neighbours needs Linux: it reads the memory of processes in /proc')

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // What was started is ended by the reaper, which notices that this process is gone.
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
  const gateway = await system.startGateway(attack.env ?? {})
  try {
    const seen = await observe(system, attack, gateway)
    return { attack: attack.name, seen, complaints: complaintsOf(seen, attack.missingFrom(seen.tally, seconds)) }
  } finally {
    gateway.service.kill()
  }
}

async function observe(system: System, { name, habit, target }: Attack, gateway: Gateway): Promise<Observation> {
  const { consoleUrl, databaseUrl, tenants } = system
  const quiet = createQuietTenant(habit, tenants.quiet, { gateway: gateway.url, console: consoleUrl })
  const attacked = target === 'gateway' ? gateway.service : system[target]
  await quiet.measure(WARM_UP_SECONDS)
  const before = await quiet.measure(seconds)
  const orders = { attack: name, gatewayUrl: gateway.url, consoleUrl, databaseUrl, tenant: tenants.attacker }
  const attack = await startAttack(orders, system.reaper)
  const beside = await quiet.measure(seconds)
  const peakBytes = peakMemoryOf(attacked)
  const tally = await attack.stop()
  quiet.close()
  return { before, beside, peakBytes, tally, crashes: attacked.crashes }
}
