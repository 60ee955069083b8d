import { uuidv7 } from '../../platform/uuid.ts'
import type { Secrets } from '../../platform/secrets.ts'
import type { AdvertiserRole } from '../../rules/accounts/advertisers.ts'
import type { MemberRole } from '../../rules/accounts/roles.ts'
import { DAY_MS } from '../../rules/durations.ts'
import { insertAdvertiserMember } from '../../store/accounts/advertiser-members.ts'
import {
  deleteInvitation,
  findInvitation,
  findInvitationTo,
  listInvitations,
  upsertInvitation,
  type InvitedRole,
  type Team,
} from '../../store/accounts/invitations.ts'
import { insertMembership, listMembers, lockTeam } from '../../store/accounts/members.ts'
import type { Tx } from '../../store/database.ts'
import type { Actor, Person } from '../actor.ts'
import { audit, auditAdvertiser, type Change } from '../audit.ts'
import { postMail } from '../mails.ts'
import { conflict, notThere, requireRole, wrongField } from '../refusals.ts'
import { lockRole } from './team.ts'

/** Invitations to act for a publisher, or for an advertiser. */

/** For how long one can be accepted. The mail says it, too. */
const INVITATION_MS = 7 * DAY_MS
const INVITATIONS_MAX = 100

interface Invited<Role extends InvitedRole> {
  email: string
  role: Role
  installation: { secrets: Secrets; consoleUrl: string }
}

interface NewInvitation extends Invited<InvitedRole> {
  team: Team
  name: string
  /** The addresses of those who are members already. */
  members: readonly string[]
}

/** By somebody who may: whoever calls it has made sure of that. */
export async function sendInvitation(tx: Tx, person: Person, invited: NewInvitation) {
  const { team, name, members, email, role, installation } = invited
  if (members.includes(email)) throw wrongField('email', 'This person is already a member.')
  if ((await listInvitations(tx, team)).length >= INVITATIONS_MAX)
    throw conflict('There are too many open invitations. Withdraw some first.')
  const invitation = await upsertInvitation(tx, {
    id: uuidv7(),
    team,
    email,
    role,
    invitedBy: person.name,
    inviterId: person.id,
    expiresAt: new Date(Date.now() + INVITATION_MS),
  })
  const link = `${installation.consoleUrl}/invitations`
  const data = { publisher: name, invitedBy: person.name, role, link }
  await postMail(tx, installation.secrets, { recipient: email, template: 'invitation', data })
  await log(tx, person, team, 'invited', { subject: email, details: { role } })
  return invitation
}

export async function inviteMember(
  tx: Tx,
  person: Person,
  { publisher, ...invited }: Invited<MemberRole> & { publisher: { id: string; name: string } },
) {
  const team = { publisherId: publisher.id }
  const held = await lockRole(tx, person, publisher.id)
  requireRole(held, 'admin')
  requireRole(held, invited.role)
  const earlier = await findInvitationTo(tx, team, invited.email)
  if (earlier) requireRole(held, earlier.role as MemberRole)
  const members = (await listMembers(tx)).map(({ email }) => String(email))
  return sendInvitation(tx, person, { ...invited, team, name: publisher.name, members })
}

export async function withdrawInvitation(
  tx: Tx,
  person: Person,
  { publisher, invitationId }: { publisher: { id: string }; invitationId: string },
): Promise<void> {
  const held = await lockRole(tx, person, publisher.id)
  const team = { publisherId: publisher.id }
  const invitation = await findInvitation(tx, team, invitationId)
  if (!invitation) throw notThere('invitation')
  requireRole(held, invitation.role as MemberRole)
  await takeBackInvitation(tx, person, team, invitation)
}

/** By somebody who may. */
export async function takeBackInvitation(
  tx: Tx,
  actor: Actor,
  team: Team,
  { id, email }: { id: string; email: string },
): Promise<void> {
  await deleteInvitation(tx, team, id)
  await auditWithdrawn(tx, actor, team, [email])
}

interface InvitationAtHand {
  id: string
  team: Team
  /** The address of the invited person. */
  email: string
}

export async function acceptInvitation(tx: Tx, person: Person, invitation: InvitationAtHand): Promise<void> {
  const { id, team, email } = invitation
  await lockTeam(tx, idOf(team))
  // The role offered now counts: the invitation may have been changed, or withdrawn, since it was found.
  const role = await deleteInvitation(tx, team, id)
  if (role === undefined) throw notThere('invitation')
  const hasJoined =
    'advertiserId' in team
      ? insertAdvertiserMember(tx, team.advertiserId, person.id, role as AdvertiserRole)
      : insertMembership(tx, team.publisherId, person.id, role as MemberRole)
  if (!(await hasJoined)) throw conflict('You are already a member.')
  await log(tx, person, team, 'joined', { subject: email, details: { role } })
}

export async function declineInvitation(tx: Tx, person: Person, invitation: InvitationAtHand): Promise<void> {
  const { id, team, email } = invitation
  await lockTeam(tx, idOf(team))
  if ((await deleteInvitation(tx, team, id)) === undefined) throw notThere('invitation')
  await log(tx, person, team, 'declined', { subject: email })
}

/** Nobody comes back by themselves: not through what they have sent, nor through what was sent to them. */
export async function endInvitationsOf(
  tx: Tx,
  actor: Actor,
  team: Team,
  member: { id: string; email: string },
): Promise<void> {
  const all = await listInvitations(tx, team)
  const gone = all.filter(({ inviter_id, email }) => inviter_id === member.id || email === member.email)
  for (const invitation of gone) await takeBackInvitation(tx, actor, team, invitation)
}

/** Each has an entry, also when it goes with its sender. */
export async function auditWithdrawn(tx: Tx, actor: Actor, team: Team, emails: readonly string[]) {
  for (const email of emails) await log(tx, actor, team, 'withdrawn', { subject: email })
}

const PUBLISHER_ACTIONS = {
  invited: 'member.invited',
  joined: 'member.joined',
  declined: 'invitation.declined',
  withdrawn: 'invitation.withdrawn',
}
const ADVERTISER_ACTIONS = {
  invited: 'advertiser.member_invited',
  joined: 'advertiser.member_joined',
  declined: 'advertiser.invitation_declined',
  withdrawn: 'advertiser.invitation_withdrawn',
}

function log(tx: Tx, actor: Actor, team: Team, event: keyof typeof PUBLISHER_ACTIONS, change: Change): Promise<void> {
  return 'advertiserId' in team
    ? auditAdvertiser(tx, actor, team.advertiserId, ADVERTISER_ACTIONS[event], change)
    : audit(tx, actor, team, PUBLISHER_ACTIONS[event], change)
}

function idOf(team: Team): string {
  return 'advertiserId' in team ? team.advertiserId : team.publisherId
}
