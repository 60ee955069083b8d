/**
 * `npm run clicks`: 50,000 clicks at the same moment, from eight processes, on campaigns with tiny budgets. Not a nano is spent
 * beyond them, and nothing is left of them that a click would have paid for.
 *
 *   npm run clicks -- [--clicks 50000] [--processes 8]
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT, run } from '../support/commands.ts'
import { createTestDatabase, openTestStore } from '../support/database.ts'
import { globalSetup, globalTeardown } from '../support/global-setup.ts'
import { databaseEnv } from '../support/logins.ts'
import { race } from './race.ts'

const { values } = parseArgs({
  options: { clicks: { type: 'string', default: '50000' }, processes: { type: 'string', default: '8' } },
})
const [clicks, processes] = [Number(values.clicks), Number(values.processes)]
if (![clicks, processes].every((number) => Number.isInteger(number) && number > 0))
  throw new Error('--clicks and --processes must be positive whole numbers')

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
process.exitCode = 1
await globalSetup()
const database = await createTestDatabase()
const store = openTestStore({ url: database.url, applicationName: 'click race' })
try {
  const result = await race({ store, databaseUrl: database.url, processes, clicks })
  const audit = await run(join(ROOT, 'bin/parley'), ['audit', '--full'], {
    env: { ...databaseEnv(database.url), PARLEY_SECRET: randomBytes(32).toString('base64') },
    withinMs: 300_000,
  })
  const verdicts = Object.entries(result.clicks).map(([verdict, count]) => `${verdict} ${count}`)
  print(`${verdicts.join(', ')}; ${(clicks / result.seconds).toFixed(0)} clicks/s`)
  if (audit.code !== 0) print(audit.stdout + audit.stderr)
  const { overspentNanos, underspentNanos, doubled, lost, journalNanos, broken } = result
  print(
    `clicks: ${clicks} processes=${processes} overspent=${overspentNanos} underspent=${underspentNanos} ` +
      `clicks_doubled=${doubled} clicks_lost=${lost} journal=${journalNanos} broken=${broken.length} audit=${audit.code === 0 ? 'clean' : 'BROKEN'}`,
  )
  const isExact = [overspentNanos, underspentNanos, journalNanos].every((nanos) => nanos === 0n)
  if (isExact && doubled + lost + broken.length === 0 && audit.code === 0) process.exitCode = 0
} finally {
  await store.close()
  await database.drop()
  await globalTeardown()
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
