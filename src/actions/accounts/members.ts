import { uuidv7 } from '../../platform/uuid.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { DAY_MS } from '../../rules/durations.ts'
import { invitableRoles, type MemberRole } from '../../rules/accounts/roles.ts'
import {
  deleteInvitation,
  deleteInvitationsBy,
  findInvitation,
  findInvitationTo,
  listInvitations,
  upsertInvitation,
} from '../../store/accounts/invitations.ts'
import {
  deleteMembership,
  findMember,
  holdRole,
  insertMembership,
  listMembers,
  lockOwners,
  setMemberRole,
} from '../../store/accounts/members.ts'
import type { Tx } from '../../store/database.ts'
import type { Person } from '../actor.ts'
import { audit } from '../audit.ts'
import { postMail } from '../mails.ts'
import { conflict, notThere, requireRole, wrongField } from '../refusals.ts'

/** Who may act for a publisher, and who is invited to. */

const INVITATION_MS = 7 * DAY_MS
const INVITATIONS_MAX = 100

interface PublisherAtHand {
  id: string
  name: string
  /** Of the person who acts. */
  role: MemberRole
}

interface NewInvitation {
  publisher: Pick<PublisherAtHand, 'id' | 'name'>
  email: string
  role: MemberRole
  installation: { secrets: Secrets; consoleUrl: string }
}

export async function inviteMember(tx: Tx, person: Person, { publisher, email, role, installation }: NewInvitation) {
  // As it is now and until this is committed: an invitation must not outlive the right to send it.
  const held = await holdRole(tx, publisher.id, person.id)
  if (held === undefined) throw notThere('publisher')
  requireRole(held, 'admin')
  requireRole(held, role)
  const earlier = await findInvitationTo(tx, publisher.id, email)
  if (earlier) requireRole(held, earlier.role as MemberRole)
  if ((await listMembers(tx)).some((member) => member.email === email))
    throw wrongField('email', 'This person is a member already.')
  if ((await listInvitations(tx, publisher.id)).length >= INVITATIONS_MAX)
    throw conflict('There are too many open invitations. Withdraw some first.')
  const invitation = await upsertInvitation(tx, {
    id: uuidv7(),
    publisherId: publisher.id,
    email,
    role,
    invitedBy: person.name,
    inviterId: person.id,
    expiresAt: new Date(Date.now() + INVITATION_MS),
  })
  const link = `${installation.consoleUrl}/invitations`
  const data = { publisher: publisher.name, invitedBy: person.name, role, link }
  await postMail(tx, installation.secrets, { recipient: email, template: 'invitation', data })
  await audit(tx, person, { publisherId: publisher.id }, 'member.invited', { subject: email, details: { role } })
  return invitation
}

export async function withdrawInvitation(
  tx: Tx,
  person: Person,
  { publisher, invitationId }: { publisher: PublisherAtHand; invitationId: string },
): Promise<void> {
  const invitation = await findInvitation(tx, publisher.id, invitationId)
  if (!invitation) throw notThere('invitation')
  requireRole(publisher.role, invitation.role as MemberRole)
  await deleteInvitation(tx, publisher.id, invitation.id)
  await auditWithdrawn(tx, person, publisher, [invitation.email])
}

interface InvitationAtHand {
  id: string
  publisherId: string
  /** Of whoever is invited. */
  email: string
}

export async function acceptInvitation(tx: Tx, person: Person, invitation: InvitationAtHand): Promise<void> {
  const { id, publisherId, email } = invitation
  // What it offers now: it may have been changed, or withdrawn, since it was found.
  const role = await deleteInvitation(tx, publisherId, id)
  if (role === undefined) throw notThere('invitation')
  await insertMembership(tx, publisherId, person.id, role)
  await audit(tx, person, { publisherId }, 'member.joined', { subject: email, details: { role } })
}

export async function declineInvitation(tx: Tx, person: Person, invitation: InvitationAtHand): Promise<void> {
  const { id, publisherId, email } = invitation
  await deleteInvitation(tx, publisherId, id)
  await audit(tx, person, { publisherId }, 'invitation.declined', { subject: email })
}

export async function changeMemberRole(
  tx: Tx,
  person: Person,
  { publisher, memberId, role }: { publisher: PublisherAtHand; memberId: string; role: MemberRole },
): Promise<void> {
  const member = await memberOf(tx, memberId)
  // Nobody gives away more than they have, nor takes it from who has more.
  requireRole(publisher.role, role)
  requireRole(publisher.role, member.role)
  if (role !== 'owner') await expectAnotherOwner(tx, publisher.id, member.id)
  await setMemberRole(tx, publisher.id, member.id, role)
  // After it: one that is being sent now is seen here, or finds that the role is another one.
  const withdrawn = await deleteInvitationsBy(tx, publisher.id, member.id, invitableRoles(role))
  await auditWithdrawn(tx, person, publisher, withdrawn)
  const change = { subject: member.email, details: { before: member.role, after: role } }
  await audit(tx, person, { publisherId: publisher.id }, 'member.role_changed', change)
}

export async function removeMember(
  tx: Tx,
  person: Person,
  { publisher, memberId }: { publisher: PublisherAtHand; memberId: string },
): Promise<void> {
  const member = await memberOf(tx, memberId)
  requireRole(publisher.role, member.role)
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
  await expectAnotherOwner(tx, publisher.id, person.id)
  await audit(tx, person, { publisherId: publisher.id }, 'member.left', { subject: email })
  await endMembership(tx, person, { publisher, member: { id: person.id, email } })
}

/** Nobody comes back by themselves: not through what they have sent, nor through what was sent to them. */
async function endMembership(
  tx: Tx,
  person: Person,
  { publisher, member }: { publisher: { id: string }; member: { id: string; email: string } },
): Promise<void> {
  const sent = (await listInvitations(tx, publisher.id)).filter(({ inviter_id }) => inviter_id === member.id)
  // First, and what they have sent goes with it: one that is being sent now holds the membership, and waits for nothing.
  await deleteMembership(tx, publisher.id, member.id)
  const toThem = await findInvitationTo(tx, publisher.id, member.email)
  if (toThem) await deleteInvitation(tx, publisher.id, toThem.id)
  await auditWithdrawn(
    tx,
    person,
    publisher,
    sent.map(({ email }) => email),
  )
}

async function auditWithdrawn(tx: Tx, person: Person, publisher: { id: string }, emails: readonly string[]) {
  for (const email of emails)
    await audit(tx, person, { publisherId: publisher.id }, 'invitation.withdrawn', { subject: email })
}

async function memberOf(tx: Tx, id: string): Promise<{ id: string; email: string; role: MemberRole }> {
  const member = await findMember(tx, id)
  if (!member) throw notThere('member')
  return { id, email: String(member.email), role: member.role as MemberRole }
}

/** An account without an owner could never be managed again. */
async function expectAnotherOwner(tx: Tx, publisherId: string, userId: string): Promise<void> {
  // Not by the role that was read before: it may have become another while this waited.
  const owners = await lockOwners(tx, publisherId)
  if (owners.length > 1 || !owners.includes(userId)) return
  throw conflict('This is the last owner. Make somebody else an owner first.')
}
