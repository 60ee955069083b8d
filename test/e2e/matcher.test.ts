/** Recommendations as an operator runs them: a gateway, and a matcher in a process of its own that may be killed. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { start, type Started } from '../support/commands.ts'
import { addShop, importText, jsonLines } from '../support/feeds.ts'
import { setMonetization } from '../support/fixed-matcher.ts'
import { freePort } from '../support/free-port.ts'
import {
  addModel,
  addProject,
  complete,
  createWorld,
  eventsOf,
  until,
  type TestProject,
  type World,
} from '../support/world.ts'

const CANARY = 'canary-4c1f-tangerine'
const ANSWER =
  'For long flights, over-ear headphones with active noise cancelling are the most comfortable choice. Look for a long battery life and a case that folds flat.'
const SAID = `Which noise-cancelling headphones are good for long flights? ${CANARY}`

let world: World
let matcher: Started
let directory: string
let project: TestProject
before(async () => {
  const port = String(await freePort())
  directory = await mkdtemp(join(tmpdir(), 'parley-matcher-'))
  world = await createWorld({ env: { PARLEY_MATCHER_PORT: port, PARLEY_MATCHER_URL: `http://127.0.0.1:${port}` } })
  const shop = await addShop(world.store.db, 'Northwind', 'northwind.example')
  await importText(world.store.db, shop, jsonLines([OFFER, TEAPOT]))
  await addModel(world.store, {
    id: 'guide',
    provider: 'simulator',
    upstreamModel: `sim?gap=5&text=${encodeURIComponent(`${ANSWER} ${CANARY}`)}`,
  })
  project = await addProject(world.store, world.secrets)
  await world.store.db.updateTable('projects').set({ content_retention_days: 0 }).where('id', '=', project.id).execute()
  await setMonetization(world.store.db, project.id, { min_turn_gap: 1, max_per_conversation: 20 })
  const env = { ...world.env, PARLEY_MATCHER_DIR: directory, PARLEY_OPS_PORT: '0' }
  matcher = start('node', ['src/main.ts', 'serve', 'matcher'], { env })
  await until(async () => {
    assert.doesNotMatch(matcher.output, /switched off/)
    return (await beats()).some(({ state, offers }) => state === 'ready' && offers === 2n)
  }, 60_000)
})
after(async () => {
  await matcher.end('SIGKILL', 0)
  await world.close()
  await rm(directory, { recursive: true, force: true })
})

const OFFER = {
  id: 'hush',
  title: 'Hush noise-cancelling headphones',
  description: 'Over-ear headphones with active noise cancelling for flights and loud offices.',
  link: 'https://northwind.example/hush',
  price: '189.00 EUR',
  availability: 'in_stock',
  product_type: 'Electronics > Audio > Headphones',
}
const TEAPOT = {
  ...OFFER,
  id: 'pot',
  title: 'Cast iron teapot',
  description: 'Keeps tea warm.',
  link: 'https://northwind.example/pot',
}

function beats() {
  return world.store.db.selectFrom('matchers').select(['state', 'offers']).execute()
}

async function say(text: string, extra: object = {}): Promise<string> {
  const body = { model: 'guide', messages: [{ role: 'user', content: text }], ...extra }
  const response = await complete(world, body, { project, headers: { 'x-conversation-id': crypto.randomUUID() } })
  assert.equal(response.status, 200)
  return response.text()
}

test('a reply ends with the offer that fits it, in JSON and in a stream', async () => {
  await until(async () => (await say(SAID)).includes('**Ad** · Northwind — Hush noise-cancelling headphones'), 10_000)
  const events = eventsOf(await say(SAID, { stream: true }))
  assert.equal(events.at(-1), '[DONE]')
  assert.equal(events.filter((data) => data.includes('"sponsored"')).length, 1)
})

test('an advertiser that could not pay for a click is not recommended, and is again once it can', async () => {
  const { db } = world.store
  const leave = (nanos: bigint) => db.updateTable('advertiser_wallets').set({ balance_nanos: nanos }).execute()
  const isRecommended = async () => (await say(SAID)).includes('Hush noise-cancelling headphones')
  const { balance_nanos: balance } = await db.selectFrom('advertiser_wallets').selectAll().executeTakeFirstOrThrow()
  await leave(1n)
  await until(async () => !(await isRecommended()), 10_000)
  await leave(balance)
  await until(isRecommended, 10_000)
})

test('other languages, sorrow and what nobody wants to buy have none', async () => {
  const free = [
    'Quel casque à réduction de bruit me conseillez-vous pour de longs vols ?',
    'Welche Kopfhörer mit Geräuschunterdrückung sind gut für lange Flüge?',
    'My father died on Monday and I have to fly home. Which headphones are good for long flights?',
    'Explain how active noise cancelling works.',
  ]
  for (const text of free) assert.doesNotMatch(await say(text), /Northwind/, text)
})

test('nothing of what was said is in the database, in the index or in any log', async () => {
  await say(`${SAID} again`)
  await until(async () => {
    const { rows } = await sql<{ n: bigint }>`select count(*) as n from recommendations`.execute(world.store.db)
    return (rows[0]?.n ?? 0n) > 0n
  })
  const { rows: tables } = await sql<{ name: string }>`select relname as name from pg_class
    where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace and not relispartition`.execute(
    world.store.db,
  )
  // The deployments hold the words of the simulated model as a setting.
  for (const { name } of tables.filter((table) => table.name !== 'deployments')) {
    const { rows } = await sql<{ n: bigint }>`select count(*) as n from ${sql.table(name)} t
      where strpos(t::text, ${CANARY}) > 0`.execute(world.store.db)
    assert.equal(rows[0]?.n, 0n, name)
  }
  for (const log of [matcher.output, world.logs.join('')]) assert.ok(!log.includes(CANARY))
  const found = start('grep', ['-rl', CANARY, directory])
  assert.equal(await found.end(undefined, 10_000), 1, found.output)
})

test('a matcher that is killed under load fails no reply', async () => {
  const replies = Array.from({ length: 60 }, async (_, n) => {
    await new Promise((resolve) => setTimeout(resolve, n * 10))
    return say(SAID, { stream: true })
  })
  setTimeout(() => matcher.child.kill('SIGKILL'), 300)
  const texts = await Promise.all(replies)
  for (const text of texts) assert.match(text, /"finish_reason":"stop"[^]*data: \[DONE\]\n\n$/)
  assert.ok(
    texts.some((text) => !text.includes('"sponsored"')),
    'some had to do without',
  )
  assert.equal(
    (JSON.parse(await say(SAID)) as { choices: { message: { content: string } }[] }).choices[0]?.message.content,
    `${ANSWER} ${CANARY}`,
  )
})
