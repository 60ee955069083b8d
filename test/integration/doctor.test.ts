import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { checkCallers, checkPartitions, checkStore } from '../../src/cli/doctor/checks.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { setModelEnabled } from '../../src/store/catalogue/models.ts'
import { updateProvider } from '../../src/store/catalogue/providers.ts'
import { setPublisherActivated } from '../../src/store/accounts/publishers.ts'
import { destroyClickSalts, releaseEarnings } from '../../src/store/recommendations/clicks.ts'
import { DAY_MS, HOUR_MS } from '../../src/rules/durations.ts'
import { click, fund, show } from '../support/clicks.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { parley } from '../support/commands.ts'
import { here } from '../support/operator.ts'
import { addKeyPair, addModel, addProject, addProvider, createWorld, type World } from '../support/world.ts'

let world: World

before(async () => {
  world = await createWorld()
})
after(() => world.close())

async function doctor(...args: string[]): Promise<{ code: number | null; stdout: string }> {
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  return parley(['doctor', ...args], { env: { DATABASE_URL, PARLEY_SECRET } })
}

test('each thing that is wrong is one line with its remedy, and the exit code is 1', async () => {
  const { store, secrets, project } = world
  const { db } = store
  const otherSecrets = createSecrets([{ version: 1, bytes: randomBytes(32) }])
  await addProvider(store, otherSecrets, 'locked', `${world.simulator.url}/v1`)
  await addProvider(store, secrets, 'rejected', `${world.simulator.url}/v1`, { apiKey: 'bad-key' })
  await addModel(store, { id: 'unpriced', provider: 'simulator', price: null })
  await addModel(store, { id: 'unrouted', provider: 'locked' })
  await addModel(store, { id: 'refused', provider: 'rejected' })
  await sql`update deployments set enabled = false where model_id = 'unrouted'`.execute(db)
  await addKeyPair(store, secrets, project.id)
  await sql`update key_pairs set secret_version = 9
    where id = (select id from key_pairs order by created_at desc limit 1)`.execute(db)
  await sql`insert into holds (id, project_id, key_pair_id, model_id, price_version_id, gateway_id, amount_nanos)
    values (${uuidv7()}, ${project.id}, ${uuidv7()}, 'sim-small', 1, ${uuidv7()}, 1)`.execute(db)

  const { code, stdout } = await doctor()
  assert.equal(code, 1, stdout)
  for (const line of [
    /^ok +configuration /m,
    /^ok +store +PostgreSQL \d+/m,
    /^ok +clock +0\.0 s away/m,
    /^ok +migrations /m,
    /^ok +partitions +\d+ days ahead$/m,
    /^problem +secrets +secret 9 is missing \(active key pairs: 1\)\. .*PARLEY_SECRET/m,
    /^problem +provider locked +.*sealed under another PARLEY_SECRET.*parley provider key add locked default/m,
    /^problem +provider rejected +.*refuses the API key \(401\)/m,
    /^ok +provider simulator +sim answered after \d+ ms$/m,
    /^problem +model unpriced +has no price in force\. Run "parley model price --help"/m,
    /^problem +model unrouted +has no usable route\. Run "parley model route --help"/m,
    /^ok +model sim-small /m,
    /^ok +callers +projects that can call: 1$/m,
    /^problem +holds +.*: 1\. Start a worker/m,
    /^6 problems\.$/m,
  ]) {
    assert.match(stdout, line)
  }
  assert.match((await doctor('--offline')).stdout, /^ok +provider rejected +.*not called$/m)

  await sql`delete from holds`.execute(db)
  await sql`update key_pairs set secret_version = 1`.execute(db)
  for (const name of ['locked', 'rejected']) await updateProvider(db, name, { enabled: false })
  for (const id of ['unpriced', 'unrouted', 'refused']) await setModelEnabled(db, id, false)
  const mended = await doctor()
  assert.equal(mended.code, 0, mended.stdout)
  assert.match(mended.stdout, /^ok +secrets +those of this installation, with each that active key pairs need$/m)
})

test('a plane without a login of its own is a hint, one whose login owns the tables is a problem', async () => {
  assert.match(
    (await doctor('--offline')).stdout,
    /^hint +logins +not set here: PARLEY_GATEWAY_DATABASE_URL, .*\. This is fine if they are set where those planes run\.$/m,
  )
  const { DATABASE_URL = '' } = world.env
  const all = await here(['doctor', '--offline'], { env: world.env })
  assert.match(all.stdout, /^ok +logins +every plane has its own/m)
  const lazy = { ...world.env, PARLEY_CONSOLE_DATABASE_URL: DATABASE_URL }
  const { code, stdout } = await here(['doctor', '--offline'], { env: lazy })
  assert.equal(code, 1, stdout)
  assert.match(stdout, /^problem +login of console +.* is a superuser of the database\. .*PARLEY_CONSOLE_DATABASE_URL/m)
  const swapped = { ...world.env, PARLEY_GATEWAY_DATABASE_URL: world.env.PARLEY_CONSOLE_DATABASE_URL ?? '' }
  assert.match(
    (await here(['doctor', '--offline'], { env: swapped })).stdout,
    /^problem +login of gateway +\S+_console_login is not the gateway's login: the variables may be swapped\. Correct PARLEY_GATEWAY/m,
  )
  const unknown = new URL(DATABASE_URL)
  unknown.username = 'parley_nobody_login'
  const refused = { ...world.env, PARLEY_WORKER_DATABASE_URL: unknown.href }
  assert.match(
    (await here(['doctor', '--offline'], { env: refused })).stdout,
    /^problem +login of worker +.*PARLEY_WORKER_DATABASE_URL/m,
  )
})

test('an incomplete configuration is listed whole, and nothing else is tried', async () => {
  const { code, stdout } = await here(['doctor'], { env: { PARLEY_PORT: 'eighty' } })
  assert.equal(code, 1)
  assert.match(stdout, /^problem +configuration +DATABASE_URL is required/m)
  assert.match(stdout, /^problem +configuration +PARLEY_SECRET is required/m)
  assert.match(stdout, /^problem +configuration +PARLEY_PORT /m)
  assert.match(stdout, /^skipped +everything else /m)
})

test('a clock that is ten seconds away from the store is a problem', async (t) => {
  const now = Date.now.bind(Date)
  t.mock.method(Date, 'now', () => now() + 10_000)
  const clock = (await checkStore(world.store.db)).find(({ check }) => check === 'clock')
  assert.partialDeepStrictEqual(clock, { state: 'problem' })
  assert.match(clock?.detail ?? '', /^(9\.[5-9]|10\.\d) s away/)
})

test('partitions that end the day after tomorrow are a problem while calls still work', async () => {
  const { db } = world.store
  await sql`do $$ begin
    execute 'drop table calls_' || to_char((now() at time zone 'utc')::date + 3, 'YYYYMMDD');
  end $$`.execute(db)
  const [partitions] = await checkPartitions(db)
  assert.partialDeepStrictEqual(partitions, { state: 'problem', detail: '2 days ahead' })
  await sql`select ensure_partitions()`.execute(db)
  assert.partialDeepStrictEqual(await checkPartitions(db), [{ state: 'ok', detail: '14 days ahead' }])
})

test('what a first caller still lacks is a hint, not a problem', async () => {
  const { store, secrets, project } = world
  await setPublisherActivated(store.db, project.publisherId, null)
  assert.partialDeepStrictEqual(await checkCallers(store.db), [
    { state: 'hint', detail: 'no publisher with a project is activated' },
  ])
  await addProject(store, secrets, { isVerified: false })
  assert.match((await checkCallers(store.db))[0]?.mend ?? '', /parley domain verify/)
  await addProject(store, secrets, { credits: '0' })
  assert.match((await checkCallers(store.db))[0]?.mend ?? '', /parley wallet topup/)
})

test('what workers owe publishers and readers, feeds that fail and lists that are gone are told of', async () => {
  const { db } = world.store
  const match = await addOffer(db)
  await fund(db, match.advertiserId, 10n * BigInt(match.priceNanos))
  const weekAgo = Date.now() - 7 * DAY_MS
  const [late = '', due = '', stays = ''] = await show(db, match, (await addProject(world.store, world.secrets)).id, 3)
  await click(db, late, { id: uuidv7(weekAgo - 4 * HOUR_MS) })
  await click(db, due, { id: uuidv7(weekAgo - HOUR_MS) })
  // The third click is in a project of a publisher who was deactivated.
  const gone = await addProject(world.store, world.secrets)
  await sql`update recommendations set project_id = ${gone.id} where id = ${stays}`.execute(db)
  await click(db, stays, { id: uuidv7(weekAgo - DAY_MS) })
  await setPublisherActivated(db, gone.publisherId, null)
  await sql`insert into click_salts (day, salt) select (now() at time zone 'utc')::date - n, decode(repeat('ab', 32), 'hex')
    from generate_series(1, 3) as n`.execute(db)
  await sql`update feeds set source_url = 'https://shop.example/feed', fetch_every = 'daily', next_fetch_at = now(), failures = 3,
    last_fetch = 'failed', last_error = 'Its server answered with status 500.' where advertiser_id = ${match.advertiserId}`.execute(
    db,
  )
  const env = { ...world.env, PARLEY_DATA_CENTRE_NETWORKS: '/nowhere/at/all' }
  const { code, stdout } = await here(['doctor', '--offline'], { env })
  assert.equal(code, 1)
  for (const line of [
    /^problem +earnings +clicks whose shares should be in wallets: 1\. Start a worker/m,
    /^problem +click networks +days whose networks can still be identified: 1\. Start a worker/m,
    /^hint +feed Northwind Audio \w+\/Shop +failed 3 times in a row: Its server answered with status 500\. Its offers are recommended until 20/m,
    /^problem +data centres +the folder cannot be read: their clicks are paid for\. .*PARLEY_DATA_CENTRE_NETWORKS/m,
  ])
    assert.match(stdout, line)
  await releaseEarnings(db, 100)
  await destroyClickSalts(db)
  const mended = await here(['doctor', '--offline'], { env: world.env })
  assert.doesNotMatch(mended.stdout, /earnings|click networks|data centres/)
})

test('a console with https and no trusted proxy is a hint', async () => {
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  const env = { DATABASE_URL, PARLEY_SECRET, PARLEY_CONSOLE_URL: 'https://console.example.com' }
  const { stdout } = await here(['doctor', '--offline'], { env })
  assert.match(stdout, /^hint +proxies +.*\. List its address in PARLEY_TRUSTED_PROXIES\.$/m)
  const listed = await here(['doctor', '--offline'], { env: { ...env, PARLEY_TRUSTED_PROXIES: '10.0.0.5' } })
  assert.doesNotMatch(listed.stdout, /proxies/)
})
