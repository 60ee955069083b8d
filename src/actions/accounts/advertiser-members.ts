import type { Secrets } from '../../platform/secrets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import { ADVERTISERS_PER_PERSON, type AdvertiserRole } from '../../rules/accounts/advertisers.ts'
import * as store from '../../store/accounts/advertiser-members.ts'
import { deleteInvitationsBy, findInvitation } from '../../store/accounts/invitations.ts'
import { lockTeam } from '../../store/accounts/members.ts'
import type { Tx } from '../../store/database.ts'
import { forgetAdvertiser, insertPendingAdvertiser, isNameTaken } from '../../store/offers/advertisers.ts'
import type { Actor, Person } from '../actor.ts'
import { auditAdvertiser } from '../audit.ts'
import { conflict, notThere, requireAdvertiserRole, wrongField } from '../refusals.ts'
import { auditWithdrawn, endInvitationsOf, sendInvitation, takeBackInvitation } from './invitations.ts'

/** The people who may act for an advertiser. */

interface SignUp {
  name: string
  legalName: string
  domain: string
}

/** Pending until an operator activates it. Returns its id. Needs the lock of the user, so that nobody has one too many. */
export async function signUpAdvertiser(tx: Tx, person: Person, { name, legalName, domain }: SignUp): Promise<string> {
  if ((await store.listAdvertiserMemberships(tx, person.id)).length >= ADVERTISERS_PER_PERSON)
    throw conflict(`A person can act for ${ADVERTISERS_PER_PERSON} advertisers at most.`)
  if (await isNameTaken(tx, name)) throw wrongField('name', 'There is already an advertiser with this name.')
  const id = uuidv7()
  await insertPendingAdvertiser(tx, { id, name, legalName, domain })
  await store.insertAdvertiserMember(tx, id, person.id, 'admin')
  await auditAdvertiser(tx, person, id, 'advertiser.signed_up', { subject: name, details: { legalName, domain } })
  return id
}

interface MemberInput {
  advertiser: { id: string; name: string }
  member: { id: string; email: string }
}

/** By an operator, without an invitation. */
export async function addAdvertiserMember(
  tx: Tx,
  actor: Actor,
  { advertiser, member, role }: MemberInput & { role: AdvertiserRole },
): Promise<void> {
  await lockTeam(tx, advertiser.id)
  if (!(await store.insertAdvertiserMember(tx, advertiser.id, member.id, role)))
    throw conflict(`${member.email} is already a member of ${advertiser.name}.`)
  const details = { advertiser: advertiser.name, role }
  await auditAdvertiser(tx, actor, advertiser.id, 'advertiser.member_added', { subject: member.email, details })
}

/** By an operator, who may also take the last admin out: they can put another one there. */
export async function dropAdvertiserMember(tx: Tx, actor: Actor, { advertiser, member }: MemberInput): Promise<void> {
  await lockTeam(tx, advertiser.id)
  await endInvitationsOf(tx, actor, { advertiserId: advertiser.id }, member)
  if (!(await store.deleteAdvertiserMember(tx, advertiser.id, member.id))) throw notThere('member')
  const change = { subject: member.email, details: { advertiser: advertiser.name } }
  await auditAdvertiser(tx, actor, advertiser.id, 'advertiser.member_removed', change)
}

/** Returns the role of the person who changes the members of an advertiser. They keep it until the transaction ends. */
async function lockRole(tx: Tx, person: Person, advertiserId: string): Promise<AdvertiserRole> {
  await lockTeam(tx, advertiserId)
  const role = await store.holdAdvertiserRole(tx, advertiserId, person.id)
  if (role === undefined) throw notThere('advertiser')
  return role
}

interface Invited {
  advertiser: { id: string; name: string }
  email: string
  role: AdvertiserRole
  installation: { secrets: Secrets; consoleUrl: string }
}

export async function inviteAdvertiserMember(tx: Tx, person: Person, { advertiser, ...invited }: Invited) {
  requireAdvertiserRole(await lockRole(tx, person, advertiser.id), 'admin')
  const team = { advertiserId: advertiser.id }
  const members = (await store.listAdvertiserPeople(tx)).map(({ email }) => String(email))
  return sendInvitation(tx, person, { ...invited, team, name: advertiser.name, members })
}

export async function withdrawAdvertiserInvitation(
  tx: Tx,
  person: Person,
  { advertiser, invitationId }: { advertiser: { id: string }; invitationId: string },
): Promise<void> {
  requireAdvertiserRole(await lockRole(tx, person, advertiser.id), 'admin')
  const team = { advertiserId: advertiser.id }
  const invitation = await findInvitation(tx, team, invitationId)
  if (!invitation) throw notThere('invitation')
  await takeBackInvitation(tx, person, team, invitation)
}

interface ByMember {
  advertiser: { id: string }
  memberId: string
}

export async function changeAdvertiserRole(
  tx: Tx,
  person: Person,
  { advertiser, memberId, role }: ByMember & { role: AdvertiserRole },
): Promise<void> {
  requireAdvertiserRole(await lockRole(tx, person, advertiser.id), 'admin')
  const member = await memberOf(tx, memberId)
  if (role !== 'admin') await expectAnotherAdmin(tx, advertiser.id, memberId)
  await store.setAdvertiserRole(tx, advertiser.id, memberId, role)
  const team = { advertiserId: advertiser.id }
  if (role !== 'admin') await auditWithdrawn(tx, person, team, await deleteInvitationsBy(tx, team, memberId, []))
  const change = { subject: member.email, details: { before: member.role, after: role } }
  await auditAdvertiser(tx, person, advertiser.id, 'advertiser.member_role_changed', change)
}

/** Another's membership, by an admin, or one's own. */
export async function removeAdvertiserMember(
  tx: Tx,
  person: Person,
  { advertiser, memberId }: ByMember,
): Promise<void> {
  const held = await lockRole(tx, person, advertiser.id)
  if (memberId !== person.id) requireAdvertiserRole(held, 'admin')
  const member = await memberOf(tx, memberId)
  await expectAnotherAdmin(tx, advertiser.id, memberId)
  const action = memberId === person.id ? 'advertiser.member_left' : 'advertiser.member_removed'
  await auditAdvertiser(tx, person, advertiser.id, action, { subject: member.email, details: { role: member.role } })
  await endInvitationsOf(tx, person, { advertiserId: advertiser.id }, { id: memberId, email: member.email })
  await store.deleteAdvertiserMember(tx, advertiser.id, memberId)
}

async function memberOf(tx: Tx, id: string): Promise<{ email: string; role: string }> {
  const member = await store.findAdvertiserPerson(tx, id)
  if (!member) throw notThere('member')
  return { email: String(member.email), role: String(member.role) }
}

/** Without an admin nobody could pay or invite any more. */
async function expectAnotherAdmin(tx: Tx, advertiserId: string, userId: string): Promise<void> {
  const admins = await store.listAdvertiserAdmins(tx, advertiserId)
  if (admins.length > 1 || !admins.includes(userId)) return
  throw conflict('This is the last admin. Make someone else an admin first.')
}

/**
 * A person who goes for good leaves every advertiser; what is theirs stays, and an operator can add somebody else. Of one that was
 * nothing but a name nothing stays: else who signs up and goes again could keep the names of others.
 */
export async function leaveAdvertisers(tx: Tx, person: Person, { email }: { email: string }): Promise<void> {
  for (const { id, role } of await store.listAdvertiserMemberships(tx, person.id)) {
    await lockTeam(tx, id)
    await auditAdvertiser(tx, person, id, 'advertiser.member_left', { subject: email, details: { role } })
    await endInvitationsOf(tx, person, { advertiserId: id }, { id: person.id, email })
    await store.deleteAdvertiserMember(tx, id, person.id)
    await forgetAdvertiser(tx, id)
  }
}
