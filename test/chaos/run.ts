/**
 * `npm run chaos`: kills, pauses and cuts off everything under mixed traffic, heals it, and compares what callers received
 * with what they were charged.
 *
 *   npm run chaos -- [--seconds 45 | --minutes 15] [--seed N]
 *   npm run chaos -- --scenario outage      PostgreSQL is away for 8 s under load
 *   npm run chaos -- --scenario overdraft   20,000 calls at once on 50 wallets that cannot pay for them all
 *   npm run chaos -- --scenario budgets     20,000 calls at once for 500 end users whose budgets do not last
 */
import { parseArgs } from 'node:util'
import { budgets } from './budgets.ts'
import { mayhem } from './mayhem.ts'
import { outage } from './outage.ts'
import { overdraft } from './overdraft.ts'

const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '45' },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    scenario: { type: 'string', default: 'mayhem' },
  },
})

const options = {
  seconds: flags.minutes === undefined ? positive('seconds', flags.seconds) : 60 * positive('minutes', flags.minutes),
  seed: flags.seed === undefined ? Math.floor(Math.random() * 1_000_000) : positive('seed', flags.seed),
}
const scenarios = { mayhem, outage, overdraft, budgets }

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // The reaper ends everything that was started: it notices that this process is gone.
  process.on(signal, () => process.exit(130))
}

if (process.platform !== 'linux') throw new Error('chaos needs Linux: it finds the processes of PostgreSQL in /proc')
if (!Object.hasOwn(scenarios, flags.scenario))
  throw new Error(`--scenario is one of ${Object.keys(scenarios).join(', ')}`)
const isSound = await scenarios[flags.scenario as keyof typeof scenarios](options)
process.exit(isSound ? 0 : 1)

function positive(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1) throw new Error(`--${name} must be a positive whole number`)
  return number
}
