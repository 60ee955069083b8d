/**
 * How long the console's pages take on many calls: every route of test/support/console-scale.ts over HTTP, as a member who
 * is signed in. `npm run bench:console -- --calls 10000000`. The database stays and is used again by the next run.
 */
import { sql } from 'kysely'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { seedCalls } from '../scripts/seed-calls.ts'
import { LOCAL_ADMIN_URL } from '../scripts/postgres.ts'
import { openStore } from '../src/store/database.ts'
import { migrate } from '../src/store/migrate.ts'
import { askForPage, openScale, SCALE_ROUTES, type Scale } from '../test/support/console-scale.ts'
import { seedRecommendations } from '../test/support/scale-recommendations.ts'
import { seedBesideCalls } from '../test/support/scale-rows.ts'

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000000' },
    rounds: { type: 'string', default: '15' },
    'ms-max': { type: 'string', default: '300' },
    /** Makes the database anew. */
    fresh: { type: 'boolean', default: false },
  },
})
const adminUrl = process.env.PARLEY_TEST_POSTGRES_URL || LOCAL_ADMIN_URL
const name = `parley_bench_console_${Number(values.calls)}`
const url = Object.assign(new URL(adminUrl), { pathname: `/${name}` }).href

await makeDatabase()
const scale = await openScale(url, await findLargeProject())
try {
  const slow = await measure(scale)
  if (slow.length > 0) {
    console.error(`\nover ${values['ms-max']} ms: ${slow.join(', ')}`)
    process.exitCode = 1
  }
} finally {
  await scale.close()
}

async function makeDatabase(): Promise<void> {
  const admin = new Client({ connectionString: adminUrl })
  await admin.connect()
  try {
    if (values.fresh) await admin.query(`drop database if exists ${name} with (force)`)
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [name])
    if (rowCount === 1) {
      await migrate(url)
      return
    }
    await admin.query(`create database ${name} template template0 encoding 'UTF8'`)
  } finally {
    await admin.end()
  }
  await migrate(url)
  const startedMs = performance.now()
  const { projectIds } = await seedCalls(url, {
    calls: Number(values.calls),
    isMonetized: true,
    say: (text) => console.log(text),
  })
  await seedBesideCalls(url, String(projectIds[0]), Number(values.calls))
  await seedRecommendations(url, Number(values.calls))
  console.log(`seeded in ${Math.round((performance.now() - startedMs) / 1_000)} s\n`)
}

async function findLargeProject(): Promise<string> {
  const store = openStore({ url, applicationName: 'parley bench' })
  try {
    const { rows } = await sql<{ id: string }>`
      select project_id as id from usage_days group by 1 order by sum(calls) desc limit 1`.execute(store.db)
    const [row] = rows
    if (!row) throw new Error(`${name} was not seeded to its end: run again with --fresh`)
    return row.id
  } finally {
    await store.close()
  }
}

async function measure(opened: Scale): Promise<string[]> {
  const slow: string[] = []
  console.log(`${'route'.padEnd(44)}${'p50'.padStart(8)}${'max'.padStart(8)}`)
  for (const route of SCALE_ROUTES) {
    // The first one warms what any running system has warm: connections, code, and the pages of the indexes.
    await askForPage(opened, route)
    const took: number[] = []
    for (let round = 0; round < Number(values.rounds); round++) {
      const startedMs = performance.now()
      await askForPage(opened, route)
      took.push(performance.now() - startedMs)
    }
    took.sort((a, b) => a - b)
    const [median = 0, max = 0] = [took[Math.floor(took.length / 2)], took.at(-1)]
    console.log(`${route[0].padEnd(44)}${median.toFixed(0).padStart(5)} ms${max.toFixed(0).padStart(5)} ms`)
    if (max > Number(values['ms-max'])) slow.push(route[0])
  }
  return slow
}
