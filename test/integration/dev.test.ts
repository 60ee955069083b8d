import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { LOCAL_ADMIN_URL } from '../../scripts/postgres.ts'
import { seedDemo } from '../../scripts/seed.ts'
import { talkAbout } from '../../simulator/talk.ts'
import { readConfig } from '../../src/config.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { createMatcherClient } from '../../src/recommend/matcher-client.ts'
import { matcherTokenOf } from '../../src/recommend/wire.ts'
import { RELEVANCE_MIN_UNKNOWN } from '../../src/rules/recommendations/caps.ts'
import { findKeyRecords } from '../../src/store/projects/keys.ts'
import { loginNameOf, LOGINS } from '../../src/store/database-logins.ts'
import { listProjects } from '../../src/store/projects/projects.ts'
import { run, start } from '../support/commands.ts'
import { createTestDatabase, openTestStore } from '../support/database.ts'
import { DEMO_QUESTIONS } from '../support/demo-questions.ts'
import { until } from '../support/world.ts'

const adminUrl = process.env.PARLEY_TEST_POSTGRES_URL || LOCAL_ADMIN_URL
/** A name of the shape that a later run removes, should this one be killed. */
const database = `parley_test_${Math.floor(Date.now() / 1_000)}_${randomBytes(6).toString('hex')}`
let stateDir: string

before(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'parley-dev-'))
})
after(async () => {
  await rm(stateDir, { recursive: true, force: true })
  await query(adminUrl, `drop database if exists ${database} with (force)`)
  for (const login of LOGINS) await query(adminUrl, `drop role if exists ${loginNameOf(database, login)}`)
})

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

/** Held by somebody else, whether by us or by another process: dev must not depend on it. */
async function occupy(port: number): Promise<() => void> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening').catch(() => {})
  return () => server.close()
}

test('npm run dev prints requests that work when pasted, and Ctrl-C leaves nothing running', async () => {
  const release = await occupy(8080)
  const dev = start('node', ['scripts/dev.ts', '--state-dir', stateDir, '--database', database], {
    env: { DATABASE_URL: adminUrl },
  })
  try {
    const output = await dev.untilPrinted(/Ctrl-C stops everything\.\n/, 90_000)
    assert.match(output, /port 8080 is taken, using \d+/)
    assert.doesNotMatch(output, /could do anything to the database/)
    const [json, stream, models, recommended] = pastedFrom(output, 'curl ')

    const completion = JSON.parse((await run('sh', ['-c', String(json)])).stdout)
    assert.equal(completion.object, 'chat.completion')
    assert.ok(completion.choices[0].message.content.length > 0)
    const events = (await run('sh', ['-c', String(stream)])).stdout
    assert.match(events, /^data: \{.*"chat\.completion\.chunk"/)
    assert.match(events, /\ndata: \[DONE\]\n\n$/)
    const listed = JSON.parse((await run('sh', ['-c', String(models)])).stdout)
    // The same with the keys of the two lines that are for a shell.
    const [keys] = pastedFrom(output, 'export ')
    const withKeys = String(models)
      .replace(/'x-publishable-key: [^']+'/, '"x-publishable-key: $PARLEY_PUBLISHABLE_KEY"')
      .replace(/'x-secret-key: [^']+'/, '"x-secret-key: $PARLEY_SECRET_KEY"')
    assert.doesNotMatch(withKeys, /ply_/)
    assert.deepEqual(JSON.parse((await run('sh', ['-ec', `${keys}\n${withKeys}`])).stdout), listed)
    const ids = listed.data.map((model: { id: string }) => model.id)
    assert.deepEqual(ids.toSorted(), ['parley-embedding', 'parley-guide', 'parley-large', 'parley-small'])
    assert.match(completion.choices[0].message.content, /^Hello!.*simulated/)
    await until(
      async () => /\*\*Ad\*\* · (?:Northwind|Harbour)/.test((await run('sh', ['-c', String(recommended)])).stdout),
      30_000,
    )
    await expectFittingOffers()

    const [, consoleUrl = '', email, password] =
      /^(http\S+)\nsign in as (\S+) with the password (\S+)$/m.exec(output) ?? []
    const signedIn = await fetch(`${consoleUrl}/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { origin: consoleUrl, 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    })
    const cookie = signedIn.headers
      .getSetCookie()
      .map((text) => text.split(';')[0])
      .join('; ')
    const me = await (await fetch(`${consoleUrl}/api/me`, { headers: { cookie } })).json()
    assert.equal((me as { publishers: { projects: { name: string }[] }[] }).publishers[0]?.projects[0]?.name, 'Demo')

    const [operate] = pastedFrom(output, 'set -a')
    const operated = await run('sh', ['-ec', String(operate)], { withinMs: 30_000 })
    assert.match(operated.stdout, /No problems\.\n[^]*balance +\$9\.99\d+\n[^]*Usage: parley/, operated.stderr)
    for (const secret of ['env', 'secret']) assert.equal((await stat(join(stateDir, secret))).mode & 0o777, 0o600)

    const metricsUrl = /^Metrics: (\S+)$/m.exec(output)?.[1] ?? ''
    assert.match(await (await fetch(metricsUrl)).text(), /^parley_requests_total/m)

    assert.equal(await dev.end('SIGINT', 20_000), 0, dev.output)
    for (const url of [metricsUrl, ...(output.match(/http:\/\/127\.0\.0\.1:\d+/g) ?? [])])
      await assert.rejects(fetch(url))
    const url = Object.assign(new URL(adminUrl), { pathname: `/${database}` }).href
    assert.deepEqual(await query(url, 'select id from gateways'), [], 'the gateway said goodbye')
    assert.deepEqual(await query(url, 'select id from holds'), [])
  } finally {
    release()
    await dev.end('SIGKILL', 0)
  }
})

/** Asked of the matcher itself, which a gateway on a busy machine may not wait for. */
async function expectFittingOffers(): Promise<void> {
  const lines = (await readFile(join(stateDir, 'env'), 'utf8')).matchAll(/^(\w+)='(.*)'$/gm)
  const config = readConfig(Object.fromEntries([...lines].map(([, name, value]) => [String(name), value])))
  const token = matcherTokenOf(createSecrets(config.PARLEY_SECRET))
  const matcher = createMatcherClient({ url: config.PARLEY_MATCHER_URL, token, metrics: createMetrics() })
  const { signal } = new AbortController()
  const anything = { blockedCategories: [], blockedAdvertisers: [], blockedDomains: [], seenOffers: [] }
  for (const { question, offer } of DEMO_QUESTIONS) {
    const asked = { turns: [{ role: 'user', text: question }] as const, deadlineMs: 30_000 }
    assert.deepEqual(await matcher.judge(asked, signal), { outcome: 'open' }, question)
    const answer = { answer: talkAbout(question), minRelevance: RELEVANCE_MIN_UNKNOWN, floorNanos: '100000000' }
    const found = await matcher.match({ ...asked, ...answer, ...anything }, signal)
    if (!('match' in found)) assert.fail(`${question} ${found.outcome}`)
    assert.match(found.match.headline, offer)
    assert.ok(BigInt(found.match.priceNanos) >= 100_000_000n, `a believable price: ${found.match.priceNanos}`)
  }
  await matcher.close()
}

/** Each command that begins so, up to the next empty line: what a reader would select and paste. */
function pastedFrom(output: string, beginning: string): string[] {
  return output.split('\n\n').filter((block) => block.startsWith(beginning))
}

test('dev that cannot go on says why, and what to do', async () => {
  const nobody = { DATABASE_URL: 'postgres://postgres:hidden@127.0.0.1:1/postgres' }
  const dev = await run('node', ['scripts/dev.ts', '--state-dir', stateDir, '--database', database], { env: nobody })
  assert.equal(dev.code, 1)
  assert.match(dev.stderr, /This did not work: The PostgreSQL at 127\.0\.0\.1:1 cannot be used\. Correct DATABASE_URL/)
  assert.doesNotMatch(dev.stderr, /\n\s+at |hidden/)
})

test('seeding again adds a fresh key pair, ends the former one, and nothing else', async () => {
  const seeded = await createTestDatabase()
  const { url } = seeded
  const store = openTestStore({ url, applicationName: 'parley test' })
  try {
    const secrets = createSecrets([{ version: 1, bytes: randomBytes(32) }])
    const first = await seedDemo(store, secrets, 'http://127.0.0.1:9100/v1')
    const second = await seedDemo(
      store,
      createSecrets([{ version: 1, bytes: randomBytes(32) }]),
      'http://127.0.0.1:9101/v1',
    )
    assert.equal(second.projectId, first.projectId)
    const pairs = await findKeyRecords(store.db, [first.publishableKey, second.publishableKey])
    assert.deepEqual(
      pairs.map((pair) => pair?.isActive),
      [false, true],
    )
    assert.deepEqual(
      (await listProjects(store.db)).map((project) => project.balance_nanos),
      [10_000_000_000n],
    )
    const counts = `select (select count(*)::int from models) as models, (select count(*)::int from deployments) as routes,
      (select count(*)::int from price_versions) as prices, (select count(*)::int from publishers) as publishers,
      (select string_agg(base_url, ' ') from providers) as providers`
    const expected = { models: 4, routes: 4, prices: 4, publishers: 1, providers: 'http://127.0.0.1:9101/v1' }
    assert.deepEqual(await query(url, counts), [expected])
  } finally {
    await store.close()
    await seeded.drop()
  }
})
