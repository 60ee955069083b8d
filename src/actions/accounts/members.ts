import { invitableRoles, type MemberRole } from '../../rules/accounts/roles.ts'
import { deleteInvitationsBy } from '../../store/accounts/invitations.ts'
import { deleteMembership, findMember, listOwners, setMemberRole } from '../../store/accounts/members.ts'
import type { Tx } from '../../store/database.ts'
import type { Person } from '../actor.ts'
import { audit } from '../audit.ts'
import { conflict, notThere, requireRole } from '../refusals.ts'
import { auditWithdrawn, endInvitationsOf } from './invitations.ts'
import { lockRole } from './team.ts'

/** The people who may act for a publisher. */

interface MemberInput {
  publisher: { id: string }
  memberId: string
}

export async function changeMemberRole(
  tx: Tx,
  person: Person,
  { publisher, memberId, role }: MemberInput & { role: MemberRole },
): Promise<void> {
  const held = await lockRole(tx, person, publisher.id)
  const member = await memberOf(tx, memberId)
  // Nobody gives away more than they have, nor takes it from who has more.
  requireRole(held, role)
  requireRole(held, member.role)
  if (role !== 'owner') await expectAnotherOwner(tx, publisher.id, member.id)
  await setMemberRole(tx, publisher.id, member.id, role)
  const team = { publisherId: publisher.id }
  await auditWithdrawn(tx, person, team, await deleteInvitationsBy(tx, team, member.id, invitableRoles(role)))
  const change = { subject: member.email, details: { before: member.role, after: role } }
  await audit(tx, person, { publisherId: publisher.id }, 'member.role_changed', change)
}

export async function removeMember(tx: Tx, person: Person, { publisher, memberId }: MemberInput): Promise<void> {
  const held = await lockRole(tx, person, publisher.id)
  const member = await memberOf(tx, memberId)
  requireRole(held, member.role)
  await expectAnotherOwner(tx, publisher.id, member.id)
  await endMembership(tx, person, { publisher, member })
  const change = { subject: member.email, details: { role: member.role } }
  await audit(tx, person, { publisherId: publisher.id }, 'member.removed', change)
}

/** One's own membership. */
export async function leavePublisher(
  tx: Tx,
  person: Person,
  { publisher, email }: { publisher: { id: string }; email: string },
): Promise<void> {
  await lockRole(tx, person, publisher.id)
  await expectAnotherOwner(tx, publisher.id, person.id)
  await audit(tx, person, { publisherId: publisher.id }, 'member.left', { subject: email })
  await endMembership(tx, person, { publisher, member: { id: person.id, email } })
}

async function endMembership(
  tx: Tx,
  person: Person,
  { publisher, member }: { publisher: { id: string }; member: { id: string; email: string } },
): Promise<void> {
  await endInvitationsOf(tx, person, { publisherId: publisher.id }, member)
  await deleteMembership(tx, publisher.id, member.id)
}

async function memberOf(tx: Tx, id: string): Promise<{ id: string; email: string; role: MemberRole }> {
  const member = await findMember(tx, id)
  if (!member) throw notThere('member')
  return { id, email: String(member.email), role: member.role as MemberRole }
}

/** An account without an owner could never be managed again. */
async function expectAnotherOwner(tx: Tx, publisherId: string, userId: string): Promise<void> {
  const owners = await listOwners(tx, publisherId)
  if (owners.length > 1 || !owners.includes(userId)) return
  throw conflict('This is the last owner. Make someone else an owner first.')
}
