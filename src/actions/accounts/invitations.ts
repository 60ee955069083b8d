import { uuidv7 } from '../../platform/uuid.ts'
import type { Secrets } from '../../platform/secrets.ts'
import type { MemberRole } from '../../rules/accounts/roles.ts'
import { DAY_MS } from '../../rules/durations.ts'
import {
  deleteInvitation,
  findInvitation,
  findInvitationTo,
  listInvitations,
  upsertInvitation,
} from '../../store/accounts/invitations.ts'
import { insertMembership, listMembers, lockTeam } from '../../store/accounts/members.ts'
import type { Tx } from '../../store/database.ts'
import type { Person } from '../actor.ts'
import { audit } from '../audit.ts'
import { postMail } from '../mails.ts'
import { conflict, notThere, requireRole, wrongField } from '../refusals.ts'
import { lockRole } from './team.ts'

/** Who is invited to act for a publisher. */

/** For how long one can be accepted. The mail says it, too. */
const INVITATION_MS = 7 * DAY_MS
const INVITATIONS_MAX = 100

interface NewInvitation {
  publisher: { id: string; name: string }
  email: string
  role: MemberRole
  installation: { secrets: Secrets; consoleUrl: string }
}

export async function inviteMember(tx: Tx, person: Person, { publisher, email, role, installation }: NewInvitation) {
  const held = await lockRole(tx, person, publisher.id)
  requireRole(held, 'admin')
  requireRole(held, role)
  const earlier = await findInvitationTo(tx, publisher.id, email)
  if (earlier) requireRole(held, earlier.role as MemberRole)
  if ((await listMembers(tx)).some((member) => member.email === email))
    throw wrongField('email', 'This person is already a member.')
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
  { publisher, invitationId }: { publisher: { id: string }; invitationId: string },
): Promise<void> {
  const held = await lockRole(tx, person, publisher.id)
  const invitation = await findInvitation(tx, publisher.id, invitationId)
  if (!invitation) throw notThere('invitation')
  requireRole(held, invitation.role as MemberRole)
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
  await lockTeam(tx, publisherId)
  // What it offers now: it may have been changed, or withdrawn, since it was found.
  const role = await deleteInvitation(tx, publisherId, id)
  if (role === undefined) throw notThere('invitation')
  if (!(await insertMembership(tx, publisherId, person.id, role))) throw conflict('You are already a member.')
  await audit(tx, person, { publisherId }, 'member.joined', { subject: email, details: { role } })
}

export async function declineInvitation(tx: Tx, person: Person, invitation: InvitationAtHand): Promise<void> {
  const { id, publisherId, email } = invitation
  await lockTeam(tx, publisherId)
  if ((await deleteInvitation(tx, publisherId, id)) === undefined) throw notThere('invitation')
  await audit(tx, person, { publisherId }, 'invitation.declined', { subject: email })
}

/** Each has an entry, also when it goes with its sender. */
export async function auditWithdrawn(tx: Tx, person: Person, publisher: { id: string }, emails: readonly string[]) {
  for (const email of emails)
    await audit(tx, person, { publisherId: publisher.id }, 'invitation.withdrawn', { subject: email })
}
