/** Links of recommendations under attack: no token but ours works, nobody is led elsewhere, and nobody pays twice. */
import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { tokenOf } from '../../src/rules/recommendations/link-token.ts'
import { findAdvertiserBalance } from '../../src/store/billing/wallets.ts'
import { startGateway } from '../conformance/second-gateway.ts'
import { fund, show } from '../support/clicks.ts'
import { addOffer, OFFER_LINK } from '../support/fixed-matcher.ts'
import { createRandom } from '../support/random.ts'
import { createWorld, type World } from '../support/world.ts'

const READER = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0',
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-language': 'en-GB,en;q=0.5',
}
const EVIL = 'evil.example'
const AT_A_TIME = 40

let world: World
let match: Match
before(async () => {
  world = await createWorld({ env: { PARLEY_TRUSTED_PROXIES: '127.0.0.1' } })
  match = await addOffer(world.store.db)
  await fund(world.store.db, match.advertiserId, 100n * BigInt(match.priceNanos))
})
after(() => world.close())

/** Links of recommendations that were shown a minute ago. */
async function shownTokens(count: number): Promise<string[]> {
  const { db } = world.store
  const ids = await show(db, match, world.project.id, count)
  const aMinuteAgo = new Date(Date.now() - 60_000)
  await db.updateTable('recommendations').set({ created_at: aMinuteAgo }).where('id', 'in', ids).execute()
  const signing = { version: world.secrets.version, key: createSecretKey(world.secrets.keyFor('recommendations')) }
  return ids.map((id) => tokenOf(id, { projectId: world.project.id, words: match.headline }, signing))
}

interface Answer {
  status: number
  location: string | undefined
  text: string
}

/** As it is said: fetch would correct paths and refuse headers. */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const { hostname, port } = new URL(world.url)
  const asked = request({ hostname, port, path, method, headers: { ...READER, ...headers }, agent: false })
  asked.end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  for await (const piece of response) text += String(piece)
  return { status: response.statusCode ?? 0, location: response.headers.location, text }
}

async function inTurns<Item>(items: readonly Item[], work: (item: Item, n: number) => Promise<void>): Promise<void> {
  const left = items.entries()
  const lane = async () => {
    for (const [n, item] of left) await work(item, n)
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, lane))
}

test('three thousand tokens that somebody changed lead nowhere and count nothing', async () => {
  const [token = ''] = await shownTokens(1)
  const random = createRandom(1)
  const tampered = Array.from({ length: 3_000 }, (_, n) => {
    const bytes = Buffer.from(token, 'base64url')
    const at = n % bytes.length
    bytes[at] = bytes[at]! ^ (1 + random.int(255))
    return n % 10 === 0 ? randomBytes(bytes.length).toString('base64url') : bytes.toString('base64url')
  })
  const led: string[] = []
  await inTurns(tampered, async (each, n) => {
    const { status, location } = await ask(`/${n % 2 === 0 ? 'r' : 'w'}/${each}`)
    if (status !== 404 || location !== undefined) led.push(`${status} ${location} ${each}`)
  })
  assert.deepEqual(led, [])
  assert.equal((await world.store.db.selectFrom('clicks').selectAll().execute()).length, 0)
})

/** Requests that add something hostile to one of our links, or use something hostile instead of one. */
function hostileRequests(token: string): { path: string; headers?: Record<string, string>; method?: string }[] {
  const places = [
    `https://${EVIL}/`,
    `//${EVIL}/`,
    `\\\\${EVIL}/`,
    `https:${EVIL}`,
    `javascript:alert(1)`,
    `data:text/html,x`,
    `https://northwind.example@${EVIL}/`,
    `https://northwind.example.${EVIL}/`,
  ]
  const names = ['url', 'u', 'to', 'next', 'link', 'redirect', 'redirect_uri', 'target', 'return', 'dest', 'token']
  const headers = [
    'host',
    'x-forwarded-host',
    'x-host',
    'x-original-url',
    'x-rewrite-url',
    'x-forwarded-server',
    'x-forwarded-prefix',
    'x-http-host-override',
    'location',
    'origin',
    'referer',
  ]
  return [
    ...names.flatMap((name) => places.map((place) => ({ path: `/r/${token}?${name}=${encodeURIComponent(place)}` }))),
    ...headers.flatMap((name) =>
      [EVIL, `https://${EVIL}/`, `//${EVIL}`].map((value) => ({ path: `/r/${token}`, headers: { [name]: value } })),
    ),
    ...['forwarded', 'x-forwarded-proto'].map((name) => ({
      path: `/r/${token}`,
      headers: { [name]: `host=${EVIL};proto=javascript` },
    })),
    ...places.flatMap((place) => [
      { path: `/r/${encodeURIComponent(place)}` },
      { path: `/w/${encodeURIComponent(place)}` },
      { path: `/r/${token}${encodeURIComponent(place)}` },
      { path: `/r/${encodeURIComponent(place)}${token}` },
      { path: `/r/${token}#${place}` },
      { path: `/r/${token};${place}` },
    ]),
    ...[
      `//${EVIL}/r/${token}`,
      `/\\${EVIL}/r/${token}`,
      `http://${EVIL}/r/${token}`,
      `https://${EVIL}/r/${token}`,
      `/r//${EVIL}`,
      `/r/../${EVIL}`,
      `/r/%2e%2e/${EVIL}`,
      `/r/${token}/../../${EVIL}`,
      `/r/${token}%2f..%2f..%2f${EVIL}`,
      `/r/${token}%0d%0aLocation:%20https://${EVIL}/`,
      `/r/%0d%0aLocation:%20https://${EVIL}/`,
      `/r/${token}%00`,
      `/r/${token}?%0d%0aLocation:%20https://${EVIL}/`,
      `/R/${token}`,
      `/r/${token}/`,
      `/r/${token}.html`,
    ].flatMap((path) => ['GET', 'HEAD'].map((method) => ({ path, method }))),
    ...['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'].map((method) => ({ path: `/r/${token}?url=//${EVIL}`, method })),
  ]
}

test('in more than two hundred attempts, no request makes a link lead anywhere but to its offer', async () => {
  const [token = ''] = await shownTokens(1)
  const attempts = hostileRequests(token)
  assert.ok(attempts.length > 200, `${attempts.length} attempts`)
  const led: string[] = []
  let followed = 0
  await inTurns(attempts, async ({ path, headers, method }) => {
    const { status, location, text } = await ask(path, headers, method)
    if (location === OFFER_LINK) followed += 1
    else if (location !== undefined || text.includes(EVIL) || status === 200)
      led.push(`${method ?? 'GET'} ${path} ${JSON.stringify(headers)}: ${status} ${location} ${text}`)
  })
  assert.deepEqual(led, [])
  assert.ok(followed > 100, `${followed} led to the offer`)
})

test('a request line or a header that is torn in two leads nowhere else', async () => {
  const [token = ''] = await shownTokens(1)
  const { hostname, port } = new URL(world.url)
  const torn = [
    `GET /r/${token}\r\nLocation: https://${EVIL}/ HTTP/1.1\r\nHost: a\r\n\r\n`,
    `GET /r/${token} HTTP/1.1\r\nHost: a\r\nHost: ${EVIL}\r\nConnection: close\r\n\r\n`,
    `GET /r/${token} HTTP/1.0\r\n\r\n`,
    `GET /r/${token} HTTP/1.1\r\nHost: ${EVIL}\r\nX: a\r\n Location: https://${EVIL}/\r\nConnection: close\r\n\r\n`,
    `GET http://${EVIL}/r/${token} HTTP/1.1\r\nHost: ${EVIL}\r\nConnection: close\r\n\r\n`,
    `CONNECT ${EVIL}:443 HTTP/1.1\r\nHost: ${EVIL}\r\n\r\n`,
  ]
  for (const text of torn) {
    const socket = connect(Number(port), hostname)
    let answer = ''
    socket.on('data', (piece) => (answer += String(piece))).on('error', () => {})
    socket.end(text)
    await once(socket, 'close')
    const locations = [...answer.matchAll(/^location: (.*)\r$/gim)].map(([, location]) => location)
    for (const location of locations) assert.equal(location, OFFER_LINK, text)
  }
})

test('an address that is none of the web’s is never stored as where a link leads', async () => {
  const [id = ''] = await show(world.store.db, match, world.project.id)
  const hostile = ['javascript:alert(1)', 'data:text/html,x', `//${EVIL}`, `http://${EVIL}`, '/r/', '', ' https://a']
  for (const link of hostile)
    for (const table of ['recommendations', 'offers'] as const) {
      const row = table === 'offers' ? match.offerId : id
      const change = sql`update ${sql.table(table)} set link = ${link} where id = ${row}`.execute(world.store.db)
      await assert.rejects(change, /check constraint/, `${table}: ${link}`)
    }
})

test('however many readers follow one link at the same time, at two gateways, one of them is paid for', async () => {
  const { db } = world.store
  const other = await startGateway(world)
  const tokens = await shownTokens(10)
  const before = await findAdvertiserBalance(db, match.advertiserId)
  const follow = async (token: string, reader: number) => {
    const url = reader % 2 === 0 ? world.url : other.url
    const headers = { ...READER, 'x-forwarded-for': `20.${reader}.${tokens.indexOf(token)}.9` }
    const { status } = await fetch(`${url}/r/${token}`, { redirect: 'manual', headers })
    assert.equal(status, 302)
  }
  await Promise.all(tokens.flatMap((token) => Array.from({ length: 16 }, (_, reader) => follow(token, reader))))
  const { rows } = await sql<{ verdict: string; clicks: number }>`
    select verdict, count(*)::int as clicks from clicks where offer_id = ${match.offerId}
      and recommendation_id in (select id from recommendations order by id desc limit 10) group by 1 order by 1`.execute(
    db,
  )
  assert.deepEqual(rows, [
    { verdict: 'repeat', clicks: 150 },
    { verdict: 'valid', clicks: 10 },
  ])
  const paid = before - (await findAdvertiserBalance(db, match.advertiserId))
  assert.equal(paid, 10n * BigInt(match.priceNanos))
})
