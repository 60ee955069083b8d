import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { Client } from 'pg'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { appendAuditLog } from '../../src/store/accounts/audit-log.ts'
import { insertAdvertiserMember } from '../../src/store/accounts/advertiser-members.ts'
import { insertAdvertiserPayment, listAdvertiserMovements } from '../../src/store/billing/advertiser-payments.ts'
import { listCampaigns } from '../../src/store/offers/campaigns.ts'
import { withTenant, type AdvertiserTenant } from '../../src/store/tenancy.ts'
import { click, fund, show } from '../support/clicks.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { rowsAs } from '../support/tenancy.ts'
import { createWorld, type World } from '../support/world.ts'

/** The wall between advertisers, and between them and publishers. */

let world: World
let client: Client
let mine: AdvertiserTenant
let theirs: AdvertiserTenant
const NANOS = 1_000_000_000n

before(async () => {
  world = await createWorld()
  mine = { advertiserId: await fill('mine') }
  theirs = { advertiserId: await fill('theirs') }
  client = new Client({ connectionString: world.env.DATABASE_URL })
  await client.connect()
})
after(async () => {
  await client.end()
  await world.close()
})

/** Something in every table that an advertiser has a right on. */
async function fill(name: string): Promise<string> {
  const { db } = world.store
  const match = await addOffer(db)
  const { advertiserId } = match
  const userId = uuidv7()
  await db
    .insertInto('users')
    .values({ id: userId, name, email: `${name}@example.com` })
    .execute()
  await insertAdvertiserMember(db, advertiserId, userId, 'admin')
  await insertAdvertiserPayment(db, { sessionId: `cs_${name}`, advertiserId, amount: 5n * NANOS, currency: 'usd' })
  await fund(db, advertiserId, 10n * NANOS)
  const shown = await show(db, match, world.project.id, 2)
  for (const id of shown) assert.equal(await click(db, id), 'valid')
  const paid = await db.selectFrom('clicks').select('id').where('advertiser_id', '=', advertiserId).execute()
  // After its release, the publisher's wallet gives the money back.
  await sql`select earnings_release(100, '-1 minute'::interval)`.execute(db)
  await sql`select click_reverse(${paid[0]?.id}, 'click farm')`.execute(db)
  const entry = { actorId: userId, actor: name, action: 'campaign.created', subject: null, projectId: null }
  await appendAuditLog(db, { ...entry, publisherId: advertiserId, ip: null, userAgent: null, details: {} })
  return advertiserId
}

async function granted(privilege: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname::text as name from pg_class where relkind in ('r', 'p', 'v') and relnamespace = 'public'::regnamespace
     and has_any_column_privilege('parley_advertiser', oid, $1) order by 1`,
    [privilege],
  )
  return rows.map(({ name }) => name)
}

test('an advertiser reads these tables and no others: nothing of what was said, of calls or of projects', async () => {
  assert.deepEqual(await granted('select'), [
    'advertiser_members',
    'advertiser_payments',
    'advertiser_people',
    'advertiser_wallets',
    'advertisers',
    'audit_log',
    'campaign_days',
    'campaign_totals',
    'campaigns',
    'offers',
  ])
  for (const table of ['messages', 'calls', 'projects', 'recommendations', 'clicks', 'transfers', 'users', 'earnings'])
    await assert.rejects(
      withTenant(world.store.tenants, mine, (tx) => sql`select 1 from ${sql.table(table)}`.execute(tx)),
      /permission denied/,
      table,
    )
})

test("an advertiser sees its own rows and nobody else's, also when the statement has no where", async () => {
  for (const table of await granted('select')) {
    const columns = table === 'offers' ? '(select id, advertiser_id, campaign_id, removed_at from offers)' : table
    const rows = JSON.stringify(await rowsAs(world.store.tenants, mine, columns))
    const others = JSON.stringify(await rowsAs(world.store.tenants, theirs, columns))
    assert.ok(rows.length > 20, `${table}: ${rows}`)
    assert.notEqual(rows, others, table)
    assert.ok(!rows.includes(theirs.advertiserId), table)
    assert.ok(!rows.includes(world.project.id) && !rows.includes(world.project.publisherId), table)
  }
  const campaigns = await withTenant(world.store.tenants, mine, (tx) => listCampaigns(tx))
  assert.deepEqual(
    campaigns.map(({ advertiser_id: id }) => id),
    [mine.advertiserId],
  )
})

test('its movements are its own, and name neither a project nor a click', async () => {
  const movements = await withTenant(world.store.tenants, mine, (tx) => listAdvertiserMovements(tx, 100))
  assert.deepEqual(movements.map(({ kind }) => kind).toSorted(), ['grant', 'reversal', 'reversal'])
  for (const { kind, reference, reason } of movements)
    if (kind === 'reversal') assert.deepEqual([reference, reason], [null, null])
  assert.ok(
    !JSON.stringify(movements, (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes(
      world.project.id,
    ),
  )
})

test('an advertiser writes into nobody else, moves no money, activates nothing and changes no log', async () => {
  const refused = (statement: string, code = '42501') =>
    assert.rejects(
      withTenant(world.store.tenants, mine, (tx) => sql.raw(statement).execute(tx)),
      (error: { code?: string }) => error.code === code,
      statement,
    )
  const id = uuidv7()
  await refused(
    `insert into campaigns (id, advertiser_id, name, bid_nanos) values ('${id}', '${theirs.advertiserId}', 'x', 1)`,
  )
  await refused(`update campaigns set advertiser_id = '${theirs.advertiserId}'`)
  await refused(`insert into advertiser_members values ('${theirs.advertiserId}', '${id}', 'admin')`)
  await refused(`update advertisers set status = 'active'`)
  await refused('update advertiser_wallets set balance_nanos = 1')
  await refused(`update advertiser_payments set state = 'paid'`)
  await refused(`select ledger_credit_advertiser('${id}', 'cs_mine')`)
  await refused('delete from audit_log')
  const paused = await withTenant(world.store.tenants, mine, (tx) =>
    tx.updateTable('campaigns').set({ status: 'paused' }).executeTakeFirst(),
  )
  assert.equal(paused.numUpdatedRows, 1n)
})

test('a publisher and an advertiser gain nothing by taking the role of the other', async () => {
  const { tenants } = world.store
  const publisher = { publisherId: world.project.publisherId, projectId: world.project.id }
  const asAdvertiser = await withTenant(tenants, publisher, async (tx) => {
    await sql`set local role parley_advertiser`.execute(tx)
    return Promise.all(
      ['advertisers', 'campaigns', 'advertiser_wallets', 'advertiser_members', 'advertiser_people', 'audit_log'].map(
        async (table) => (await sql`select 1 from ${sql.table(table)}`.execute(tx)).rows.length,
      ),
    )
  })
  assert.deepEqual(asAdvertiser, [0, 0, 0, 0, 0, 0])
  const asPublisher = await withTenant(tenants, mine, async (tx) => {
    await sql`set local role parley_tenant`.execute(tx)
    return Promise.all(
      ['publishers', 'projects', 'calls', 'messages', 'clicks', 'audit_log', 'earnings'].map(
        async (table) => (await sql`select 1 from ${sql.table(table)}`.execute(tx)).rows.length,
      ),
    )
  })
  assert.deepEqual(asPublisher, [0, 0, 0, 0, 0, 0, 0])
})

test('a publisher has no more rights on what advertisers have than to see who advertises what', async () => {
  const { rows } = await client.query<{ name: string; columns: string }>(
    `select c.relname::text as name, string_agg(a.attname, ' ' order by a.attname) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relname ~ '^(advertiser|campaign|offers|feed)' and c.relkind in ('r', 'v')
       and has_column_privilege('parley_tenant', c.oid, a.attnum, 'select, insert, update') group by 1 order by 1`,
  )
  assert.deepEqual(rows, [
    { name: 'advertisers', columns: 'domain id name status' },
    { name: 'offers', columns: 'advertiser_id benefit category headline id link' },
  ])
  const publisher = { publisherId: world.project.publisherId, projectId: world.project.id }
  await assert.rejects(
    withTenant(world.store.tenants, publisher, (tx) => sql`select legal_name from advertisers`.execute(tx)),
    /permission denied/,
  )
})

test('an advertiser that is named without a signature, or with one of a publisher, is nobody', async () => {
  const { tenants } = world.store
  const signed = await tenants.sign({ publisherId: mine.advertiserId })
  const forged = [`advertiser:${signed}`, `advertiser:${mine.advertiserId}//9999999999/00`]
  for (const name of forged)
    await assert.rejects(
      tenants.db.transaction().execute(async (tx) => {
        await sql`select set_config('parley.tenant', ${name}, true), set_config('role', 'parley_advertiser', true)`.execute(
          tx,
        )
        await tx.selectFrom('advertisers').selectAll().execute()
      }),
      /is not signed/,
    )
  // A publisher with the id of an advertiser would still be none.
  const rows = await tenants.db.transaction().execute(async (tx) => {
    await sql`select set_config('parley.tenant', ${signed}, true), set_config('role', 'parley_advertiser', true)`.execute(
      tx,
    )
    return tx.selectFrom('advertisers').selectAll().execute()
  })
  assert.deepEqual(rows, [])
})
