import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import {
  createConsoleWorld,
  must,
  newPerson,
  ofPublisher,
  userIdOf,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { lettersOf } from '../support/advertiser-samples.ts'
import { until } from '../support/world.ts'

/** An invitation is worth what its inviter may do now, and nothing when they may do nothing. */

let world: ConsoleWorld

before(async () => {
  world = await createConsoleWorld({ roles: ['console', 'worker'] })
})
after(() => world.close())

function invite(inviter: Person, owner: Person, email: string, role: string) {
  return inviter.send(ofPublisher(owner, 'POST /invitations'), { body: { email, role } })
}

async function invitationsTo(person: Person): Promise<{ id: string; role: string }[]> {
  return (await must(person.send('GET /api/me/invitations'))).body.items
}

/** A team of an owner and somebody who joined with that role. */
async function team(role: string): Promise<{ owner: Person; member: Person; memberId: string }> {
  const owner = await newPerson(world)
  const member = await newPerson(world)
  await must(invite(owner, owner, member.email, role))
  const [invitation] = await invitationsTo(member)
  await must(member.send(`POST /api/me/invitations/${invitation?.id}/accept`))
  return { owner, member, memberId: await userIdOf(member) }
}

test('an admin who is removed comes back through no invitation of theirs', async () => {
  const { owner, member: admin, memberId } = await team('admin')
  const accomplice = await newPerson(world)
  await must(invite(admin, owner, accomplice.email, 'admin'))
  const [planted] = await invitationsTo(accomplice)
  await must(owner.send(ofPublisher(owner, `DELETE /members/${memberId}`)))
  assert.deepEqual(await invitationsTo(accomplice), [])
  assert.equal((await accomplice.send(`POST /api/me/invitations/${planted?.id}/accept`)).status, 404)
  const { body } = await must(owner.send(ofPublisher(owner, 'GET /audit-log?action=invitation.withdrawn')))
  assert.deepEqual([body.items[0].subject, body.items[0].actor], [accomplice.email, owner.name])
})

test('who is removed comes back through no invitation to their own address', async () => {
  const { owner, member, memberId } = await team('developer')
  // As when it was sent in the very moment in which they joined.
  await sql`insert into invitations (id, publisher_id, email, role, invited_by, inviter_id, expires_at)
    select gen_random_uuid(), ${owner.publisherId}, ${member.email}, 'admin', 'Owner', ${await userIdOf(owner)},
      now() + interval '1 day'`.execute(world.store.db)
  await must(owner.send(ofPublisher(owner, `DELETE /members/${memberId}`)))
  assert.deepEqual(await invitationsTo(member), [])
})

test('who leaves, or deletes their account, takes their invitations along', async () => {
  const { owner, member: admin } = await team('admin')
  const guest = await newPerson(world)
  await must(invite(admin, owner, guest.email, 'viewer'))
  await must(admin.send(ofPublisher(owner, 'POST /leave')))
  assert.deepEqual(await invitationsTo(guest), [])

  const second = await team('admin')
  await must(invite(second.member, second.owner, guest.email, 'viewer'))
  await must(second.member.send('POST /api/me/delete', { body: { confirm: second.member.email } }))
  assert.deepEqual(await invitationsTo(guest), [])
})

test('an account that is closed takes its open invitations along', async () => {
  const [owner, guest] = [await newPerson(world), await newPerson(world)]
  await must(invite(owner, owner, guest.email, 'owner'))
  assert.equal((await invitationsTo(guest)).length, 1)
  await must(owner.send('POST /api/me/delete', { body: { confirm: owner.email } }))
  assert.deepEqual(await invitationsTo(guest), [])
})

test('an invitation that somebody else repeats lives and dies with them, not with its first sender', async () => {
  const { owner, member: admin, memberId } = await team('admin')
  const [takenOver, handedOver] = [await newPerson(world), await newPerson(world)]
  await must(invite(admin, owner, takenOver.email, 'viewer'))
  await must(invite(owner, owner, takenOver.email, 'viewer'))
  await must(invite(owner, owner, handedOver.email, 'viewer'))
  await must(invite(admin, owner, handedOver.email, 'viewer'))
  await must(owner.send(ofPublisher(owner, `DELETE /members/${memberId}`)))
  assert.equal((await invitationsTo(takenOver)).length, 1)
  assert.deepEqual(await invitationsTo(handedOver), [])
})

test('who is demoted keeps no invitation that they could not send now', async () => {
  const { owner, member: second, memberId } = await team('owner')
  const [heir, helper, guest] = [await newPerson(world), await newPerson(world), await newPerson(world)]
  await must(invite(second, owner, heir.email, 'owner'))
  await must(invite(second, owner, helper.email, 'admin'))
  await must(invite(owner, owner, guest.email, 'viewer'))
  const demote = (role: string) => owner.send(ofPublisher(owner, `PATCH /members/${memberId}`), { body: { role } })
  await must(demote('admin'))
  assert.deepEqual(await invitationsTo(heir), [])
  assert.equal((await invitationsTo(helper)).length, 1, 'an admin may invite an admin')
  await must(demote('developer'))
  assert.deepEqual(await invitationsTo(helper), [])
  assert.equal((await invitationsTo(guest)).length, 1, 'those of others stay')
})

test('an invitation that is sent while its sender is being demoted does not outlive that', async () => {
  const { owner, member: admin, memberId } = await team('admin')
  const accomplice = await newPerson(world)
  const sent = await world.store.db.transaction().execute(async (tx) => {
    const row = tx.updateTable('memberships').where('publisher_id', '=', owner.publisherId)
    await row.set({ role: 'viewer' }).where('user_id', '=', memberId).execute()
    const answer = invite(admin, owner, accomplice.email, 'admin')
    await untilWaiting()
    return [answer]
  })
  assert.equal((await sent[0])?.status, 403)
  assert.deepEqual(await invitationsTo(accomplice), [])
})

test('an invitation that is sent while its sender is being removed is not sent', async () => {
  const { owner, member: admin, memberId } = await team('admin')
  const accomplice = await newPerson(world)
  await must(invite(admin, owner, accomplice.email, 'viewer'))
  const sent = await world.store.db.transaction().execute(async (tx) => {
    const row = tx.deleteFrom('memberships').where('publisher_id', '=', owner.publisherId)
    await row.where('user_id', '=', memberId).execute()
    const answer = invite(admin, owner, accomplice.email, 'admin')
    await untilWaiting()
    return [answer]
  })
  assert.equal((await sent[0])?.status, 404)
  assert.deepEqual(await invitationsTo(accomplice), [])
})

test('an admin neither replaces nor withdraws what an owner has offered above their own role', async () => {
  const { owner, member: admin } = await team('admin')
  const { body } = await must(invite(owner, owner, 'carol@example.com', 'owner'))
  assert.equal((await invite(admin, owner, 'carol@example.com', 'viewer')).status, 403)
  assert.equal((await admin.send(ofPublisher(owner, `DELETE /invitations/${body.id}`))).status, 403)
  await must(owner.send(ofPublisher(owner, `DELETE /invitations/${body.id}`)))
})

async function untilWaiting(): Promise<void> {
  await until(async () => {
    const { rows } = await sql<{ n: bigint }>`
      select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      world.store.db,
    )
    return Number(rows[0]?.n) > 0
  })
}

/** An advertiser of a new person, and how to act on it. */
async function newShop(): Promise<{ admin: Person; id: string; path: string }> {
  const admin = await newPerson(world)
  const body = { name: `Shop ${lettersOf(admin.publisherId)}`, legalName: 'Shop Ltd', domain: 'shop.example.com' }
  const { id } = (await must(admin.send('POST /api/me/advertisers', { body }))).body
  return { admin, id, path: `/api/advertisers/${id}` }
}

async function join(guest: Person): Promise<{ publisherId: string | null; advertiserId: string | null }> {
  const [invitation] = await invitationsTo(guest)
  return (await must(guest.send(`POST /api/me/invitations/${invitation?.id}/accept`))).body
}

test('an admin of an advertiser invites by mail, and whoever accepts is a member of it and of nothing else', async () => {
  const { admin, id, path } = await newShop()
  const guest = await newPerson(world)
  const body = { email: guest.email, role: 'editor' }
  await must(admin.send(`POST ${path}/invitations`, { body }))
  const { body: members } = await must(admin.send(`GET ${path}/members`))
  assert.deepEqual([members.invitations[0].email, members.invitations[0].role], [guest.email, 'editor'])
  const { items } = (await must(guest.send('GET /api/me/invitations'))).body
  assert.deepEqual([items[0].to, items[0].role], ['advertiser', 'editor'])
  assert.deepEqual(await join(guest), { publisherId: null, advertiserId: id })
  const { body: me } = await must(guest.send('GET /api/me'))
  assert.deepEqual(
    me.advertisers.map((each: { id: string; role: string }) => [each.id, each.role]),
    [[id, 'editor']],
  )
  assert.equal(me.publishers.length, 1)
  assert.equal((await guest.send(`POST ${path}/invitations`, { body })).status, 403, 'an editor invites nobody')
  assert.equal((await admin.send(`POST ${path}/invitations`, { body })).status, 422, 'they are a member already')
  const { rows: mails } =
    await sql`select 1 from mails where recipient = ${guest.email} and template = 'invitation'`.execute(world.store.db)
  assert.equal(mails.length, 1)
  const { rows } = await sql<{ action: string }>`
    select action from audit_log where publisher_id = ${id} order by seq`.execute(world.store.db)
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['advertiser.signed_up', 'advertiser.member_invited', 'advertiser.member_joined'],
  )
})

test('roles of publishers are none of an advertiser, and invitations of the one are not the other’s', async () => {
  const { admin, path } = await newShop()
  const other = await newShop()
  const guest = await newPerson(world)
  const asOwner = { body: { email: guest.email, role: 'owner' } }
  assert.equal((await admin.send(`POST ${path}/invitations`, asOwner)).status, 422)
  const asViewer = { body: { email: guest.email, role: 'viewer' } }
  const { body: invitation } = await must(admin.send(`POST ${path}/invitations`, asViewer))
  assert.equal((await other.admin.send(`DELETE ${other.path}/invitations/${invitation.id}`)).status, 404)
  assert.equal((await admin.send(ofPublisher(admin, `DELETE /invitations/${invitation.id}`))).status, 404)
  assert.equal((await must(other.admin.send(`GET ${other.path}/members`))).body.invitations.length, 0)
  // To their publisher, the same address is invited beside it.
  await must(invite(admin, admin, guest.email, 'developer'))
  assert.equal((await invitationsTo(guest)).length, 2)
  await must(admin.send(`DELETE ${path}/invitations/${invitation.id}`))
  assert.deepEqual(
    (await invitationsTo(guest)).map(({ role }) => role),
    ['developer'],
  )
})

test('what a member of an advertiser has sent goes with them, with their role, and with their account', async () => {
  const { admin, id, path } = await newShop()
  const [second, guest] = [await newPerson(world), await newPerson(world)]
  const asks = (who: Person) => who.send(`POST ${path}/invitations`, { body: { email: guest.email, role: 'viewer' } })
  await must(admin.send(`POST ${path}/invitations`, { body: { email: second.email, role: 'admin' } }))
  await join(second)
  const secondId = await userIdOf(second)
  await must(asks(second))
  await must(admin.send(`PATCH ${path}/members/${secondId}`, { body: { role: 'editor' } }))
  assert.deepEqual(await invitationsTo(guest), [], 'an editor could not send it')
  await must(admin.send(`PATCH ${path}/members/${secondId}`, { body: { role: 'admin' } }))
  await must(asks(second))
  await must(admin.send(`DELETE ${path}/members/${secondId}`))
  assert.deepEqual(await invitationsTo(guest), [], 'they are gone')
  await must(asks(admin))
  await must(admin.send('POST /api/me/delete', { body: { confirm: admin.email } }))
  assert.deepEqual(await invitationsTo(guest), [], 'and so is their account')
  const { rows } = await sql<{ withdrawn: number }>`
    select count(*)::int as withdrawn from audit_log
    where publisher_id = ${id} and action = 'advertiser.invitation_withdrawn' and subject = ${guest.email}`.execute(
    world.store.db,
  )
  assert.deepEqual(rows, [{ withdrawn: 3 }])
})
