import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/rules/durations.ts'
import { REFUSED_ROWS_PER_HOUR, type RefusedRequest } from '../../src/rules/refused-requests.ts'
import { addRefusedRequests, forgetRefusedOfDeleted } from '../../src/store/calls/refused-requests.ts'
import type { Store } from '../../src/store/database.ts'
import { archiveProject } from '../../src/store/projects/projects.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { openTestStore } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { asked, told } from '../support/operator.ts'
import { refusalOf } from '../support/refused-requests.ts'
import { addKeyPair } from '../support/world.ts'

/** Refused requests: how gateways write them down, what bounds them, and who is shown what. */

let world: ConsoleWorld
let person: Person
/** Two processes, under the gateway's own login. */
let gateways: [Store, Store]
before(async () => {
  world = await createConsoleWorld()
  const url = String(world.env.DATABASE_URL)
  Object.assign(process.env, { DATABASE_URL: url, PARLEY_SECRET: String(world.env.PARLEY_SECRET) })
  const open = (n: number) =>
    openTestStore({ url: loginUrl(url, 'gateway'), applicationName: `refused requests test ${n}` })
  gateways = [open(1), open(2)]
  person = await newPerson(world)
})
after(async () => {
  await Promise.all(gateways.map((store) => store.close()))
  await world.close()
})

interface Site {
  projectId: string
  keyPairId: string
  otherPairId: string
}

async function newSite(): Promise<Site> {
  const projectId = await newProject(person)
  for (const _ of [1, 2]) await addKeyPair(world.store, world.secrets, projectId)
  const pairs = await world.store.db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', projectId)
    .orderBy('id')
    .execute()
  return { projectId, keyPairId: String(pairs[0]?.id), otherPairId: String(pairs[1]?.id) }
}

const write = (rows: RefusedRequest[], gateway: 0 | 1 = 0) => addRefusedRequests(gateways[gateway].db, rows)

async function stored({ projectId }: { projectId: string }) {
  const rows = world.store.db.selectFrom('refused_requests').selectAll().where('project_id', '=', projectId)
  return rows.orderBy('id').execute()
}

// The first: what connections of other tests have read reaches the statistics up to a minute later.
test('every choice of filters reads a page of rows by an index, and no more', async () => {
  const site = await newSite()
  const { projectId, keyPairId } = site
  for (let n = 0; n < 20_000; n += 5_000)
    await sql`insert into refused_requests (id, project_id, key_pair_id, via_session, status, code, message, endpoint, times, last_at)
    select (substr(first_id_of(now() - n * interval '1 second')::text, 1, 13) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
      ${projectId}, ${keyPairId}, false, 422, case when n % 2 = 0 then 'invalid_value' else 'keys_invalid' end, '', '', 1, now()
    from generate_series(${n + 1}::int, ${n + 5_000}::int) as n`.execute(world.store.db)
  await sql`analyze refused_requests`.execute(world.store.db)
  for (const query of [
    '',
    'status=403',
    'code=keys_invalid',
    `key=${site.otherPairId}`,
    `code=rate_limited&key=${keyPairId}`,
  ]) {
    const before = await readRows()
    await must(person.send(`GET /api/projects/${projectId}/refused-requests?${query}`))
    const read = (await readRows()) - before
    assert.ok(read <= 400, `${query}: ${read} rows`)
  }
})

test('writes of several processes stand beside each other, and what is added to a row is added once', async () => {
  const site = await newSite()
  const [one, two] = [refusalOf(site), refusalOf(site, { code: 'model_not_found', param: 'model', times: 3 })]
  await Promise.all([write([one], 0), write([two], 1)])
  const later = new Date(Date.now() + MINUTE_MS)
  await Promise.all([write([{ ...one, times: 4, lastAt: later }], 0), write([{ ...one, times: 2 }], 1)])
  const rows = await stored(site)
  assert.deepEqual(
    rows.map(({ id, code, times, last_at }) => [id, code, times, last_at]),
    [
      [one.id, 'invalid_value', 7n, later],
      [two.id, 'model_not_found', 3n, two.lastAt],
    ].toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  )
})

test('a code of a key pair has 60 rows an hour however many processes write, and the rest is counted', async () => {
  const site = await newSite()
  const flood = () => Array.from({ length: 40 }, () => refusalOf(site, { code: 'keys_invalid', times: 10 }))
  for (let round = 0; round < 3; round++) {
    await write(flood(), 0)
    await write(flood(), 1)
  }
  const own = refusalOf({ ...site, keyPairId: site.otherPairId }, { code: 'keys_invalid' })
  const browser = refusalOf(site, { code: 'keys_invalid', viaSession: true })
  const other = refusalOf(site, { code: 'rate_limited' })
  await write([own, browser, other])
  const rows = await stored(site)
  const flooded = rows.filter((row) => row.key_pair_id === site.keyPairId && row.code === 'keys_invalid')
  assert.equal(flooded.filter((row) => !row.via_session).length, REFUSED_ROWS_PER_HOUR)
  const times = flooded.reduce((sum, row) => sum + (row.via_session ? 0n : row.times), 0n)
  assert.equal(times, 2_400n)
  const ids = new Set(rows.map(({ id }) => id))
  for (const { id } of [own, browser, other]) assert.ok(ids.has(id))
})

test('two processes that add to many of the same rows at once never wait for each other in a circle', async () => {
  const site = await newSite()
  const rows = Array.from({ length: 50 }, (_, n) => refusalOf(site, { code: `code_${n}` }))
  await write(rows)
  const rounds = Array.from({ length: 20 }, (_, n) => write(n % 2 ? rows : rows.toReversed(), n % 2 ? 1 : 0))
  await Promise.all(rounds)
  assert.ok((await stored(site)).every(({ times }) => times === 21n))
})

test('the console lists them newest first, by every filter, with what to do, and a page at a time', async () => {
  const site = await newSite()
  const { projectId, keyPairId, otherPairId } = site
  const at = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS)
  const wrong = { code: 'keys_invalid', status: 401, message: 'Wrong.', param: null, model: null }
  await write([
    refusalOf(site, { lastAt: at(1) }),
    refusalOf({ projectId, keyPairId: otherPairId }, { ...wrong, lastAt: at(2), times: 12 }),
    refusalOf(site, { ...wrong, lastAt: at(3), viaSession: true }),
    refusalOf(site, { code: 'model_not_found', param: 'model', lastAt: at(200) }),
  ])
  const list = async (query = '') => {
    const { body } = await must(person.send(`GET /api/projects/${projectId}/refused-requests?${query}`))
    return body as { items: Record<string, unknown>[]; next: string | null }
  }
  const codes = async (query: string) => (await list(query)).items.map(({ code }) => code)
  const all = await list()
  assert.deepEqual(
    all.items.map(({ code, times }) => [code, times]),
    [
      ['invalid_value', '1'],
      ['keys_invalid', '12'],
      ['keys_invalid', '1'],
      ['model_not_found', '1'],
    ],
  )
  assert.partialDeepStrictEqual(all.items[0], {
    status: 422,
    message: 'temperature must be at most 2.',
    param: 'temperature',
    endpoint: 'POST /v1/chat/completions',
    model: 'sim-small',
    viaSession: false,
    keyPairId,
    explanation: { advice: 'The message names the field.' },
  })
  assert.deepEqual(await codes('status=401'), ['keys_invalid', 'keys_invalid'])
  assert.deepEqual(await codes('status=422'), ['invalid_value', 'model_not_found'])
  assert.deepEqual(await codes('status=401&code=model_not_found'), [])
  assert.deepEqual(await codes('code=model_not_found'), ['model_not_found'])
  assert.deepEqual(await codes(`key=${otherPairId}`), ['keys_invalid'])
  assert.deepEqual(await codes(`key=${keyPairId}&code=keys_invalid`), ['keys_invalid'])
  assert.deepEqual(await codes(`from=${at(60).toISOString()}&status=422`), ['invalid_value'])
  assert.deepEqual(await codes(`to=${at(60).toISOString()}`), ['model_not_found'])
  assert.deepEqual(await codes(`id=${String(all.items[2]?.id)}`), ['keys_invalid'])
  assert.deepEqual(await codes('id=nothing'), [])
  const first = await list('limit=3')
  assert.equal(first.items.length, 3)
  assert.deepEqual(await codes(`limit=3&after=${first.next}`), ['model_not_found'])
  assert.equal((await list('status=401&limit=2')).next, null)
  assert.equal((await person.send(`GET /api/projects/${projectId}/refused-requests?after=x`)).status, 422)
})

test('nobody is shown what another publisher was told', async () => {
  const site = await newSite()
  const refused = refusalOf(site)
  await write([refused])
  const stranger = await newPerson(world)
  assert.equal((await stranger.send(`GET /api/projects/${site.projectId}/refused-requests`)).status, 404)
  const own = await newProject(stranger)
  const { body } = await must(stranger.send(`GET /api/projects/${own}/refused-requests?id=${refused.id}`))
  assert.deepEqual(body.items, [])
})

test('the command line tells operators the same', async () => {
  const site = await newSite()
  assert.match(await told('refusals', site.projectId), /^There are none/)
  const refused = refusalOf(site, { times: 5 })
  await write([refused, refusalOf(site, { code: 'rate_limited', status: 429, message: 'Too many.' })])
  assert.match(await told('refusals', site.projectId), /invalid_value .* temperature must be at most 2\./)
  const found = (await asked('refusals', site.projectId, '--code', 'invalid_value')) as object[]
  assert.equal(found.length, 1)
  assert.partialDeepStrictEqual(found[0], {
    request_id: refused.id,
    times: '5',
    status: 422,
    param: 'temperature',
    what_to_do: 'The message names the field.',
  })
})

test('what was refused goes with its project, also what a gateway writes down later', async () => {
  const [deleted, kept] = [await newSite(), await newSite()]
  await write([refusalOf(deleted), refusalOf(kept)])
  await archiveProject(world.store.db, deleted.projectId)
  const forget = () => forgetRefusedOfDeleted(world.store.db, DAY_MS, 1_000)
  assert.ok((await forget()) > 0)
  await write([refusalOf(deleted)])
  assert.equal(await forget(), 1)
  assert.deepEqual(await stored(deleted), [])
  assert.equal((await stored(kept)).length, 1)
})

/** The rows of refused_requests that all sessions have read so far. */
async function readRows(): Promise<number> {
  // Statistics reach the table when a session is idle, or is told to.
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  const { rows } = await sql<{ read: string }>`
    select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) as read from pg_stat_user_tables
    where relname = 'refused_requests'`.execute(world.store.db)
  return Number(rows[0]?.read ?? 0)
}

test('what is older than an hour takes no room from what is told now', async () => {
  const site = await newSite()
  const old = Array.from({ length: REFUSED_ROWS_PER_HOUR }, () =>
    refusalOf(site, { lastAt: new Date(Date.now() - HOUR_MS - MINUTE_MS) }),
  )
  await write(old)
  const fresh = refusalOf(site, { id: uuidv7() })
  await write([fresh])
  assert.ok((await stored(site)).some(({ id }) => id === fresh.id))
})
