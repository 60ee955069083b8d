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
