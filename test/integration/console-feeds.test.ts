import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { FEEDS_MAX, UPLOAD_BYTES_MAX } from '../../src/rules/offers/advertiser-limits.ts'
import { createAuthority } from '../support/certificates.ts'
import { createConsoleWorld, must, newPerson, userIdOf, type ConsoleWorld, type Person } from '../support/console.ts'
import { createDnsServer, type DnsServer } from '../support/dns-server.ts'
import { itemOf, jsonLines } from '../support/feeds.ts'
import { until } from '../support/world.ts'

/** Feeds and offers over HTTP, with a worker beside the console and a shop that is a server of this machine. */

const DOMAIN = 'nordlicht.example'
let world: ConsoleWorld
let dns: DnsServer
let server: Server
let person: Person
let shop: string
let campaign: string
let shopUrl: string
let file = ''

before(async () => {
  const authority = createAuthority()
  server = createServer(authority.issue(DOMAIN), (request, response) => {
    const isThere = request.url === '/feed.jsonl'
    const body = isThere ? file : 'not here'
    response.writeHead(isThere ? 200 : 404, { 'content-length': Buffer.byteLength(body) }).end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  shopUrl = `https://${DOMAIN}:${(server.address() as AddressInfo).port}`
  const zone: Record<string, string> = { [DOMAIN]: '127.0.0.1', 'inside.example.com': '10.0.0.7' }
  dns = await createDnsServer(({ name, type }) => {
    const address = type === 'A' ? zone[name] : undefined
    return address === undefined ? undefined : { records: [address] }
  })
  world = await createConsoleWorld({
    env: { PARLEY_DNS_SERVERS: dns.address },
    publicConnections: { isAllowed: (address) => address === '127.0.0.1', ca: authority.cert },
  })
  person = await newPerson(world)
  const body = { name: 'Nordlicht', legalName: 'Nordlicht Ltd', domain: DOMAIN }
  shop = String((await must(person.send('POST /api/me/advertisers', { body }))).body.id)
  const made = { body: { name: 'Lamps', bidNanos: '400000000' } }
  campaign = String((await must(person.send(`POST /api/advertisers/${shop}/campaigns`, made))).body.id)
})
after(async () => {
  await world.close()
  await dns.close()
  server.closeAllConnections()
  server.close()
})

const at = (key: string) => key.replace(' /', ` /api/advertisers/${shop}/`)
const addressed = (url: string) => person.send(at('POST /feed-address-checks'), { body: { url } })

async function upload(content: string | Buffer, { feed = 'Uploaded', by = person } = {}) {
  const path = `POST /campaigns/${campaign}/feed-uploads?feed=${feed}&file=lamps.jsonl`
  return by.send(at(path), { body: new Blob([content]) })
}

async function uploaded(id: string) {
  const read = async () => (await must(person.send(at(`GET /feed-uploads/${id}`)))).body
  await until(async () => !(await read()).state.startsWith('to_'), 30_000)
  return read()
}

async function verifyDomain(): Promise<void> {
  await world.store.db
    .updateTable('advertisers')
    .set({ domain_verified_at: new Date(), domain_proven_by: 'dns' })
    .where('id', '=', shop)
    .execute()
}

const lamps = (count: number) => Array.from({ length: count }, (_, n) => itemOf(`lamp-${n}`))

test('a file is uploaded, checked row by row without any change, published, and its offers are listed', async () => {
  const bad = itemOf('bad', { price: 'free' })
  const doubtful = itemOf('loud', { title: 'Desk lamp, guaranteed to last', description: 'Bright.' })
  const { body } = await must(upload(gzipSync(jsonLines([...lamps(3), bad, doubtful]))))
  const checked = await uploaded(body.id)
  const { rows, added, rejected, pending, rejections, changes, format } = checked.report
  assert.deepEqual([checked.state, rows, added, rejected, pending, format], ['checked', 5, 4, 1, 1, 'JSON Lines'])
  assert.deepEqual([rejections[0].row, rejections[0].item], [4, 'bad'])
  assert.equal(changes.length, 4)
  assert.deepEqual((await must(person.send(at('GET /offers')))).body.items, [])
  await must(person.send(at(`POST /feed-uploads/${body.id}/publish`), { body: {} }))
  assert.equal((await uploaded(body.id)).state, 'published')
  const { items } = (await must(person.send(at('GET /offers')))).body
  assert.deepEqual(
    items.map(({ itemId, standing }: { itemId: string; standing: string }) => [itemId, standing]),
    [
      ['lamp-0', 'approved'],
      ['lamp-1', 'approved'],
      ['lamp-2', 'approved'],
      ['loud', 'waiting'],
    ],
  )
  assert.match(items[3].explanation, /^The operator looks at it before it is recommended: it makes a promise/)
  const feeds = (await must(person.send(at('GET /feeds')))).body.items
  assert.deepEqual([feeds[0].name, feeds[0].source, feeds[0].offers], ['Uploaded', null, 4])
  const runs = (await must(person.send(at(`GET /feeds/${feeds[0].id}/runs`)))).body.items
  assert.deepEqual([runs[0].state, runs[0].rows, runs[0].rejected, runs[0].rejections[0].row], ['published', 5, 1, 4])
})

test('a discarded file is gone, one that was published cannot be again, and a viewer sends none', async () => {
  const { body } = await must(upload(jsonLines(lamps(3))))
  await uploaded(body.id)
  await must(person.send(at(`DELETE /feed-uploads/${body.id}`)))
  assert.equal((await person.send(at(`GET /feed-uploads/${body.id}`))).status, 404)
  const again = String((await must(upload(jsonLines(lamps(3)), { feed: 'Other' }))).body.id)
  await uploaded(again)
  const viewer = await newPerson(world)
  const member = { advertiser_id: shop, user_id: await userIdOf(viewer), role: 'viewer' }
  await world.store.db.insertInto('advertiser_members').values(member).execute()
  assert.equal((await upload('x', { by: viewer })).status, 403)
  assert.equal((await viewer.send(at(`POST /feed-uploads/${again}/publish`), { body: {} })).status, 403)
  const publish = () => person.send(at(`POST /feed-uploads/${again}/publish`), { body: {} })
  await must(publish())
  assert.equal((await publish()).status, 409)
})

test('a file that is too large, empty or no file at all is refused in words', async () => {
  await sql`delete from throttles`.execute(world.store.db)
  const large = await upload(Buffer.alloc(UPLOAD_BYTES_MAX + 1, 'x'))
  assert.deepEqual([large.status, large.body.code], [413, 'body_too_large'])
  assert.match(large.body.message, /more than 10 MB/)
  assert.match((await upload('')).body.message, /empty/)
  const misnamed = await upload('x', { feed: 'www.example.com' })
  assert.deepEqual([misnamed.status, misnamed.body.fields[0].path], [422, 'name'])
  const json = await person.send(at(`POST /campaigns/${campaign}/feed-uploads?feed=x&file=x`), { body: {} })
  assert.deepEqual([json.status, json.body.message], [400, 'Send the file itself, as application/octet-stream.'])
  const elsewhere = await person.send(at('POST /campaigns'), { body: new Blob(['{}']) })
  assert.deepEqual([elsewhere.status, elsewhere.body.code], [415, 'not_json_content'])
  const unreadable = String((await must(upload('<html>')))?.body.id)
  const failed = await uploaded(unreadable)
  assert.deepEqual([failed.state, failed.report], ['failed', null])
  assert.match(failed.problem, /no <item>|XML/)
})

test('an address is checked under the guard that workers have, and not before the domain is verified', async () => {
  assert.match((await must(addressed(`${shopUrl}/feed.jsonl`))).body.problem, /^Verify your domain first/)
  await verifyDomain()
  file = jsonLines(lamps(2))
  assert.deepEqual((await must(addressed(`${shopUrl}/feed.jsonl`))).body, { problem: null, format: 'JSON Lines' })
  const problems: [string, RegExp][] = [
    [`${shopUrl}/gone`, /answered with status 404/],
    ['https://inside.example.com/feed', /leads to no public address/],
    ['https://nobody.example.com/feed', /has no address|was not found/],
    ['https://127.0.0.1/feed', /leads to no public address/],
  ]
  for (const [url, problem] of problems) assert.match((await must(addressed(url))).body.problem, problem, url)
  file = '<html>Welcome</html>'
  assert.match((await must(addressed(`${shopUrl}/feed.jsonl`))).body.problem, /no <item>/)
  const plain = await addressed('http://nordlicht.example/feed')
  assert.deepEqual([plain.status, plain.body.fields[0].message], [422, 'It must be an https address.'])
})

test('a feed by address is fetched by the worker, tells what went wrong, is paused, resumed and removed', async () => {
  await sql`delete from throttles`.execute(world.store.db)
  await verifyDomain()
  file = jsonLines([itemOf('spot-1'), itemOf('spot-2', { link: 'https://elsewhere.example/' })])
  const source = { url: `${shopUrl}/feed.jsonl`, every: 'daily', currency: null }
  const add = (name: string) => person.send(at(`POST /campaigns/${campaign}/feeds`), { body: { ...source, name } })
  const { id } = (await must(add('Spots'))).body
  assert.deepEqual((await add('Spots')).body.fields[0].path, 'name')
  const read = async () => (await must(person.send(at(`GET /feeds/${id}`)))).body
  await until(async () => (await read()).source.lastFetch === 'published', 30_000)
  const { offers, source: fetched, isOutdated, publishedAt } = await read()
  assert.deepEqual([offers, fetched.problem, isOutdated, publishedAt !== null], [1, null, false, true])
  const runs = (await must(person.send(at(`GET /feeds/${id}/runs?limit=1`)))).body
  assert.deepEqual([runs.items[0].rejections[0].item, runs.next], ['spot-2', null])

  const gone = { ...source, url: `${shopUrl}/gone` }
  await must(person.send(at(`PUT /feeds/${id}`), { body: gone }))
  await until(async () => (await read()).source.lastFetch === 'failed', 30_000)
  assert.match((await read()).source.problem, /status 404/)
  const paused = (isPaused: boolean) => person.send(at(`PUT /feeds/${id}/paused`), { body: { isPaused } })
  await must(paused(true))
  assert.deepEqual([(await read()).source.isPaused, (await read()).source.nextFetchAt], [true, null])
  assert.equal((await person.send(at(`POST /feeds/${id}/fetch`), { body: {} })).status, 409)
  await must(paused(false))
  assert.equal((await paused(false)).status, 409)
  await must(person.send(at(`DELETE /feeds/${id}`)))
  assert.equal((await person.send(at(`GET /feeds/${id}`))).status, 404)
  assert.equal((await person.send(at(`PUT /feeds/${id}`), { body: gone })).status, 404)
  const withdrawn = async () => (await must(person.send(at('GET /offers?standing=withdrawn&q=spot-1')))).body.items
  assert.equal((await withdrawn())[0].explanation, 'It is no longer in any of your feeds.')
  const audit = await sql<{ action: string }>`
    select action from audit_log where publisher_id = ${shop} and action like 'feed.%' order by seq`.execute(
    world.store.db,
  )
  const ofIt = audit.rows.map(({ action }) => action).filter((action) => !action.includes('file'))
  assert.deepEqual(ofIt, ['feed.added', 'feed.changed', 'feed.paused', 'feed.resumed', 'feed.removed'])
})

test('an advertiser has so many feeds and no more, and the address of a feed is in no log', async () => {
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from feeds where advertiser_id = ${shop}
    and removed_at is null`.execute(world.store.db)
  const add = (n: number) => {
    const body = { name: `Feed ${n}`, url: `${shopUrl}/feed.jsonl?key=hidden`, every: 'daily', currency: null }
    return person.send(at(`POST /campaigns/${campaign}/feeds`), { body })
  }
  for (let n = rows[0]?.n ?? 0; n < FEEDS_MAX; n++) await must(add(n))
  const { status, body } = await add(FEEDS_MAX)
  assert.equal(status, 409)
  assert.match(body.message, /at most/)
  assert.equal((await upload('x', { feed: 'Another' })).status, 409)
  const { rows: hits } = await sql`select 1 from audit_log where details::text like '%hidden%'`.execute(world.store.db)
  assert.equal(hits.length, 0)
  assert.ok(!world.logs.some((line) => line.includes('hidden')))
})

test('offers are filtered by how they stand and by words, and listed page by page', async () => {
  const { db } = world.store
  await sql`delete from throttles`.execute(db)
  const list = async (query: string) => (await must(person.send(at(`GET /offers?${query}`)))).body
  const ids = async (query: string) => (await list(query)).items.map(({ itemId }: { itemId: string }) => itemId)
  assert.deepEqual(await ids('q=LAMP-1'), ['lamp-1'])
  assert.deepEqual(await ids('q=guaranteed'), ['loud'])
  assert.deepEqual(await ids('q=100%25'), [])
  assert.deepEqual(await ids('standing=waiting'), ['loud'])
  const first = await list('limit=2')
  assert.deepEqual(
    first.items.map(({ itemId }: { itemId: string }) => itemId),
    ['lamp-0', 'lamp-1'],
  )
  assert.deepEqual(await ids(`limit=2&after=${first.next}`), ['lamp-2', 'loud'])
  await sql`update offers set review = 'rejected', review_reason = 'No lamps here.', reviewed_at = now()
    where advertiser_id = ${shop} and item_id = 'lamp-0'`.execute(db)
  await sql`update offers set availability = 'preorder' where advertiser_id = ${shop} and item_id = 'lamp-1'`.execute(
    db,
  )
  const project = world.project.id
  await sql`insert into offer_stops (project_id, offer_id) select ${project}, id from offers
    where advertiser_id = ${shop} and item_id = 'lamp-2'`.execute(db)
  assert.deepEqual(await ids('standing=rejected'), ['lamp-0'])
  assert.match((await list('standing=rejected')).items[0].explanation, /rejected it: No lamps here\. /)
  assert.deepEqual(await ids('standing=out_of_stock'), ['lamp-1'])
  assert.deepEqual(await ids('standing=stopped'), ['lamp-2'])
  await sql`update feeds set expires_at = now() - interval '1 s' where advertiser_id = ${shop}`.execute(db)
  await sql`update offers set review = 'approved' where advertiser_id = ${shop} and item_id = 'lamp-0'`.execute(db)
  assert.deepEqual(await ids('standing=outdated'), ['lamp-0'])
  assert.deepEqual(await ids('standing=approved'), [])
})
