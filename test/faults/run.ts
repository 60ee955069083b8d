/**
 * `npm run faults`: every adapter meets every fault of a provider, as JSON and as a stream, with one route and with two.
 *
 *   npm run faults -- [--adapter openai-compatible] [--fault U14]
 */
import { parseArgs } from 'node:util'
import { globalSetup, globalTeardown } from '../support/global-setup.ts'
import { walletOf } from '../support/world.ts'
import { planOf, unexpectedFaults, type Cell, type Plan } from './cells.ts'
import { SECRET } from './exchange.ts'
import { REPEATED_FAULTS } from './repeated-faults.ts'
import { reportOf } from './report.ts'
import { tryCell } from './trial.ts'
import { verdictOf, type Result } from './verdict.ts'
import { API_KEY, openWorld, type World } from './world.ts'

const AT_ONCE = 16

const { values: filter } = parseArgs({ options: { adapter: { type: 'string' }, fault: { type: 'string' } } })
const plan = planOf(filter)
// Until the verdict says otherwise: also a run that ends before it is a failure.
process.exitCode = 1
await globalSetup()
try {
  await judge(plan)
} finally {
  await globalTeardown()
}
// Work that still waits for a peer that is gone, such as a stalled simulator, must not hold up the verdict.
process.exit()

async function judge(matrix: Plan): Promise<void> {
  const world = await openWorld(matrix.cells)
  try {
    const results = await tryAll(world, matrix.cells)
    const others = [
      ...unexpectedFaults().map((fault) => `nothing is expected of the fault ${fault}`),
      ...(await complaintsAboutMoney(world)),
      ...complaintsAboutLogs(world),
    ]
    const planned = matrix.cells.map((cell) => cell.id)
    const verdict = verdictOf(planned, results, others)
    console.log(reportOf(matrix, results, verdict))
    process.exitCode = verdict.failed === 0 ? 0 : 1
  } finally {
    await world.close()
  }
}

async function tryAll(world: World, cells: readonly Cell[]): Promise<Result[]> {
  const alone = cells.filter((cell) => Object.hasOwn(REPEATED_FAULTS, cell.fault))
  const waiting = cells.filter((cell) => !alone.includes(cell))
  const results: Result[] = []
  const slow: Cell[] = []
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let cell = waiting.shift(); cell; cell = waiting.shift()) {
        const result = await tryCell(world, cell)
        if (result.isTooSlow) slow.push(cell)
        else results.push(result)
      }
    }),
  )
  for (const cell of alone) results.push(await tryCell(world, cell))
  // Cells that were only too slow are tried again alone, so that no other cell can be the reason.
  for (const cell of slow) results.push(await tryCell(world, cell))
  return results
}

/** Checks that all calls together cost what the ledger says, whatever each was told, and that nothing is still held. */
async function complaintsAboutMoney(world: World): Promise<string[]> {
  const { db } = world.store
  const { balance, held } = await walletOf(world.store, world.project.id)
  const paid = await db
    .selectFrom('charges')
    .select((eb) => eb.fn.sum<bigint | null>('charged_nanos').as('sum'))
    .executeTakeFirstOrThrow()
  const given = await db
    .selectFrom('transfers')
    .select((eb) => eb.fn.sum<bigint | null>('amount_nanos').as('sum'))
    .executeTakeFirstOrThrow()
  const isSound = balance === BigInt(given.sum ?? 0) - BigInt(paid.sum ?? 0)
  return [
    ...(isSound ? [] : [`the wallet has ${balance}, of ${String(given.sum)} less ${String(paid.sum)}`]),
    ...(held === 0n ? [] : [`${held} is still held`]),
  ]
}

function complaintsAboutLogs({ logs }: World): string[] {
  const forbidden = [SECRET, API_KEY]
  return forbidden.filter((text) => logs.some((line) => line.includes(text))).map((text) => `a log line says "${text}"`)
}
