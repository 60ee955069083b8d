import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client } from 'pg'
import { parley, run, type Finished } from '../support/commands.ts'
import { createWorld, type World } from '../support/world.ts'

let world: World
let env: Record<string, string>

before(async () => {
  world = await createWorld()
  const { DATABASE_URL, PARLEY_SECRET } = world.env
  env = {
    DATABASE_URL: String(DATABASE_URL),
    PARLEY_SECRET: String(PARLEY_SECRET),
    PARLEY_PORT: new URL(world.url).port,
  }
})
after(() => world.close())

/** What a command prints, for people. */
async function told(...args: string[]): Promise<string> {
  return expectOk(args, await parley(args, { env })).stdout
}

/** What a command prints, for programs: exactly one document, of which the tests know the fields. */
async function asked(args: string[], input?: string): Promise<any> {
  const { stdout } = expectOk(args, await parley([...args, '--json'], { env, input }))
  return JSON.parse(stdout)
}

function expectOk(args: readonly string[], finished: Finished): Finished {
  assert.equal(finished.code, 0, `parley ${args.join(' ')}\n${finished.stdout}${finished.stderr}`)
  assert.equal(finished.stderr, '')
  return finished
}

describe('parley', { concurrency: 2 }, () => {
  test('leads an operator from nothing to a paid answer', async () => {
    const publisher = await asked([
      'publisher',
      'create',
      'Example News',
      '--email',
      'editor@example.com',
      '--activate',
    ])
    const created = await told('project', 'create', 'Website', '--publisher', publisher.id, '--domain', 'Example.org')
    const project = /^id +(\S+)$/m.exec(created)?.[1] ?? ''
    assert.match(created, new RegExp(`parley domain verify ${project}\n.*parley wallet topup ${project} 10\n`))
    assert.equal((await asked(['domain', 'verify', project])).name, 'example.org')
    assert.equal((await asked(['wallet', 'topup', project, '5', '--reference', 'first'])).balance_credits, '$5.00')

    const provider = await asked(
      ['provider', 'add', 'upstream', '--base-url', `${world.simulator.url}/v1/`],
      'sk-upstream\n',
    )
    assert.deepEqual([provider.api_key, provider.base_url], ['sealed', `${world.simulator.url}/v1`])
    await told(
      'model',
      'add',
      'news-small',
      '--owned-by',
      'us',
      '--input',
      '1',
      '--output',
      '4',
      '--max-output-tokens',
      '900',
    )
    await told('model', 'route', 'news-small', '--provider', 'upstream', '--upstream-model', 'sim-mini')
    await asked(['project', 'set', project, '--allowed-models', 'news-small'])

    const shown = await told('key', 'create', project, '--name', 'web server')
    assert.match(shown, /never shown again/)
    assert.doesNotMatch(shown, /refused until/)
    const curl = shown.slice(shown.indexOf('curl '))
    assert.match(curl, /"model":"news-small"/)
    const completion = await untilServed(curl)
    assert.equal(world.simulator.calls.at(-1)?.authorization, 'Bearer sk-upstream')

    const call = await asked(['call', 'show', completion.id])
    const { prompt_tokens, completion_tokens } = completion.usage
    const nanos = (prompt_tokens * 1_000_000_000 + completion_tokens * 4_000_000_000) / 1_000_000
    assert.deepEqual([call.outcome, call.charged_nanos], ['completed', String(nanos)])
    const wallet = await asked(['wallet', 'show', project])
    assert.equal(wallet.balance_nanos, String(5_000_000_000 - nanos))
    assert.match(await told('call', 'show', call.id), /outcome +completed: the answer was complete\n/)

    assert.match(await told('doctor'), /^ok +provider upstream +sim-mini answered after \d+ ms$/m)
  })

  test('shows what was said in a conversation, and erases it', async () => {
    const { project } = world
    const headers = { ...project.headers, 'content-type': 'application/json', 'x-conversation-id': 'visitor-1' }
    const body = JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'Is this kept?' }] })
    const response = await fetch(`${world.url}/v1/chat/completions`, { method: 'POST', headers, body })
    assert.equal(response.status, 200, await response.text())

    const [conversation] = await asked(['conversation', 'list', project.id])
    assert.deepEqual([conversation.id, conversation.calls], ['visitor-1', 1])
    assert.match(await told('conversation', 'show', project.id, 'visitor-1'), /^user .*\nIs this kept\?\n\nassistant /)
    assert.equal((await asked(['conversation', 'delete', project.id, 'visitor-1'])).deleted, true)
    assert.deepEqual(await asked(['conversation', 'list', project.id]), [])
  })

  test('shows and changes who calls', async () => {
    const { publisherId, id, publishableKey } = world.project
    assert.equal((await asked(['publisher', 'deactivate', publisherId])).activated_at, null)
    assert.match(await told('publisher', 'activate', publisherId), /is activated/)
    assert.ok((await asked(['publisher', 'list'])).some((row: { id: string }) => row.id === publisherId))

    const settings = ['--content-retention-days', '0', '--requests-per-minute', '600', '--tokens-per-minute', '5000']
    const changed = await asked(['project', 'set', id, ...settings])
    assert.deepEqual([changed.content_retention_days, changed.tokens_per_minute], [0, '5000'])
    const unlimited = await asked([
      'project',
      'set',
      id,
      '--requests-per-minute',
      'none',
      '--tokens-per-minute',
      'none',
    ])
    assert.deepEqual([unlimited.requests_per_minute, unlimited.tokens_per_minute], [null, null])
    assert.match(await told('project', 'show', id), /content retention +0 days/)
    assert.equal((await asked(['project', 'list', '--publisher', publisherId])).length, 1)

    const moved = await asked(['domain', 'set', id, 'example.net'])
    assert.deepEqual([moved.name, moved.verified_at], ['example.net', null])
    assert.notEqual(moved.verification_token, 'token')
    await asked(['domain', 'verify', id])
    assert.match(await told('domain', 'unverify', id), /state +not verified/)
    assert.match(await told('domain', 'show', id), new RegExp(`token +${moved.verification_token}`))
    await asked(['domain', 'verify', id])

    assert.equal((await asked(['key', 'deactivate', publishableKey])).active, false)
    assert.match(await told('key', 'list', id), new RegExp(`${publishableKey} .* no `))
    assert.equal((await asked(['key', 'activate', publishableKey])).active, true)
  })

  test('credits a wallet once per reference', async () => {
    const { id } = world.project
    const first = await asked(['wallet', 'grant', id, '0.5', '--reference', 'gift', '--reason', 'welcome'])
    assert.deepEqual([first.credited, first.amount_nanos], [true, '500000000'])
    const again = await told('wallet', 'grant', id, '0.5', '--reference', 'gift')
    assert.match(again, /already credited, nothing changed/)
    const { reference } = await asked(['wallet', 'topup', id, '1'])
    assert.match(reference, /^cli:/)
    const entries = await asked(['wallet', 'ledger', id, '--limit', '2'])
    assert.deepEqual(
      entries.map((entry: any) => [entry.kind, entry.delta_credits]),
      [
        ['topup', '$1.00'],
        ['grant', '$0.50'],
      ],
    )
  })

  test('shows and changes what answers', async () => {
    const added = ['--base-url', 'http://127.0.0.1:9/v1', '--no-api-key']
    assert.equal((await asked(['provider', 'add', 'spare', ...added])).api_key, 'none')
    const set = [
      'provider',
      'set',
      'spare',
      '--base-url',
      `${world.simulator.url}/v1`,
      '--api-key-env',
      'SPARE_KEY',
      '--json',
    ]
    expectOk(set, await parley(set, { env: { ...env, SPARE_KEY: 'sk-spare' } }))
    const probe = await asked(['provider', 'test', 'spare', '--upstream-model', 'sim'])
    assert.ok(probe.answers && probe.connect_ms >= 0 && probe.total_ms >= probe.first_token_ms)
    assert.equal((await asked(['provider', 'disable', 'spare'])).enabled, false)
    assert.match(await told('provider', 'enable', 'spare'), /enabled +yes/)
    assert.match(await told('provider', 'list'), /^spare +openai-compatible +http\S+ +sealed +yes$/m)

    const prices = ['--input', '0.15', '--cached-input', '0.075', '--output', '0.60']
    await asked(['model', 'add', 'spare-model', '--owned-by', 'us', ...prices])
    const later = ['--input', '0.1', '--output', '0.4', '--effective-from', '2126-01-31T00:00:00Z']
    assert.equal((await asked(['model', 'price', 'spare-model', ...later])).price.output_per_million_nanos, '400000000')
    const options = ['--position', '2', '--unsupported', 'tools,images', '--idle-timeout-ms', '9000']
    const route = await asked([
      'model',
      'route',
      'spare-model',
      '--provider',
      'spare',
      '--upstream-model',
      'sim',
      ...options,
    ])
    const model = await asked(['model', 'set', 'spare-model', '--context-window', '8000'])
    assert.deepEqual([model.context_window, model.prices.length, model.routes[0].id], [8000, 2, route.id])
    assert.match(await told('model', 'list'), /^spare-model +us +served +\$0\.15 +\$0\.60 +spare\/sim$/m)
    assert.match(await told('model', 'show', 'spare-model'), new RegExp(`${route.id} +2 +spare +sim +tools, images`))
    assert.equal((await asked(['model', 'disable', 'spare-model'])).enabled, false)
    await asked(['model', 'enable', 'spare-model'])
    await asked(['model', 'unroute', route.id])
    const [listed] = (await asked(['model', 'list'])).filter((row: { id: string }) => row.id === 'spare-model')
    assert.deepEqual([listed.state, listed.price.cached_input_per_million_credits], ['no route', '$0.075'])
    await asked(['model', 'disable', 'spare-model'])
  })

  test('migrates an empty database, and says so when one is not migrated', async () => {
    const client = new Client({ connectionString: env.DATABASE_URL })
    await client.connect()
    await client.query('create schema fresh')
    await client.end()
    const fresh = { ...env, DATABASE_URL: `${env.DATABASE_URL}?options=${encodeURIComponent('-c search_path=fresh')}` }
    const before = await parley(['publisher', 'list'], { env: fresh })
    assert.deepEqual([before.code, before.stdout], [1, ''])
    assert.match(before.stderr, /Run: parley migrate\n$/)
    const doctor = await parley(['doctor'], { env: fresh })
    assert.equal(doctor.code, 1)
    assert.match(doctor.stdout, /^problem +migrations +missing: 0001\S*, .*Run: parley migrate$/m)
    assert.match(
      (await parley(['migrate'], { env: fresh })).stdout,
      /^applied 0001_[^]*The database has all \d+ migrations/,
    )
    const again = await parley(['migrate', '--json'], { env: fresh })
    assert.deepEqual(JSON.parse(again.stdout).applied, [])
  })
})

/** A gateway looks for changes to the catalogue once a second. */
async function untilServed(curl: string): Promise<any> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const { stdout } = await run('sh', ['-c', curl])
    const answer = JSON.parse(stdout)
    if (answer.error?.code !== 'model_not_found') return answer
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  throw new Error('the new model was not served within 4 s')
}

const NOBODY = '0199d3c4-7a10-7c3e-9a53-1f2e3d4c5b6a'
const BASE_URL = ['--base-url', 'http://127.0.0.1:9/v1']
const PRICE = ['--owned-by', 'us', '--input', '1', '--output', '1']
const EXIT_FAILED = 1
const EXIT_USAGE = 2

const MISTAKES: [string, string[], number, RegExp, Record<string, string>?][] = [
  [
    'no configuration',
    ['publisher', 'list'],
    EXIT_FAILED,
    /DATABASE_URL is required.*\n.*PARLEY_SECRET/,
    { DATABASE_URL: '', PARLEY_SECRET: '' },
  ],
  [
    'a database that is down',
    ['wallet', 'show', NOBODY],
    EXIT_FAILED,
    /127\.0\.0\.1:1 cannot be reached.*DATABASE_URL/,
    { DATABASE_URL: 'postgres://u:hidden@127.0.0.1:1/x' },
  ],
  ['an unknown command', ['publishers'], EXIT_USAGE, /Unknown command 'publishers'/],
  [
    'a missing argument',
    ['publisher', 'create'],
    EXIT_USAGE,
    /Missing required argument 'name'\nRun "parley publisher create --help"/,
  ],
  [
    'an id that is none',
    ['project', 'show', '17'],
    EXIT_FAILED,
    /"17" is not the id of a project.*parley project list/,
  ],
  ['an unknown publisher', ['publisher', 'activate', NOBODY], EXIT_FAILED, /no publisher .*parley publisher list/],
  [
    'a project of nobody',
    ['project', 'create', 'x', '--publisher', NOBODY, '--domain', 'a.org'],
    EXIT_FAILED,
    /no publisher/,
  ],
  ['an unknown project', ['domain', 'verify', NOBODY], EXIT_FAILED, /no project .*parley project list/],
  ['an unknown key', ['key', 'deactivate', 'ply_pk_x'], EXIT_FAILED, /no key pair ply_pk_x.*parley key list/],
  ['an amount that is none', ['wallet', 'topup', NOBODY, 'ten'], EXIT_USAGE, /"ten" is not an amount/],
  ['a wallet of nobody', ['wallet', 'topup', NOBODY, '10'], EXIT_FAILED, /no project .*parley project list/],
  [
    'an API key as an argument',
    ['provider', 'add', 'x', ...BASE_URL, '--api-key', 'sk-1'],
    EXIT_USAGE,
    /Unknown option '--api-key'/,
  ],
  ['no API key', ['provider', 'add', 'x', ...BASE_URL], EXIT_FAILED, /no API key in standard input.*--no-api-key/],
  [
    'a provider twice',
    ['provider', 'add', 'simulator', ...BASE_URL, '--no-api-key'],
    EXIT_FAILED,
    /already a provider simulator.*provider set/,
  ],
  ['an unknown provider', ['provider', 'test', 'nobody'], EXIT_FAILED, /no provider nobody.*parley provider list/],
  ['a model twice', ['model', 'add', 'sim-small', ...PRICE], EXIT_FAILED, /already a model sim-small/],
  [
    'a route to nobody',
    ['model', 'route', 'sim-small', '--provider', 'nobody', '--upstream-model', 'x'],
    EXIT_FAILED,
    /no provider nobody/,
  ],
  [
    'a price of the past',
    ['model', 'price', 'sim-small', '--input', '1', '--output', '1', '--effective-from', '2020-01-01'],
    EXIT_FAILED,
    /cannot take effect in the past/,
  ],
  ['an unknown conversation', ['conversation', 'show', NOBODY, 'x'], EXIT_FAILED, /no project/],
  ['an unknown call', ['call', 'show', NOBODY], EXIT_FAILED, /no call .*x-request-id/],
  ['an unknown role', ['serve', 'everything'], EXIT_USAGE, /Allowed choices are gateway, worker/],
]

describe('a mistake is one sentence that says what to do', { concurrency: 2 }, () => {
  for (const [mistake, args, code, sentence, change] of MISTAKES) {
    test(mistake, async () => {
      const finished = await parley(args, { env: { ...env, ...change } })
      assert.match(finished.stderr, sentence)
      assert.deepEqual([finished.code, finished.stdout], [code, ''])
      assert.doesNotMatch(finished.stderr, /\n\s+at |hidden/)
    })
  }
})
