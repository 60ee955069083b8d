import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client } from 'pg'
import { callIdOf } from '../../src/rules/billing/receipts.ts'
import { parley, run } from '../support/commands.ts'
import { asked, expectOk, here, refused, told } from '../support/operator.ts'
import { addModel, addProject, chatBody, complete, createWorld, until, type World } from '../support/world.ts'

let world: World
let env: Record<string, string>

before(async () => {
  world = await createWorld()
  env = {
    DATABASE_URL: String(world.env.DATABASE_URL),
    PARLEY_SECRET: String(world.env.PARLEY_SECRET),
    PARLEY_PORT: new URL(world.url).port,
  }
  Object.assign(process.env, env, { SPARE_KEY: 'sk-the-spare' })
})
after(() => world.close())

/** A command as an operator starts it. */
async function started(args: string[], input?: string): Promise<string> {
  return expectOk(args, await parley(args, { env, input })).stdout
}

function fieldOf(document: unknown, name: string): string {
  return String((document as Record<string, unknown>)[name])
}

test('the commands lead an operator from nothing to a paid answer', async () => {
  const publisher = await started(['publisher', 'create', 'Example News', '--activate', '--json'])
  const owner = ['--publisher', fieldOf(JSON.parse(publisher), 'id')]
  const created = await started(['project', 'create', 'Website', ...owner, '--domain', 'Example.org'])
  const project = /^id +(\S+)$/m.exec(created)?.[1] ?? ''
  assert.match(created, new RegExp(`Next:\n +parley domain verify ${project}\n +parley wallet topup ${project} 10\n`))
  assert.match(await told('domain', 'verify', project), /domain +example\.org\n[^]*state +verified/)
  assert.match(await told('wallet', 'topup', project, '5'), /^\$5\.00 credited\.\n\nreference +cli:\S+\nbalance +\$5/)

  const baseUrl = ['--base-url', `${world.simulator.url}/v1/`]
  assert.match(await started(['provider', 'add', 'upstream', ...baseUrl], 'sk-upstream\n'), /api keys +default\n/)
  await told('model', 'add', 'news', '--owned-by', 'us', '--input', '1', '--output', '4')
  const costs = ['--cost-input', '0.5', '--cost-output', '2']
  await told('model', 'route', 'news', '--provider', 'upstream', '--upstream-model', 'sim-mini', ...costs)
  await told('project', 'set', project, '--allowed-models', 'news')

  const shown = await started(['key', 'create', project, '--name', 'web server'])
  assert.match(shown, /never shown again/)
  assert.doesNotMatch(shown, /refused until/)
  const completion = await untilServed(shown.slice(shown.indexOf('curl ')))
  assert.equal(world.simulator.calls.at(-1)?.authorization, 'Bearer sk-upstream')

  const receipt: unknown = JSON.parse(await told('receipt', completion.id, '--json'))
  const nanos = completion.usage.prompt_tokens * 1_000 + completion.usage.completion_tokens * 4_000
  assert.partialDeepStrictEqual(receipt, {
    outcome: 'completed',
    model_id: 'news',
    charged_nanos: String(nanos),
    attempts: [{ provider: 'upstream', failed: null, cost_nanos: String(nanos / 2) }],
    recomputed: { charge_nanos: String(nanos), matches: true },
    recommendation_credit_nanos: '0',
    corrections: [],
  })
  const receiptText = await told('receipt', fieldOf(receipt, 'id').toUpperCase())
  for (const line of [
    /^outcome +completed: the answer was complete$/m,
    /^output +\d+ +\$4\.00$/m,
    /^charged +\$0\.000\d+\nrecomputed +\$0\.000\d+, which matches\nupstream cost +\$0\.000\d+$/m,
    /^upstream +answered +\d+ ms +\$0\.000\d+ /m,
    /^It was not corrected\.$/m,
  ]) {
    assert.match(receiptText, line)
  }
  const left = { balance_nanos: String(5_000_000_000 - nanos), open_holds: 0 }
  assert.partialDeepStrictEqual(await asked('wallet', 'show', project), left)

  const doctor = await told('doctor')
  assert.match(doctor, /^ok +provider upstream +sim-mini answered after \d+ ms$/m)
  assert.match(doctor, /\n\nNo problems\.\n$/)
})

interface Completion {
  id: string
  usage: { prompt_tokens: number; completion_tokens: number }
  /** Only in a refusal. */
  statusCode?: number
}

/** A gateway looks for changes to the catalogue once a second. */
async function untilServed(curl: string): Promise<Completion> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const completion = JSON.parse((await run('sh', ['-c', curl])).stdout) as Completion
    if (completion.statusCode !== 422) return completion
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  throw new Error('the new model was not served within 4 s')
}

test('what was said in a conversation can be read, and erased', async () => {
  const { id } = world.project
  const headers = { 'x-conversation-id': 'visitor-1' }
  const response = await complete(world, chatBody('tokens=2'), { headers })
  assert.equal(response.status, 200, await response.text())
  // Written behind the answer, which does not wait for it.
  await until(async () => (await told('conversation', 'list', id)).includes('visitor-1'))
  assert.partialDeepStrictEqual(await asked('conversation', 'list', id), [{ id: 'visitor-1', calls: 1 }])
  assert.match(await told('conversation', 'show', id, 'visitor-1'), /^user .*\nHello .*\n\nassistant .*\n.+/)
  assert.partialDeepStrictEqual(await asked('conversation', 'delete', id, 'visitor-1'), { deleted: true })
  assert.deepEqual(await asked('conversation', 'list', id), [])
})

test('publishers, projects, domains and key pairs show what was changed', async () => {
  const { publisherId, id, publishableKey } = world.project
  assert.partialDeepStrictEqual(await asked('publisher', 'deactivate', publisherId), { activated_at: null })
  assert.match(await told('publisher', 'activate', publisherId), /is activated/)
  assert.match(await told('publisher', 'list'), new RegExp(`^${publisherId} +Test Publisher +- +20\\S+Z +1$`, 'm'))

  const limits = ['--requests-per-minute', '600', '--tokens-per-minute', '5000', '--content-retention-days', '0']
  const limited = { requests_per_minute: 600, tokens_per_minute: '5000', content_retention_days: 0 }
  assert.partialDeepStrictEqual(await asked('project', 'set', id, ...limits), limited)
  await told('project', 'set', id, '--requests-per-minute', 'none', '--tokens-per-minute', 'none')
  assert.match(
    await told('project', 'show', id),
    /retention +0 days\nrequests per minute +no limit\ntokens per minute +no/,
  )
  assert.match(
    await told('project', 'list', '--publisher', publisherId),
    new RegExp(`^${id} +Test Project +example\\.com`, 'm'),
  )

  const before = fieldOf(await asked('domain', 'show', id), 'verification_token')
  const moved = await asked('domain', 'set', id, 'EXAMPLE.net.')
  assert.partialDeepStrictEqual(moved, { name: 'example.net', verified_at: null })
  assert.notEqual(fieldOf(moved, 'verification_token'), before)
  assert.match(fieldOf(moved, 'verification_token'), /^[0-9a-f]{32}$/)
  assert.match(await told('domain', 'verify', id), /state +verified/)
  assert.match(await told('domain', 'show', id), new RegExp(`token +${fieldOf(moved, 'verification_token')}`))
  const unverified = await asked('domain', 'unverify', id)
  assert.notEqual(fieldOf(unverified, 'verification_token'), fieldOf(moved, 'verification_token'))
  assert.match(await told('domain', 'show', id), /state +not verified/)
  await told('domain', 'verify', id)

  assert.partialDeepStrictEqual(await asked('key', 'deactivate', publishableKey), { active: false })
  assert.match(await told('key', 'list', id), new RegExp(`^${publishableKey} +….{4} +test +no `, 'm'))
  assert.partialDeepStrictEqual(await asked('key', 'activate', publishableKey), { active: true })
})

test('the example of a new key pair names a model that the project may use', async () => {
  const { id } = await addProject(world.store, world.secrets)
  await addModel(world.store, { id: 'sim-other', provider: 'simulator' })
  for (const model of ['sim-small', 'sim-other']) {
    await told('project', 'set', id, '--allowed-models', model)
    assert.match(await told('key', 'create', id), new RegExp(`"model": ?"${model}"`))
  }
})

test('a transfer whose credit is spent is undone only when the project may owe it', async () => {
  const { id } = await addProject(world.store, world.secrets, { credits: '0' })
  await told('wallet', 'topup', id, '2')
  const [topUp] = (await asked('wallet', 'ledger', id, '--limit', '1')) as { id: string }[]
  await told('wallet', 'adjust', id, '-1.5', '--reason', 'spent')
  const reverse = ['wallet', 'reverse', String(topUp?.id), '--reason', 'wrong project']
  assert.match(await refused(...reverse), /Only \$0\.50 is available, so \$2\.00 cannot be taken away.* Use --owed/)
  assert.match(await told(...reverse, '--owed'), /^\$2\.00 moved back\./)
  assert.match(await told('wallet', 'show', id), /balance +\$0\.00\n[^]*owed +\$1\.50:/)
})

test('a wallet is credited once per reference, and says so', async () => {
  const { id } = world.project
  const gift = ['wallet', 'grant', id, '0.5', '--reference', 'gift', '--reason', 'welcome']
  assert.partialDeepStrictEqual(await asked(...gift), { posted: true, amount_nanos: '500000000', reference: 'gift' })
  assert.match(await told(...gift), /already posted, nothing changed/)
  await told('wallet', 'topup', id, '1')
  const newest = [
    { kind: 'topup', delta_credits: '$1.00', reason: null },
    { kind: 'grant', delta_credits: '$0.50', reason: 'welcome', reference: 'gift', corrects: null },
  ]
  const listed = (await asked('wallet', 'ledger', id, '--limit', '2')) as object[]
  assert.partialDeepStrictEqual(listed, newest)
  assert.equal(listed.length, 2)
  assert.match(await told('wallet', 'show', id), /held +\$0\.00 by 0 running calls/)
  const tooLong = /^A reference has 1 to 255 characters and a reason 1 to 500\. Correct it\.$/m
  for (const [name, text] of [
    ['--reference', 'x'.repeat(256)],
    ['--reference', ''],
    ['--reason', 'x'.repeat(501)],
    ['--reason', ''],
  ] as const)
    assert.match(await refused('wallet', 'topup', id, '1', name, text), tooLong)
  await told('wallet', 'topup', id, '1', '--reference', 'x'.repeat(255), '--reason', 'x'.repeat(500))
})

test('what was wrong is corrected by movements that say what they correct, and every limit has its sentence', async () => {
  const { id, headers } = await addProject(world.store, world.secrets, { credits: '2' })
  const response = await complete(world, chatBody('tokens=100'), { headers })
  const call = ((await response.json()) as { id: string }).id
  const charged = fieldOf(await asked('receipt', call), 'charged_credits')
  const because = ['--reason', 'a test']

  const back = await asked('wallet', 'refund', id, charged, '--call', call, ...because)
  assert.partialDeepStrictEqual(back, { posted: true, kind: 'refund', balance_credits: '$2.00' })
  assert.match(await refused('wallet', 'refund', id, '0.000000001', '--call', call, ...because), /only \$0\.00 is left/)
  assert.match(await told('receipt', call), /^refund +\$0\.0\d+ .* a test$/m)

  assert.match(
    await told('wallet', 'adjust', id, '-0.5', ...because),
    /^Adjusted by -\$0\.50\.\n[^]*balance +\$1\.50$/m,
  )
  assert.match(await told('wallet', 'adjust', id, '+0.25', ...because), /balance +\$1\.75$/m)
  assert.match(await told('wallet', 'refund', id, '1', ...because), /^\$1\.00 refunded[^]*balance +\$0\.75$/m)
  assert.match(await refused('wallet', 'refund', id, '1', ...because), /Only \$0\.75 is available, so \$1\.00 cannot/)
  assert.match(await refused('wallet', 'adjust', id, '-0.76', ...because), /Only \$0\.75 is available, so \$0\.76/)

  assert.match(await refused('wallet', 'refund', id, '1', ...because), /--owed/)
  const owing = ['wallet', 'refund', id, '1', '--owed', '--reference', 'owing', ...because]
  assert.match(await told(...owing), /^\$1\.00 refunded[^]*balance +\$0\.00\nowed +\$0\.25$/m)
  assert.match(await told(...owing), /already posted, nothing changed/)
  assert.match(await told('wallet', 'show', id), /^owed +\$0\.25: no call is answered until it is paid$/m)
  assert.match(await told('wallet', 'topup', id, '1'), /balance +\$0\.75$/m)
  assert.doesNotMatch(await told('wallet', 'show', id), /owed/)
  const advances = (await asked('wallet', 'ledger', id)) as { id: string; kind: string }[]
  const owed = advances.filter(({ kind }) => kind === 'owed' || kind === 'collection')
  assert.deepEqual(
    owed.map(({ kind }) => kind),
    ['collection', 'owed'],
  )
  for (const { id: advance } of owed)
    assert.match(await refused('wallet', 'reverse', advance, ...because), /advance or its repayment.*wallet adjust/)

  await told('wallet', 'refund', id, '0.5', ...because)
  const [refund] = (await asked('wallet', 'ledger', id, '--limit', '1')) as { id: string }[]
  const reverse = ['wallet', 'reverse', String(refund?.id), ...because]
  assert.match(await told(...reverse, '--reference', 'undo'), /^\$0\.50 moved back\.\n\nreverses +refund\n/)
  assert.match(await told(...reverse, '--reference', 'undo'), /already posted, nothing changed/)
  assert.match(await refused(...reverse), /was already reversed; nothing changed/)
  const [reversal] = (await asked('wallet', 'ledger', id, '--limit', '1')) as { id: string }[]
  assert.partialDeepStrictEqual(reversal, { kind: 'reversal', corrects: refund?.id, delta_credits: '$0.50' })
  assert.match(await refused('wallet', 'reverse', String(reversal?.id), ...because), /is a reversal, which is final/)
  assert.match(await refused('wallet', 'refund', id, '1', '--call', NOBODY, ...because), /no finished call /)
  assert.match(await refused('wallet', 'refund', id, '1', '--call', 'chatcmpl-1', ...because), /not the id of a call/)
})

test('a receipt lists what was refunded of its call and what of that was taken back, and nothing of other calls', async () => {
  const { id, headers } = await addProject(world.store, world.secrets, { credits: '2' })
  const ended = async () =>
    ((await (await complete(world, chatBody('tokens=100'), { headers })).json()) as { id: string }).id
  const [call, other] = [await ended(), await ended()]
  const because = ['--reason', 'a test']
  await told('wallet', 'refund', id, '0.000001', '--call', call, ...because)
  const [refund] = (await asked('wallet', 'ledger', id, '--limit', '1')) as { id: string }[]
  await told('wallet', 'reverse', String(refund?.id), ...because)
  await told('wallet', 'refund', id, '0.000002', '--call', other, ...because)
  const { corrections } = (await asked('receipt', call)) as { corrections: { kind: string; corrects: string }[] }
  assert.deepEqual(
    corrections.map(({ kind, corrects }) => [kind, corrects]),
    [
      ['refund', callIdOf(call)],
      ['reversal', refund?.id],
    ],
  )
})

test('a call that still runs says so, and has no receipt yet', async () => {
  const held = { project_id: world.project.id, key_pair_id: NOBODY, model_id: 'sim-small', gateway_id: NOBODY }
  const { db } = world.store
  await db
    .insertInto('holds')
    .values({ ...held, id: NOBODY, price_version_id: 1n, amount_nanos: 5n })
    .execute()
  assert.match(await told('receipt', NOBODY), /outcome +still running\nheld +\$0\.000000005$/m)
  assert.partialDeepStrictEqual(await asked('receipt', NOBODY), { outcome: null, held_nanos: '5' })
  await db.deleteFrom('holds').where('id', '=', NOBODY).execute()
})

test('providers, models, prices and routes show what was changed', async () => {
  await told('provider', 'add', 'spare', '--base-url', 'http://127.0.0.1:9/v1', '--no-api-key')
  assert.match(await told('provider', 'list'), /^spare +openai-compatible +http:\S+ +none +yes$/m)
  const set = ['--base-url', `${world.simulator.url}/v1`, '--api-key-env', 'SPARE_KEY']
  const key = { name: 'default', last4: 'pare', enabled: true, rejected_at: null }
  assert.partialDeepStrictEqual(await asked('provider', 'set', 'spare', ...set), { keys: [key] })
  assert.match(
    await told('provider', 'test', 'spare', '--upstream-model', 'sim'),
    /^spare answers, with key default …pare\.[^]*connect +\d+ ms/,
  )
  assert.equal(world.simulator.calls.at(-1)?.authorization, 'Bearer sk-the-spare')
  assert.partialDeepStrictEqual(await asked('provider', 'disable', 'spare'), { enabled: false })
  assert.match(await told('provider', 'enable', 'spare'), /enabled +yes/)

  await told(
    'model',
    'add',
    'spare',
    '--owned-by',
    'us',
    '--input',
    '0.15',
    '--cached-input',
    '0.07',
    '--output',
    '0.6',
  )
  const later = ['--input', '0.1', '--output', '0.4', '--effective-from', '2126-01-31T00:00:00Z']
  const price = { output_per_million_nanos: '400000000', reasoning_per_million_credits: '$0.40' }
  assert.partialDeepStrictEqual(await asked('model', 'price', 'spare', ...later), { price })
  const to = ['--provider', 'spare', '--upstream-model', 'sim', '--position', '2', '--unsupported', 'tools,images']
  to.push('--weight', '300')
  to.push('--cost-input', '0.1', '--cost-output', '0.2', '--cost-reasoning', '0.3')
  const route = fieldOf(await asked('model', 'route', 'spare', ...to), 'id')
  assert.match(await told('model', 'set', 'spare', '--context-window', '8000'), /context window +8000/)
  assert.match(await told('model', 'list'), /^spare +chat +us +served +\$0\.15 +\$0\.60 +spare\/sim$/m)
  assert.match(
    await told('model', 'show', 'spare'),
    new RegExp(`^${route} +2 +300 +spare +sim +tools, images +- +\\$0\\.10 +\\$0\\.20$`, 'm'),
  )
  await told('model', 'unroute', route)
  assert.match(await told('model', 'list'), /^spare +chat +us +no route /m)
  assert.match(await told('model', 'enable', 'spare'), /is enabled/)
  assert.partialDeepStrictEqual(await asked('model', 'disable', 'spare'), { enabled: false })
  assert.match(await told('model', 'list'), /^spare +chat +us +disabled /m)
})

test('an empty database is migrated, and one that is not yet is told apart', async () => {
  const client = new Client({ connectionString: env.DATABASE_URL })
  await client.connect()
  await client.query('create schema fresh')
  await client.end()
  const url = `${env.DATABASE_URL}?options=${encodeURIComponent('-c search_path=fresh')}`
  const fresh = { env: { ...env, DATABASE_URL: url } }
  const tooEarly = await parley(['publisher', 'list'], fresh)
  assert.deepEqual([tooEarly.code, tooEarly.stdout], [1, ''])
  assert.match(tooEarly.stderr, /Run: parley migrate\n$/)
  const doctor = await parley(['doctor', '--json'], fresh)
  assert.equal(doctor.code, 1)
  assert.match(doctor.stdout, /"problem",\n +"detail": "missing: 0001_[^]*"mend": "Run: parley migrate"/)
  assert.match((await parley(['migrate'], fresh)).stdout, /^applied 0001_[^]*The database has all \d+ migrations/)
  const again = await parley(['migrate', '--json'], fresh)
  assert.partialDeepStrictEqual(JSON.parse(again.stdout), { applied: [] })
})

const NOBODY = '0199d3c4-7a10-7c3e-9a53-1f2e3d4c5b6a'
const BASE_URL = ['--base-url', 'http://127.0.0.1:9/v1']
const PRICE = ['--input', '1', '--output', '1']
const ROUTE = ['--provider', 'nobody', '--upstream-model', 'x']

const MISTAKES: [mistake: string, command: string[], sentence: RegExp][] = [
  ['an id that is none', ['project', 'show', '17'], /"17" is not the id of a project.*parley project list/],
  ['an unknown publisher', ['publisher', 'activate', NOBODY], /no publisher .*parley publisher list/],
  ['a project of nobody', ['project', 'create', 'x', '--publisher', NOBODY, '--domain', 'a.org'], /no publisher/],
  ['a project without a change', ['project', 'set', NOBODY], /Nothing to change/],
  ['an unknown project', ['domain', 'verify', NOBODY], /no project .*parley project list/],
  ['keys for nobody', ['key', 'create', NOBODY], /no project .*parley project list/],
  ['the id of a key', ['key', 'deactivate', NOBODY], /is an id\. Name a pair by its publishable key: "parley key list/],
  ['an unknown key', ['key', 'deactivate', 'ply_pk_x'], /no key pair ply_pk_x.*parley key list/],
  ['a wallet of nobody', ['wallet', 'topup', NOBODY, '10'], /no project .*parley project list/],
  ['two sources of a key', ['provider', 'add', 'x', ...BASE_URL, '--no-api-key', '--api-key-env', 'X'], /in one way/],
  ['a variable that is not set', ['provider', 'add', 'x', ...BASE_URL, '--api-key-env', 'NOT_SET'], /in NOT_SET/],
  [
    'a key file that is not there',
    ['provider', 'add', 'x', ...BASE_URL, '--api-key-file', '/none'],
    /\/none cannot be read/,
  ],
  ['a provider twice', ['provider', 'add', 'simulator', ...BASE_URL, '--no-api-key'], /already a provider simulator/],
  ['an unknown provider', ['provider', 'test', 'nobody'], /no provider nobody.*parley provider list/],
  ['a model twice', ['model', 'add', 'sim-small', '--owned-by', 'us', ...PRICE], /already a model sim-small/],
  ['an unknown model', ['model', 'price', 'nobody', ...PRICE], /no model nobody.*parley model list/],
  ['a price of the past', ['model', 'price', 'sim-small', ...PRICE, '--effective-from', '2020-01-01'], /in the past/],
  ['a route to nobody', ['model', 'route', 'sim-small', ...ROUTE], /no provider nobody/],
  ['an unknown route', ['model', 'unroute', NOBODY], /no route .*parley model show/],
  ['conversations of nobody', ['conversation', 'list', NOBODY], /no project/],
  [
    'half of a cost',
    ['model', 'route', 'sim-small', ...ROUTE, '--cost-output', '1'],
    /both --cost-input and --cost-out/,
  ],
  ['an unknown call', ['receipt', NOBODY], /no call .*x-request-id/],
  ['an id that is no call', ['receipt', 'chatcmpl-1'], /"chatcmpl-1" is not the id of a call/],
  ['a model of nobody', ['project', 'set', NOBODY, '--allowed-models', 'sim-small,nobody'], /no model nobody/],
  ['a secret key in place of its name', ['key', 'deactivate', 'ply_sk_00abc'], /is a secret key.*publishable key/],
  ['an unknown transfer', ['wallet', 'reverse', NOBODY, '--reason', 'x'], /no transfer .*parley wallet ledger/],
]

describe('a mistake is one sentence that says what to do', () => {
  for (const [mistake, command, sentence] of MISTAKES) {
    test(mistake, async () => {
      const { code, stdout, stderr } = await here(command)
      assert.match(stderr, sentence)
      assert.match(stderr, /^[^\n]+\n$/)
      assert.deepEqual([code, stdout], [1, ''])
    })
  }

  test('a reference that was used for another amount', async () => {
    const { id } = world.project
    await told('wallet', 'topup', id, '1', '--reference', 'once')
    const { code, stderr } = await here(['wallet', 'topup', id, '2', '--reference', 'once'])
    assert.equal(code, 1)
    assert.match(stderr, /already used for another amount or wallet, nothing changed/)
  })

  test('an unknown conversation', async () => {
    const { code, stderr } = await here(['conversation', 'delete', world.project.id, 'nobody'])
    assert.equal(code, 1)
    assert.match(stderr, /no conversation nobody.*parley conversation list/)
  })
})

const USAGE = 2
const DOWN = 'postgres://u:hidden@127.0.0.1:1/x'
const OF_THE_SHELL: [
  mistake: string,
  command: string[],
  code: number,
  sentence: RegExp,
  change?: Record<string, string>,
][] = [
  [
    'no configuration',
    ['receipt', 'x'],
    1,
    /DATABASE_URL is required.*\n.*PARLEY_SECRET/,
    { DATABASE_URL: '', PARLEY_SECRET: '' },
  ],
  [
    'a database that is down',
    ['project', 'list'],
    1,
    /127\.0\.0\.1:1 cannot be reached.*DATABASE_URL/,
    { DATABASE_URL: DOWN },
  ],
  ['an unknown command', ['publishers'], USAGE, /Unknown command 'publishers'/],
  ['a missing argument', ['publisher', 'create'], USAGE, /'name'\nRun "parley publisher create --help"/],
  ['an amount that is none', ['wallet', 'topup', NOBODY, 'ten'], USAGE, /"ten" is not an amount/],
  [
    'an API key as an argument',
    ['provider', 'add', 'x', ...BASE_URL, '--api-key', 'sk-1'],
    USAGE,
    /Unknown option '--api-key'/,
  ],
  [
    'an API key that is not there',
    ['provider', 'add', 'x', ...BASE_URL],
    1,
    /no API key in standard input.*--no-api-key/,
  ],
  ['an unknown role', ['serve', 'everything'], USAGE, /Allowed choices are gateway, worker/],
]

describe(
  'a mistake ends bin/parley with 1, or 2 when it was typed wrongly, and never with a stack trace',
  { concurrency: 2 },
  () => {
    for (const [mistake, command, code, sentence, change] of OF_THE_SHELL) {
      test(mistake, async () => {
        const finished = await parley(command, { env: { ...env, ...change } })
        assert.match(finished.stderr, sentence)
        assert.deepEqual([finished.code, finished.stdout], [code, ''])
        assert.doesNotMatch(finished.stderr, /\n\s+at |hidden/)
      })
    }
  },
)
