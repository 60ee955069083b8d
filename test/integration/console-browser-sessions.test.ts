import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { addBrowserSession } from '../support/browser-sessions.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { asked, refused, told } from '../support/operator.ts'
import { chatBody, complete, credit, until } from '../support/world.ts'

/** Browser sessions as publishers see and end them, in the console and, for their operator, at the command line. */

let world: ConsoleWorld
before(async () => {
  world = await createConsoleWorld()
  Object.assign(process.env, {
    DATABASE_URL: String(world.env.DATABASE_URL),
    PARLEY_SECRET: String(world.env.PARLEY_SECRET),
  })
})
after(() => world.close())

interface Pair {
  id: string
  name: string
  publishableKey: string
  secretKey: string
}

interface Site {
  person: Person
  project: string
  path: string
}

async function newSite(): Promise<Site> {
  const person = await newPerson(world)
  const project = await newProject(person)
  await setDomainVerified(world.store.db, project, new Date())
  await credit(world.store, project, 10_000_000_000n)
  return { person, project, path: `/api/projects/${project}/browser-sessions` }
}

async function newPair({ person, project }: Site, name = 'web'): Promise<Pair> {
  return (await must(person.send(`POST /api/projects/${project}/keys`, { body: { name } }))).body as Pair
}

const keysOf = (pair: Pair) => ({ 'x-publishable-key': pair.publishableKey, 'x-secret-key': pair.secretKey })

async function mint(pair: Pair, body: Record<string, unknown> = {}) {
  const headers = { ...keysOf(pair), 'content-type': 'application/json', 'x-end-user-label': 'Grace' }
  const response = await fetch(`${world.url}/v1/sessions`, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.equal(response.status, 200)
  const { id, secret_key: secretKey } = (await response.json()) as Record<string, string>
  return { id: String(id), keys: { ...pair, secretKey: String(secretKey) } }
}

async function domainOf({ project }: Site): Promise<string> {
  const row = world.store.db.selectFrom('domains').select('name').where('project_id', '=', project)
  return (await row.executeTakeFirstOrThrow()).name
}

async function call(site: Site, pair: Pair): Promise<number> {
  const headers = { ...keysOf(pair), origin: `https://${await domainOf(site)}` }
  return (await complete(world, chatBody('tokens=1', { max_tokens: 5 }), { headers })).status
}

const list = async ({ person, path }: Site, query = '') => (await must(person.send(`GET ${path}${query}`))).body

test('those that are alive are listed, newest first, with what is left of each', async () => {
  const site = await newSite()
  const [web, app] = [await newPair(site), await newPair(site, 'app')]
  const origins = [`https://app.${await domainOf(site)}`]
  const first = await mint(web, { end_user: 'u-17', models: ['sim-small'], calls: 3, money: '1000000', origins })
  const second = await mint(app)
  assert.equal(await call(site, second.keys), 200)
  const { items, next } = await list(site)
  assert.deepEqual([items.map(({ id }: { id: string }) => id), next], [[second.id, first.id], null])
  const [newest, oldest] = items
  assert.deepEqual(
    [newest.callsMade, newest.callsMax, newest.endUser, newest.models, newest.origins],
    [1, 50, null, null, null],
  )
  assert.ok(BigInt(newest.spentNanos) > 0n && newest.moneyNanos === '500000000')
  assert.deepEqual(newest.key, { id: app.id, name: 'app', publishableKey: app.publishableKey, obstacle: null })
  assert.partialDeepStrictEqual(oldest, { callsMax: 3, moneyNanos: '1000000', models: ['sim-small'], origins })
  assert.equal(oldest.secretHint, `ply_es_00…${first.keys.secretKey.slice(-4)}`)
  await until(async () => (await list(site)).items[1].endUser.label === 'Grace')
  assert.deepEqual((await list(site, `?key=${web.id}`)).items.length, 1)
  const page = await list(site, '?limit=1')
  assert.deepEqual([page.items[0].id, page.next], [second.id, second.id])
  assert.deepEqual((await list(site, `?limit=1&after=${page.next}`)).items[0].id, first.id)
  const text = JSON.stringify(items)
  assert.ok(!text.includes(first.keys.secretKey) && !text.includes('u-17'))
})

test('one that is ended is refused at once, is gone from the list, and the log says who did it', async () => {
  const site = await newSite()
  const pair = await newPair(site)
  const [ended, other] = [await mint(pair), await mint(pair)]
  assert.equal(await call(site, ended.keys), 200)
  await must(site.person.send(`DELETE ${site.path}/${ended.id}`))
  assert.equal(await call(site, ended.keys), 401)
  assert.equal(await call(site, other.keys), 200)
  assert.deepEqual(
    (await list(site)).items.map(({ id }: { id: string }) => id),
    [other.id],
  )
  assert.equal((await site.person.send(`DELETE ${site.path}/${ended.id}`)).status, 404, 'it is over')
  const log = await must(
    site.person.send(`GET /api/publishers/${site.person.publisherId}/audit-log?action=session.ended`),
  )
  assert.deepEqual(
    log.body.items.map(({ subject, details }: Record<string, unknown>) => [subject, details]),
    [['web', { session: ended.id, last4: ended.keys.secretKey.slice(-4), key: pair.publishableKey }]],
  )
})

test('all of a pair are ended together, those of other pairs and the pair itself work on', async () => {
  const site = await newSite()
  const [web, app] = [await newPair(site), await newPair(site, 'app')]
  const sessions = [await mint(web), await mint(web), await mint(web)]
  const other = await mint(app)
  const path = `/api/projects/${site.project}/keys/${web.id}/browser-sessions`
  assert.deepEqual((await must(site.person.send(`DELETE ${path}`))).body, { ended: 3 })
  for (const { keys } of sessions) assert.equal(await call(site, keys), 401)
  assert.deepEqual([await call(site, other.keys), await call(site, web)], [200, 200])
  assert.deepEqual((await must(site.person.send(`DELETE ${path}`))).body, { ended: 0 })
  const log = await must(
    site.person.send(`GET /api/publishers/${site.person.publisherId}/audit-log?action=sessions.ended`),
  )
  assert.deepEqual(
    log.body.items.map(({ details }: Record<string, unknown>) => details),
    [{ key: web.publishableKey, sessions: 3 }],
  )
})

test('a session of a pair that is inactive says so, and one of a deleted pair is not listed', async () => {
  const site = await newSite()
  const pair = await newPair(site)
  await mint(pair)
  const path = `/api/projects/${site.project}/keys/${pair.id}`
  await must(site.person.send(`PATCH ${path}`, { body: { active: false } }))
  assert.equal((await list(site)).items[0].key.obstacle, 'Refused: its key pair is inactive.')
  await must(site.person.send(`DELETE ${path}`))
  assert.deepEqual((await list(site)).items, [])
})

test('somebody else’s sessions are not there, neither to see nor to end', async () => {
  const [site, stranger] = [await newSite(), await newSite()]
  const { id, keys } = await mint(await newPair(site))
  assert.equal((await stranger.person.send(`DELETE ${stranger.path}/${id}`)).status, 404)
  assert.equal((await stranger.person.send(`DELETE ${site.path}/${id}`)).status, 404)
  assert.deepEqual((await list(stranger)).items, [])
  assert.equal(await call(site, keys), 200)
})

test('an operator lists and ends them at the command line', async () => {
  const site = await newSite()
  assert.match(await told('sessions', 'list', site.project), /^There are no open sessions/)
  const pair = await newPair(site)
  const { id, keys } = await mint(pair, { end_user: 'u', calls: 3, money: '250000000' })
  await addBrowserSession(world.store.db, { projectId: site.project, keyPairId: pair.id })
  assert.match(
    await told('sessions', 'list', site.project, '--key', pair.publishableKey),
    new RegExp(
      `^${id} +ply_es_00….{4} +web +\\S+ +0 of 3 +\\$0\\.00 of \\$0\\.25 +all +the domain +\\d{4}-.* usable`,
      'm',
    ),
  )
  const documents = (await asked('sessions', 'list', site.project)) as { id: string; money_nanos: string }[]
  assert.deepEqual(
    documents.map(({ money_nanos }) => money_nanos),
    ['500000000', '250000000'],
  )
  const activate = (active: boolean) =>
    must(site.person.send(`PATCH /api/projects/${site.project}/keys/${pair.id}`, { body: { active } }))
  await activate(false)
  const [first] = (await asked('sessions', 'list', site.project)) as { obstacle: string }[]
  assert.equal(first?.obstacle, 'Refused: its key pair is inactive.')
  assert.match(await told('sessions', 'list', site.project), /Refused: its key pair is inactive\.$/m)
  await activate(true)
  assert.match(await told('sessions', 'end', id), /^Session .* has ended/)
  assert.equal(await call(site, keys), 401)
  assert.match(await refused('sessions', 'end', id), /^Session .* has already ended/)
  assert.match(await refused('sessions', 'end', uuidv7()), /^There is no session .* parley sessions list PROJECT/)
  assert.deepEqual(await asked('sessions', 'end', '--key', pair.publishableKey), {
    publishable_key: pair.publishableKey,
    ended: 1,
  })
  assert.match(await refused('sessions', 'end'), /^Give the id of a session, or --key/)
  assert.match(await refused('sessions', 'end', keys.secretKey), /now in your shell history/)
  assert.match(await refused('sessions', 'end', 'web'), /is not the id of a session/)
  assert.match(await refused('sessions', 'end', '--key', 'ply_pk_00none'), /^There is no key pair/)
})
