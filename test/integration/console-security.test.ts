import assert from 'node:assert/strict'
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { contract } from '../../src/console/contract.ts'
import { createConsoleServer, type ConsoleOptions } from '../../src/console/server.ts'
import { createCheckDomain } from '../../src/actions/projects/domain-check/check.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/metrics.ts'
import {
  createConsoleWorld,
  must,
  newPerson,
  newProject,
  openBrowser,
  ORIGIN,
  PASSWORD,
  type ConsoleWorld,
} from '../support/console.ts'

let world: ConsoleWorld
let webRoot: string

before(async () => {
  world = await createConsoleWorld()
  webRoot = await mkdtemp(join(tmpdir(), 'parley-web-'))
  await mkdir(join(webRoot, 'assets'))
  await writeFile(join(webRoot, 'index.html'), '<!doctype html><title>app</title>')
  await writeFile(join(webRoot, 'assets/app-1a2b.js'), 'let app')
})
after(async () => {
  await world.close()
  await rm(webRoot, { recursive: true, force: true })
})

function consoleApp(change: Partial<ConsoleOptions> & { consoleUrl?: string } = {}) {
  return createConsoleServer({
    db: world.store.db,
    tenants: world.store.tenants,
    log: createLog('silent'),
    metrics: createMetrics(),
    secrets: world.secrets,
    secretVersions: [1],
    webhookSecret: undefined,
    trustedProxies: [],
    matcherUrl: 'http://127.0.0.1:9',
    checkDomain: createCheckDomain({ dnsServers: ['127.0.0.1:9'] }),
    fetchFeed: () => assert.fail('no feed is fetched here'),
    webRoot,
    installation: {
      consoleUrl: change.consoleUrl ?? ORIGIN,
      gatewayUrl: 'http://127.0.0.1:8080',
      gatewayInternalUrl: 'http://127.0.0.1:8080',
      cell: '00',
      canPay: false,
      requiresApproval: false,
      trialCredit: 0n,
      sandboxDomain: undefined,
      publicPages: { figures: false, status: false, providers: false },
    },
    ...change,
  })
}

test('the router has exactly the routes of the contract, and the web app', async () => {
  const app = consoleApp()
  const routes: string[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) routes.push(`${one} ${url}`)
  })
  await app.ready()
  const isOfWeb = (key: string) => /^(?:GET|HEAD) \/(?:assets\/.*|index\.html)?$/.test(key)
  assert.deepEqual(routes.filter((key) => !isOfWeb(key)).toSorted(), Object.keys(contract).toSorted())
  await app.close()
})

test('each route of a publisher, a project or an advertiser states its access in its path and the least role', () => {
  const prefixes = {
    anyone: '/api/auth/',
    user: '/api/me',
    publisher: '/api/publishers/:publisher',
    project: '/api/projects/:project',
    advertiser: '/api/advertisers/:advertiser',
  }
  for (const [key, entry] of Object.entries(contract)) {
    assert.ok(key.split(' ')[1]?.startsWith(prefixes[entry.access]), key)
    assert.equal('role' in entry, entry.access === 'publisher' || entry.access === 'project', key)
    assert.equal('advertiserRole' in entry, entry.access === 'advertiser', key)
  }
})

test('a change is refused unless our own page asks for it, whatever cookies it carries', async () => {
  const person = await newPerson(world)
  const rename = (headers: Record<string, string>) =>
    person.send('PATCH /api/me', { body: { name: 'Renamed' }, headers })
  const refused: Record<string, string>[] = [
    { origin: '' },
    { origin: 'null' },
    { origin: 'https://evil.example' },
    { origin: `${ORIGIN}.evil.example` },
    { origin: ORIGIN.replace('http:', 'https:') },
    { origin: `${ORIGIN}:8080` },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'cross-site', origin: ORIGIN },
  ]
  for (const headers of refused) assert.equal((await rename(headers)).status, 403, JSON.stringify(headers))
  const noOrigin = await fetch(`${world.consoleUrl}/api/me`, {
    method: 'PATCH',
    headers: {
      'content-type': 'application/json',
      cookie: [...person.cookies].map((pair) => pair.join('=')).join('; '),
    },
    body: '{"name":"Renamed"}',
  })
  assert.equal(noOrigin.status, 403)
  assert.equal((await person.send('GET /api/me')).body.user.name, person.name)
  assert.equal((await rename({ 'sec-fetch-site': 'same-origin' })).status, 200)
  assert.equal((await rename({ origin: ORIGIN })).status, 200)
})

test('only JSON is read: a form, plain text or a broken body changes nothing', async () => {
  const person = await newPerson(world)
  const send = (body: string, type: string) => person.send('PATCH /api/me', { body, headers: { 'content-type': type } })
  for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain'])
    assert.equal((await send('{"name":"Renamed"}', type)).status, 415, type)
  assert.equal((await send('{"name":', 'application/json')).status, 400)
  assert.equal((await send('{"name":"x","__proto__":{"role":"owner"}}', 'application/json')).status, 400)
  assert.equal((await send(JSON.stringify({ name: 'x'.repeat(70_000) }), 'application/json')).status, 413)
})

test('what is wrong with a form is said for each field, and what it does not have is not taken', async () => {
  const person = await newPerson(world)
  const path = `POST /api/publishers/${person.publisherId}/projects`
  const { status, body } = await person.send(path, { body: { name: '', domain: '' } })
  assert.deepEqual(
    [status, body.error, body.fields.map((field: { path: string }) => field.path)],
    [422, 'Unprocessable Entity', ['name', 'domain']],
  )
  for (const domain of [
    'localhost',
    'co.uk',
    'github.io',
    '127.0.0.1',
    '[::1]',
    'a b.com',
    'u@example.com',
    '-a.example.com',
  ])
    assert.equal((await person.send(path, { body: { name: 'x', domain } })).status, 422, domain)
  for (const name of ['two\nlines', 'right \u202eto left', 'see https://evil.example', 'x'.repeat(101)])
    assert.equal((await person.send('PATCH /api/me', { body: { name } })).status, 422, name)
  const id = await newProject(person)
  const sneaky = { name: 'New', publisherId: 'x', balanceNanos: '1', contentRetentionDays: 365 }
  const renamed = await must(person.send(`PATCH /api/projects/${id}`, { body: sneaky }))
  assert.deepEqual([renamed.body.name, renamed.body.balanceNanos, renamed.body.contentRetentionDays], ['New', '0', 30])
})

test('unknown addresses under /api answer JSON, and other pages answer the web app', async () => {
  const browser = openBrowser(world)
  const html = { accept: 'text/html,*/*' }
  for (const path of ['/api', '/api/nothing', '/api/me/nothing', '/api/auth/get-session', '/api/auth/sign-up/social']) {
    const { status, body } = await browser.send(`GET ${path}`, { headers: html })
    assert.deepEqual([status, body?.statusCode], [404, 404], path)
  }
  const app = consoleApp()
  const page = await app.inject({ url: '/projects/1/keys', headers: html })
  assert.deepEqual(
    [page.statusCode, page.body, page.headers['cache-control']],
    [200, '<!doctype html><title>app</title>', 'no-cache'],
  )
  const asset = await app.inject({ url: '/assets/app-1a2b.js' })
  assert.deepEqual([asset.statusCode, asset.headers['cache-control']], [200, 'public, max-age=31536000, immutable'])
  for (const request of [
    { url: '/assets/gone.js', headers: html },
    { url: '/projects/1/keys' },
    { url: '/projects/1/keys', method: 'POST' as const, headers: html },
    { url: '/../package.json' },
    { url: '/..%2f..%2fpackage.json', headers: {} },
  ])
    assert.equal((await app.inject(request)).statusCode, 404, request.url)
  await app.close()
  const lines: string[] = []
  const log = createLog('warn', { write: (line) => lines.push(line) })
  const unbuilt = consoleApp({ webRoot: '/nonexistent', log })
  assert.match(lines.join(''), /"mend":"Run \\"npm run build\\", then start again\.","msg":"the web app is not built"/)
  const none = await unbuilt.inject({ url: '/', headers: html })
  assert.equal(none.statusCode, 503)
  assert.match(none.body, /npm run build/)
  await unbuilt.close()
})

test('every answer carries the security headers; with https also HSTS and a cookie that only this host gets', async () => {
  const plain = consoleApp()
  const secure = consoleApp({ consoleUrl: 'https://console.example.com' })
  const policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
  for (const url of ['/', '/api/me', '/api/nothing', '/assets/app-1a2b.js']) {
    const { headers } = await secure.inject({ url, headers: { accept: 'text/html' } })
    assert.equal(headers['content-security-policy'], policy)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.match(String(headers['strict-transport-security']), /max-age=31536000/)
    assert.equal((await plain.inject({ url })).headers['strict-transport-security'], undefined)
  }
  assert.equal((await plain.inject({ url: '/api/me' })).headers['cache-control'], 'no-store')
  const { email } = await newPerson(world)
  const signedIn = await secure.inject({
    method: 'POST',
    url: '/api/auth/sign-in/email',
    headers: { origin: 'https://console.example.com' },
    body: { email, password: PASSWORD },
  })
  assert.match(String(signedIn.headers['set-cookie']), /^__Host-parley\.session_token=[^;]+;.*; Secure/)
  await Promise.all([plain.close(), secure.close()])
})

test('an answer holds what the contract names and nothing else', async () => {
  const person = await newPerson(world)
  await newProject(person)
  const me = (await must(person.send('GET /api/me'))).body
  assert.deepEqual(Object.keys(me.user).toSorted(), [
    'createdAt',
    'email',
    'emailVerified',
    'id',
    'name',
    'passkeys',
    'twoFactorEnabled',
  ])
  assert.deepEqual(Object.keys(me.publishers[0]).toSorted(), ['activatedAt', 'id', 'name', 'projects', 'role'])
  const sessions = await must(person.send('GET /api/me/sessions'))
  const { token } = await world.store.db.selectFrom('sessions').select('token').executeTakeFirstOrThrow()
  assert.ok(!sessions.text.includes(token))
  const signedIn = await must(
    person.send('POST /api/auth/sign-in/email', { body: { email: person.email, password: PASSWORD } }),
  )
  assert.deepEqual(signedIn.body, { twoFactor: false })
})
