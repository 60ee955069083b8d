import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Command } from 'commander'
import { sql } from 'kysely'
import { createProgram } from '../../src/cli/program.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { recordSecrets } from '../../src/store/secret-versions.ts'
import { INSTALLATION } from '../../src/store/accounts/audit-log.ts'
import { recordTurn } from '../../src/store/calls/conversations.ts'
import { noteEndUsers } from '../../src/store/calls/end-users.ts'
import { addBrowserSession } from '../support/browser-sessions.ts'
import { click, fund, show } from '../support/clicks.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { killDuringAudit } from '../support/kill-during-audit.ts'
import { here } from '../support/operator.ts'
import { changesBetween, openCamera } from '../support/picture.ts'
import { startStripe, STRIPE_KEY, type StripeStandIn } from '../support/stripe.ts'
import { createWorld, type World } from '../support/world.ts'

/**
 * Every command that changes something leaves exactly one entry, with the operator who ran it and why, and one that dies
 * between the two leaves neither.
 */

const SECRETS = [1, 2, 3].map(() => randomBytes(32).toString('base64'))
const secretOf = (version: number) => SECRETS[version - 1]!

let world: World
let stripe: StripeStandIn
let folder: string
let takePicture: Awaited<ReturnType<typeof openCamera>>
/** Ids and keys that earlier commands have made, by name. */
const made: Record<string, string> = {}

before(async () => {
  world = await createWorld({ env: { PARLEY_SECRET: `1:${secretOf(1)},2:${secretOf(2)}` } })
  stripe = await startStripe()
  // One that no gateway has, to be forgotten.
  const roots = [1, 3].map((version) => ({ version, bytes: Buffer.from(secretOf(version), 'base64') }))
  await recordSecrets(world.store.db, createSecrets(roots))
  folder = await mkdtemp(join(tmpdir(), 'parley-audit-'))
  Object.assign(process.env, {
    DATABASE_URL: String(world.env.DATABASE_URL),
    PARLEY_SECRET: String(world.env.PARLEY_SECRET),
    PARLEY_STRIPE_SECRET_KEY: STRIPE_KEY,
    PARLEY_STRIPE_API_BASE: stripe.url,
    PARLEY_CHECKOUT_SUCCESS_URL: 'https://a.example/',
    SPARE_KEY: 'sk-the-spare-key-0001',
    SUDO_USER: '',
  })
  const member = { id: uuidv7(), name: 'Member', email: 'member@example.com', email_verified: true }
  await world.store.db.insertInto('users').values(member).execute()
  takePicture = await openCamera(world.store.db, world.secrets)
  const feed = {
    items: [
      { id: 'P1', title: 'Pot', link: 'https://pots.example.com/p1', price: '10.00 EUR', availability: 'in_stock' },
    ],
  }
  await writeFile(join(folder, 'feed.json'), JSON.stringify(feed.items))
  const price = { owned_by: 'x', input: '1', output: '2' }
  const file = { as_of: '2026-01-01', providers: { spare: { 'imported-model': price } } }
  await writeFile(join(folder, 'prices.json'), JSON.stringify(file))
  const conversation = { projectId: world.project.id, id: 'talk' }
  await recordTurn(world.store.db, { conversation, callId: uuidv7(), messages: [], retentionDays: 1 })
  made.endUser = uuidv7()
  await noteEndUsers(world.store.db, [
    { projectId: world.project.id, id: made.endUser, label: 'Grace', at: new Date() },
  ])
  const { id: keyPairId } = await world.store.db.selectFrom('key_pairs').select('id').executeTakeFirstOrThrow()
  made.browserSession = await addBrowserSession(world.store.db, { projectId: world.project.id, keyPairId })
  made.click = uuidv7()
  const match = await addOffer(world.store.db)
  await fund(world.store.db, match.advertiserId, BigInt(match.priceNanos))
  const [shown = ''] = await show(world.store.db, match, world.project.id)
  await click(world.store.db, shown, { id: made.click })
})
after(async () => {
  await world.close()
  await stripe.close()
  await rm(folder, { recursive: true })
})

interface Step {
  command: string
  args: () => string[]
  /** Fields of the command's document that later commands need. */
  keeps?: Record<string, string>
  env?: () => Record<string, string>
}

const to = (command: string, args: () => string[] = () => [], more: Omit<Step, 'command' | 'args'> = {}): Step => {
  return { command, args, ...more }
}
const shop = ['--advertiser', 'Pots']

/** In an order in which each has something to change. */
const STEPS: Step[] = [
  to('publisher create', () => ['Example News'], { keeps: { publisher: 'id' } }),
  to('publisher activate', () => [made.publisher!]),
  to('publisher sandbox', () => [made.publisher!], {
    keeps: { sandbox: 'id' },
    env: () => ({ PARLEY_SANDBOX_DOMAIN: 'sandbox.example.org' }),
  }),
  to('project delete', () => [made.sandbox!]),
  to('publisher deactivate', () => [made.publisher!]),
  to('project create', () => ['Site', '--publisher', made.publisher!, '--domain', 'one.example.com'], {
    keeps: { project: 'id' },
  }),
  to('project set', () => [made.project!, '--content-retention-days', '3']),
  to('domain set', () => [made.project!, 'two.example.com']),
  to('domain verify', () => [made.project!]),
  to('domain unverify', () => [made.project!]),
  to('key create', () => [made.project!], { keeps: { key: 'publishable_key' } }),
  to('key deactivate', () => [made.key!]),
  to('key activate', () => [made.key!]),
  to('wallet topup', () => [made.project!, '5', '--reference', 'first']),
  to('wallet grant', () => [made.project!, '1', '--reference', 'second']),
  to('wallet adjust', () => [made.project!, '0.5', '--reference', 'third']),
  to('wallet refund', () => [made.project!, '1', '--reference', 'fourth']),
  to('wallet reverse', () => [made.transfer!, '--reference', 'fifth']),
  to('wallet checkout', () => [made.project!, '25']),
  to('conversation delete', () => [world.project.id, 'talk']),
  to('limits set', () => ['--key', made.key!, '--month', '5', '--requests-per-minute', '60']),
  to('end-user erase', () => [world.project.id, made.endUser!]),
  to('sessions end', () => [made.browserSession!]),
  to('provider add', () => ['spare', '--base-url', 'https://spare.example/v1', '--api-key-env', 'SPARE_KEY']),
  to('provider set', () => ['spare', '--base-url', 'https://spare.example/v2']),
  to('provider disable', () => ['spare']),
  to('provider enable', () => ['spare']),
  to('provider key add', () => ['spare', 'second', '--api-key-env', 'SPARE_KEY']),
  to('provider key disable', () => ['spare', 'second']),
  to('provider key enable', () => ['spare', 'second']),
  to('provider key remove', () => ['spare', 'second']),
  to('model add', () => ['small', '--owned-by', 'us', '--input', '1', '--output', '2']),
  to('model set', () => ['small', '--context-window', '1000']),
  to('model price', () => ['small', '--input', '2', '--output', '3']),
  to('model route', () => ['small', '--provider', 'spare', '--upstream-model', 'x'], { keeps: { route: 'id' } }),
  to('model unroute', () => [made.route!]),
  to('model disable', () => ['small']),
  to('model enable', () => ['small']),
  to('model import', () => ['--file', join(folder, 'prices.json'), '--yes']),
  to('advertiser create', () => ['Pots', '--domain', 'pots.example.com']),
  to('advertiser activate', () => ['Pots']),
  to('advertiser suspend', () => ['Pots']),
  to('advertiser tracking', () => ['Pots', 'https://network.example/click?url={lpurl}']),
  to('advertiser member add', () => ['Pots', 'member@example.com', '--role', 'admin']),
  to('advertiser member remove', () => ['Pots', 'member@example.com']),
  to('advertiser topup', () => ['Pots', '5', '--reference', 'sixth']),
  to('advertiser grant', () => ['Pots', '1', '--reference', 'seventh']),
  to('advertiser conversion-key', () => ['Pots']),
  to('advertiser click-id', () => ['Pots', 'on']),
  to('click reverse', () => [made.click!]),
  to('campaign create', () => ['All', ...shop, '--bid', '0.4']),
  to('campaign set', () => ['All', ...shop, '--bid', '0.5']),
  to('campaign pause', () => ['All', ...shop]),
  to('campaign resume', () => ['All', ...shop]),
  to('offers import', () => [join(folder, 'feed.json'), ...shop, '--campaign', 'All', '--feed', 'main']),
  to('feed add', () => [
    'daily',
    ...shop,
    '--campaign',
    'All',
    '--url',
    'https://pots.example.com/feed.xml?key=secret',
  ]),
  to('feed set', () => ['daily', ...shop, '--every', 'hourly']),
  to('feed run', () => ['daily', ...shop]),
  to('offers review', () => ['reject', made.offer!]),
  to('recommendations off'),
  to('recommendations on'),
  to('secrets rewrap', () => [], {
    env: () => ({ PARLEY_SECRET: `2:${secretOf(2)},1:${secretOf(1)}` }),
  }),
  to('secrets forget', () => ['3']),
]

function leavesOf(command: Command, path: string[] = []): [path: string, leaf: Command][] {
  const children = command.commands.filter((child) => child.name() !== 'help')
  if (children.length === 0) return [[path.join(' '), command]]
  return children.flatMap((child) => leavesOf(child, [...path, child.name()]))
}

/** They change nothing, or nothing that is somebody’s: the schema, logins and roles of the database, a file of the matcher. */
const NOT_IN_THE_LOG =
  /^(?:serve|migrate|archive|database (?:logins|roles)|doctor|audit|audit-log|anomalies|receipt|ignored-fields|refusals|[\w-]+ (?:list|show|runs|reports|status|ledger|payments|presets|report|test)|advertiser conversions|advertiser member list|provider key list|matcher prepare|recommendations rehearse)$/

test('every command is known to change something or not to', () => {
  const program = createProgram({ roles: [], usualRoles: [], serve: () => Promise.reject(new Error()) })
  const leaves = leavesOf(program)
  const changing = leaves.filter(([, leaf]) => leaf.options.some(({ long }) => long === '--reason'))
  assert.deepEqual(changing.map(([path]) => path).toSorted(), STEPS.map(({ command }) => command).toSorted())
  const others = leaves.map(([path]) => path).filter((path) => !STEPS.some(({ command }) => command === path))
  assert.deepEqual(
    others.filter((path) => !NOT_IN_THE_LOG.test(path)),
    [],
  )
})

async function entries() {
  return world.store.db.selectFrom('audit_log').selectAll().orderBy('at').orderBy('seq').execute()
}

for (const { command, args, keeps = {}, env } of STEPS) {
  test(`parley ${command} leaves one entry, and none without its change`, async () => {
    const { db } = world.store
    const offer = await db.selectFrom('offers').select('id').executeTakeFirst()
    const transfer = await db.selectFrom('transfers').select('id').where('reference', '=', 'third').executeTakeFirst()
    Object.assign(made, { offer: offer?.id, transfer: transfer?.id })
    const line = [...command.split(' '), ...args(), '--reason', 'asked by phone', '--json']
    const options = { env: env?.() ?? {} }
    const picture = await takePicture()

    const killed = await killDuringAudit(db, () => here(line, options))
    assert.equal(killed.code, 1, killed.stdout)
    assert.match(killed.stderr, /^The (?:connection to the )?database/)
    const left = changesBetween(picture, await takePicture())
    // A feed and its failed run are told of, and are no offers yet.
    assert.deepEqual(command === 'offers import' ? left.filter(isOffer) : left, [])

    const before = (await entries()).length
    const finished = await here(line, options)
    assert.equal(finished.code, 0, `${finished.stdout}${finished.stderr}`)
    const document = JSON.parse(finished.stdout) as Record<string, unknown>
    for (const [name, field] of Object.entries(keeps)) made[name] = String(document[field])
    const added = (await entries()).slice(before)
    assert.equal(added.length, 1, JSON.stringify(added.map(({ action }) => action)))
    const { actor, actor_id, details, publisher_id } = added[0]!
    assert.deepEqual([actor, actor_id], ['operator', null])
    assert.partialDeepStrictEqual(details, { systemUser: userInfo().username, reason: 'asked by phone' })
    const isOfTenant = /^(?:publisher|project|domain|key|wallet|conversation|limits|end-user|sessions) /.test(command)
    assert.equal(publisher_id === INSTALLATION, !isOfTenant)
  })
}

function isOffer(change: unknown): boolean {
  return Object.keys(change as object)[0]!.endsWith(' offers')
}

test('the log is shown with who and why, and says when somebody has altered it', async () => {
  const { db } = world.store
  const log = async (...args: string[]) => here(['audit-log', ...args])
  const installation = await log('--limit', '3')
  assert.equal(installation.code, 0)
  assert.match(installation.stdout, /operator +secrets\.rewrapped +.*"reason":"asked by phone"/)
  assert.match(installation.stdout, /\n\nThe log is intact\.$/m)
  const [, number, digest] = /\nThe digest of entry (\d+) is ([0-9a-f]{64})\.\n$/.exec(installation.stdout) ?? []
  const kept = await db
    .selectFrom('audit_log')
    .select('digest')
    .where('publisher_id', '=', INSTALLATION)
    .where('seq', '=', BigInt(number!))
    .executeTakeFirstOrThrow()
  assert.equal(kept.digest.toString('hex'), digest)
  const publisher = await log('--publisher', made.publisher!)
  assert.match(publisher.stdout, /operator +publisher\.created +Example News/)
  await sql`alter table audit_log disable trigger user`.execute(db)
  await db
    .updateTable('audit_log')
    .set({ actor: 'nobody' })
    .where('publisher_id', '=', made.publisher!)
    .where('seq', '=', 2n)
    .execute()
  const altered = await log('--publisher', made.publisher!)
  assert.equal(altered.code, 1)
  assert.match(altered.stdout, /Entry 2 was altered, or one before it removed\./)
  // A chain alone cannot show that its end is gone; a digest that was kept shows it.
  const newest = BigInt(number!)
  const before = await log('--until', String(newest - 1n), '--json')
  await db.deleteFrom('audit_log').where('publisher_id', '=', INSTALLATION).where('seq', '>=', newest).execute()
  const shorter = await log('--until', number!, '--json')
  assert.deepEqual([shorter.code, JSON.parse(shorter.stdout)], [0, JSON.parse(before.stdout)])
  assert.partialDeepStrictEqual(JSON.parse(shorter.stdout), { entries: [{ seq: String(newest - 1n) }] })
  await db.deleteFrom('audit_log').where('publisher_id', '=', INSTALLATION).execute()
  assert.match((await log()).stdout, /^The log is empty\./)
})
