import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { Client } from 'pg'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { appendAuditLog } from '../../src/store/accounts/audit-log.ts'
import { insertAdvertiserMember } from '../../src/store/accounts/advertiser-members.ts'
import { upsertInvitation } from '../../src/store/accounts/invitations.ts'
import { insertAdvertiserPayment, listAdvertiserMovements } from '../../src/store/billing/advertiser-payments.ts'
import { addUpAdvertiserDays, sumAdvertiserDays } from '../../src/store/offers/advertiser-days.ts'
import { addChances } from '../../src/store/offers/campaign-chances.ts'
import { listCampaigns } from '../../src/store/offers/campaigns.ts'
import { withTenant, type AdvertiserTenant } from '../../src/store/tenancy.ts'
import { addOwnFeed } from '../support/advertiser-samples.ts'
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
  const now = new Date()
  await addUpAdvertiserDays(world.store.db, now, 86_400_000)
  await addUpAdvertiserDays(world.store.db, now, 86_400_000)
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
  const chances = { open: BigInt(name.length), fitted: 1n, contended: 1n, won: 1n }
  await addChances(db, [{ campaignId: match.campaignId, ...chances }])
  const invitation = { id: uuidv7(), email: `guest-of-${name}@example.com`, role: 'viewer' as const, invitedBy: name }
  const expiresAt = new Date(Date.now() + 86_400_000)
  await upsertInvitation(db, { ...invitation, team: { advertiserId }, inviterId: userId, expiresAt })
  const shown = await show(db, match, world.project.id, 2)
  for (const id of shown) assert.equal(await click(db, id), 'valid')
  const paid = await db.selectFrom('clicks').select('id').where('advertiser_id', '=', advertiserId).execute()
  // After its release, the publisher's wallet gives the money back.
  await sql`select earnings_release(100, '-1 minute'::interval)`.execute(db)
  await sql`select click_reverse(${paid[0]?.id}, 'click farm')`.execute(db)
  const entry = { actorId: userId, actor: name, action: 'campaign.created', subject: null, projectId: null }
  await addOwnFeed(db, advertiserId, match.campaignId)
  await db.insertInto('offer_stops').values({ project_id: world.project.id, offer_id: match.offerId }).execute()
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
    'advertiser_days',
    'advertiser_days_progress',
    'advertiser_members',
    'advertiser_offer_months',
    'advertiser_payments',
    'advertiser_people',
    'advertiser_wallets',
    'advertisers',
    'audit_log',
    'campaign_chances',
    'campaign_days',
    'campaign_totals',
    'campaigns',
    'feed_runs',
    'feed_uploads',
    'feeds',
    'invitations',
    'offer_stops',
    'offers',
  ])
  for (const table of ['messages', 'calls', 'projects', 'recommendations', 'clicks', 'transfers', 'users', 'earnings'])
    await assert.rejects(
      withTenant(world.store.tenants, mine, (tx) => sql`select 1 from ${sql.table(table)}`.execute(tx)),
      /permission denied/,
      table,
    )
})

/** The columns that an advertiser sees, for tables of which it does not see all. */
const COLUMNS: Record<string, string> = {
  offers: '(select id, advertiser_id, campaign_id, item_id, review, review_reason, removed_at from offers)',
  offer_stops: '(select offer_id from offer_stops)',
  feed_uploads: '(select id, advertiser_id, campaign_id, feed, file_name, state, report from feed_uploads)',
}

test("an advertiser sees its own rows and nobody else's, also when the statement has no where", async () => {
  // One moment, which is nobody's.
  const owned = (await granted('select')).filter((table) => table !== 'advertiser_days_progress')
  for (const table of owned) {
    const columns = COLUMNS[table] ?? table
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

test("a report of another advertiser, or of another's campaign, has nothing in it", async () => {
  const all = { by: 'campaign' as const, from: '2020-01-01', to: '2999-12-31', servesMin: 1, most: 10 }
  const sumsOf = (advertiserId: string, campaignId?: string) =>
    withTenant(world.store.tenants, mine, (tx) => sumAdvertiserDays(tx, { ...all, advertiserId, campaignId }))
  assert.ok((await sumsOf(mine.advertiserId)).length > 1)
  assert.deepEqual(await sumsOf(theirs.advertiserId), [])
  const { id } = await world.store.db
    .selectFrom('campaigns')
    .select('id')
    .where('advertiser_id', '=', theirs.advertiserId)
    .executeTakeFirstOrThrow()
  assert.deepEqual(await sumsOf(mine.advertiserId, id), [])
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
  await refused(
    `insert into invitations (id, advertiser_id, email, role, invited_by, inviter_id, expires_at)
     values ('${id}', '${theirs.advertiserId}', 'x@example.com', 'admin', 'x', '${id}', now())`,
  )
  await refused(
    `insert into invitations (id, publisher_id, email, role, invited_by, inviter_id, expires_at)
     values ('${id}', '${world.project.publisherId}', 'x@example.com', 'owner', 'x', '${id}', now())`,
  )
  await refused('update advertiser_days set spent_nanos = 0')
  await refused('update campaign_chances set won = 0')
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

test('an advertiser gives feeds to its own campaigns only, and says of no offer whether it may be recommended', async () => {
  const { db, tenants } = world.store
  const asMine = (statement: string) => withTenant(tenants, mine, (tx) => sql.raw(statement).execute(tx))
  const refused = (statement: string) =>
    assert.rejects(asMine(statement), (error: { code?: string }) => error.code === '42501', statement)
  const campaignOf = async ({ advertiserId }: AdvertiserTenant) =>
    (await db.selectFrom('campaigns').select('id').where('advertiser_id', '=', advertiserId).executeTakeFirstOrThrow())
      .id
  const [own, other] = [await campaignOf(mine), await campaignOf(theirs)]
  const [ownId, otherId] = [mine.advertiserId, theirs.advertiserId]
  const feed = (advertiser: string, campaign: string, name: string) =>
    `insert into feeds (id, advertiser_id, campaign_id, name) values ('${uuidv7()}', '${advertiser}', '${campaign}', '${name}')`
  await asMine(feed(ownId, own, 'new'))
  await refused(feed(otherId, other, 'new'))
  // Their campaign would pay for my offers, and my campaign for theirs.
  await refused(feed(ownId, other, 'newer'))
  await refused(`update feeds set campaign_id = '${other}'`)
  const upload = (advertiser: string, campaign: string) =>
    `insert into feed_uploads (id, advertiser_id, campaign_id, feed, file_name, file)
      values ('${uuidv7()}', '${advertiser}', '${campaign}', 'x', 'x.csv', 'x')`
  await asMine(upload(ownId, own))
  await refused(upload(otherId, other))
  await refused(upload(ownId, other))
  for (const statement of [
    `update offers set review = 'approved'`,
    'update offers set removed_at = null',
    'delete from offers',
    `update feeds set expires_at = now() + interval '10 years'`,
    `update feeds set advertiser_id = '${otherId}'`,
    'delete from feeds',
    'delete from feed_runs',
    `update feed_runs set state = 'published'`,
    'delete from offer_stops',
    'select project_id from offer_stops',
    'select file from feed_uploads',
    `update feed_uploads set report = '{}'`,
  ])
    await refused(statement)
  const before = await db.selectFrom('feeds').selectAll().where('advertiser_id', '=', otherId).execute()
  const { numAffectedRows } = await asMine(`update feeds set is_paused = true, removed_at = now()`)
  assert.equal(numAffectedRows, 3n)
  await asMine('delete from feed_uploads')
  assert.deepEqual(await db.selectFrom('feeds').selectAll().where('advertiser_id', '=', otherId).execute(), before)
  const uploads = await db.selectFrom('feed_uploads').select('advertiser_id').execute()
  assert.deepEqual(
    uploads.map(({ advertiser_id: id }) => id),
    [otherId],
  )
})

test('a publisher and an advertiser gain nothing by taking the role of the other', async () => {
  const { tenants } = world.store
  const publisher = { publisherId: world.project.publisherId, projectId: world.project.id }
  const asAdvertiser = await withTenant(tenants, publisher, async (tx) => {
    await sql`set local role parley_advertiser`.execute(tx)
    return Promise.all(
      ['advertisers', 'campaigns', 'feeds', 'feed_runs', 'advertiser_wallets', 'advertiser_members', 'audit_log'].map(
        async (table) => (await sql`select 1 from ${sql.table(table)}`.execute(tx)).rows.length,
      ),
    )
  })
  assert.deepEqual(asAdvertiser, [0, 0, 0, 0, 0, 0, 0])
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
