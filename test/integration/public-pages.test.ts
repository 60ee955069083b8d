import assert from 'node:assert/strict'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { measure, statusOf } from '../../src/console/public/status.ts'
import { findFigures } from '../../src/console/public/front.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/rules/durations.ts'
import { LATENCY_COUNTS } from '../../src/rules/billing/usage-counts.ts'
import { SLOT_MS } from '../../src/rules/upstreams/availability.ts'
import { writePublicFigures } from '../../src/store/billing/public-figures.ts'
import type { Store } from '../../src/store/database.ts'
import { createConsoleWorld, newPerson, openBrowser, type ConsoleWorld } from '../support/console.ts'
import { openTestStore } from '../support/database.ts'
import { openPublicPages, type PublicPagesOfTest } from '../support/public-pages.ts'

/** The pages that strangers see, and what they do not show. Sources stand in for the built pages: their marks are the same. */

const PAGES = join(import.meta.dirname, '../../dashboard')
let world: ConsoleWorld
/** With the console's own rights. */
let consoleStore: Store
let webRoot: string

before(async () => {
  webRoot = await mkdtemp(join(tmpdir(), 'parley-web-'))
  for (const page of ['front.html', 'status.html', 'ads.html']) await cp(join(PAGES, page), join(webRoot, page))
  await writeFile(join(webRoot, 'index.html'), '<!doctype html><title>the app</title>')
  world = await createConsoleWorld({ webRoot, roles: ['console'] })
  consoleStore = openTestStore({ url: world.env.PARLEY_CONSOLE_DATABASE_URL ?? '', applicationName: 'public pages' })
})
after(async () => {
  await consoleStore.close()
  await world.close()
  await rm(webRoot, { recursive: true, force: true })
})

const pages: PublicPagesOfTest[] = []
after(() => Promise.all(pages.map((each) => each.close())))

function open(settings: Parameters<typeof openPublicPages>[1]): PublicPagesOfTest {
  const opened = openPublicPages(webRoot, settings)
  pages.push(opened)
  return opened
}

const HTML = { accept: 'text/html' }

test('whoever has no session is shown the front page, and everybody else the app', async () => {
  const stranger = await openBrowser(world).send('GET /', { headers: HTML })
  assert.match(stranger.text, /<h1>The gateway between your app and language models<\/h1>/)
  assert.match(stranger.text, /baseURL: &#39;http:\/\/127\.0\.0\.1:8080\/v1&#39;/, 'with the address of this gateway')
  assert.equal(stranger.headers.get('cache-control'), 'private, no-cache')
  assert.equal(stranger.headers.get('vary'), 'cookie')
  const member = await newPerson(world)
  assert.match((await member.send('GET /', { headers: HTML })).text, /<title>the app<\/title>/)
})

test('where every account begins in a sandbox, the front page asks nobody to begin with DNS', async () => {
  const firstStepOf = async (settings: Parameters<typeof openPublicPages>[1]) =>
    /<ol class="steps">\s*<li><h3>([^<]+)/.exec(await open(settings).get('/'))?.[1]
  assert.equal(await firstStepOf({ sandboxDomain: 'sandbox.example.org' }), 'Create an account')
  assert.equal(await firstStepOf({ sandboxDomain: undefined }), 'Verify your domain')
})

test('by default strangers learn nothing: there is no status, and the front page has no figures and no link to it', async () => {
  const stranger = openBrowser(world)
  assert.equal((await stranger.send('GET /status.json')).status, 404)
  assert.match((await stranger.send('GET /status', { headers: HTML })).text, /<title>the app<\/title>/)
  const { text } = await stranger.send('GET /', { headers: HTML })
  assert.doesNotMatch(text, /This installation|href="\/status"/)
  assert.doesNotMatch(text, /<!--/, 'every mark is filled')
})

test('what the server fills in has no address of its own', async () => {
  for (const path of ['/front.html', '/status.html'])
    assert.equal((await openBrowser(world).send(`GET ${path}`)).status, 404, path)
})

test('figures are shown where the operator wants it, and none that is not to be told', async () => {
  let figures = { models: 12, calls: 1_200_000 as number | null, firstTokenMs: 412 as number | null }
  const all = open({ figures: true, findFigures: () => Promise.resolve(figures) })
  assert.match(await all.get('/'), /<dd>12<\/dd>.*<dd>more than 1,200,000<\/dd>.*<dd>412 ms<\/dd>/)
  figures = { models: 12, calls: null, firstTokenMs: null }
  const few = open({ figures: true, findFigures: () => Promise.resolve(figures) })
  assert.match(await few.get('/'), /<dl class="figures"><div><dt>Models served<\/dt><dd>12<\/dd><\/div><\/dl>/)
  const none = open({ figures: true, findFigures: () => Promise.reject(new Error('no store')) })
  assert.doesNotMatch(await none.get('/'), /This installation/)
})

test('the console reads figures that were added up lately, and models that can be called', async () => {
  await writePublicFigures(world.store.db, { calls: 5_600, firstTokenMs: 300 })
  assert.deepEqual(await findFigures(consoleStore.db), { models: 1, calls: 5_600, firstTokenMs: 300 })
  await sql`update public_figures set added_up_at = now() - interval '4 hours'`.execute(world.store.db)
  assert.deepEqual(await findFigures(consoleStore.db), { models: 1, calls: null, firstTokenMs: null })
})

test('however many look, the store is asked once in ten seconds, and its last answer stays when it does not answer', async () => {
  let asked = 0
  let isDown = false
  const page = open({
    status: true,
    measure: () => {
      asked += 1
      return isDown ? Promise.reject(new Error('down')) : Promise.resolve({ ...NOTHING, models: ['small-1'] })
    },
  })
  await Promise.all([page.get('/status'), page.get('/status.json'), page.get('/status.json')])
  assert.equal(asked, 1)
  isDown = true
  page.pass(10_001)
  assert.match(await page.get('/status'), /small-1/)
  await page.get('/status')
  assert.equal(asked, 2)
})

test('a network that asks for more than fifty pages at once is told to wait, and others are not', async () => {
  const page = open({ status: true })
  const statuses = []
  for (let n = 0; n < 51; n++) statuses.push((await page.inject('/status.json', '10.0.0.1')).statusCode)
  assert.deepEqual([statuses.slice(0, 50).every((status) => status === 200), statuses[50]], [true, 429])
  assert.equal((await page.inject('/', '10.0.0.1')).statusCode, 429)
  assert.equal((await page.inject('/status.json', '10.0.0.2')).statusCode, 200)
})

const NOTHING = { through: new Date(), models: [], sums: [], days: [], slotsInTrouble: [] }

interface Counted {
  kind?: 'model' | 'provider'
  name?: string
  agoMs?: number
  calls: number
  failures?: number
  callers?: bigint
  failedFor?: bigint
}

async function count({ kind = 'model', name = 'sim-small', agoMs = 0, calls, failures = 0, ...bits }: Counted) {
  const { callers = 3n, failedFor = failures > 0 ? 3n : 0n } = bits
  const firstTokens = Array.from({ length: LATENCY_COUNTS }, (_, n) => (n === 13 ? calls - failures : 0))
  const startsAt = new Date(Math.floor((Date.now() - agoMs) / SLOT_MS) * SLOT_MS)
  await sql`insert into availability_slots (starts_at, kind, name, calls, failures, callers, failed_for, first_tokens)
    values (${startsAt}, ${kind}, ${name}, ${calls}, ${failures}, ${callers}, ${failedFor}, ${firstTokens})`.execute(
    world.store.db,
  )
}

async function forgetAll(through = new Date()): Promise<void> {
  await sql`truncate availability_slots, availability_days`.execute(world.store.db)
  await sql`update usage_progress set through = ${through}`.execute(world.store.db)
}

async function status({ namesProviders = false } = {}) {
  return statusOf(await measure(consoleStore.db, new Date()), new Date(), namesProviders)
}

test('a model that answers, one that fails and one that is hardly called are told apart', async () => {
  await forgetAll()
  await count({ calls: 40 })
  await count({ agoMs: 5 * HOUR_MS, calls: 60, failures: 20 })
  const { overall, models, incidents } = await status()
  assert.equal(overall, 'up')
  const [model] = models
  assert.deepEqual([model?.name, model?.availability], ['sim-small', 'up'])
  assert.deepEqual([model?.hour.failureRate, model?.day.failureRate], [0, 0.2])
  assert.ok(Number(model?.hour.firstTokenMs?.p50) > 300 && Number(model?.hour.firstTokenMs?.p50) < 520)
  assert.deepEqual(
    incidents.map(({ name, availability, failureRate, to }) => [name, availability, failureRate, to !== null]),
    [['sim-small', 'degraded', 20 / 60, true]],
  )
  await forgetAll()
  await count({ calls: 19, failures: 19 })
  assert.deepEqual([(await status()).overall, (await status()).models[0]?.hour.failureRate], ['few', null])
  await forgetAll()
  await count({ calls: 40, failures: 40 })
  assert.equal((await status()).overall, 'down')
})

test('when nobody has counted for five minutes, no model is said to be answering', async () => {
  await forgetAll(new Date(Date.now() - 5 * MINUTE_MS - 1_000))
  await count({ calls: 40 })
  const { overall, models } = await status()
  assert.deepEqual([overall, models[0]?.availability, models[0]?.hour.failureRate], ['unknown', 'unknown', null])
  await sql`update usage_progress set through = null`.execute(world.store.db)
  assert.equal((await status()).overall, 'unknown')
})

test('providers are named only where the operator allows it, and models only while they can be called', async () => {
  await forgetAll()
  for (const [kind, name] of [
    ['provider', 'acme-west'],
    ['model', 'retired-9'],
    ['model', 'sim-small'],
  ] as const)
    await count({ kind, name, calls: 40, failures: 30 })
  const told = await status()
  assert.doesNotMatch(JSON.stringify(told), /acme-west|retired-9/)
  assert.equal(told.incidents.length, 1)
  const named = await status({ namesProviders: true })
  assert.deepEqual(
    named.providers.map(({ name, availability }) => [name, availability]),
    [['acme-west', 'down']],
  )
  assert.equal(named.incidents.length, 2)
})

test('no number of calls and no publisher leaves in the JSON', async () => {
  await forgetAll()
  await count({ calls: 4_321, failures: 987 })
  await sql`insert into availability_days (starts_at, kind, name, calls, failures, callers, failed_for)
    values (date_trunc('day', now(), 'UTC'), 'model', 'sim-small', 54321, 9876, 3, 3)`.execute(world.store.db)
  const page = open({ status: true, measure: (now) => measure(consoleStore.db, now) })
  const text = await page.get('/status.json')
  assert.doesNotMatch(text, /4321|54321|9876?\b/)
  const day = { day: new Date().toISOString().slice(0, 10), availability: 'degraded', failure_rate: 0.182 }
  const { measured_until: until, ...json } = JSON.parse(text) as Record<string, unknown>
  assert.ok(typeof until === 'string')
  assert.deepEqual(Object.keys(json), ['availability', 'models', 'incidents'])
  const [model] = json.models as Record<string, unknown>[]
  assert.deepEqual(Object.keys(model ?? {}), ['id', 'availability', 'last_hour', 'last_24_hours', 'days'])
  assert.deepEqual(model?.days, [day])
})

test('names are shown as text, whatever an operator called a model', async () => {
  const page = open({ status: true, measure: () => Promise.resolve({ ...NOTHING, models: ['<img src=x>'] }) })
  const text = await page.get('/status')
  assert.match(text, /&#60;img src=x&#62;/)
  assert.doesNotMatch(text, /<img/)
})
