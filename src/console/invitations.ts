import { HOUR_MS } from '../rules/durations.ts'
import { throttle } from './throttle.ts'
import type { World } from './world.ts'

/** Shared parts of inviting to a publisher's team and to an advertiser's. */

const INVITATIONS_PER_HOUR = 30
/** From one team: who invites somebody in vain takes away nobody else's invitations. */
const INVITATIONS_TO_ONE_PER_HOUR = 5
/** From all teams: the address may be of somebody who wants none. */
const INVITATIONS_FROM_ALL_PER_HOUR = 20

export async function throttleInvitations({ db }: World, team: { id: string }, email: string): Promise<void> {
  const own = [
    { subject: `invitations/${team.id}`, most: INVITATIONS_PER_HOUR },
    { subject: `invited/${email}/${team.id}`, most: INVITATIONS_TO_ONE_PER_HOUR },
  ]
  await throttle(db, own, HOUR_MS)
  // Invitations refused above are not counted here.
  await throttle(db, [{ subject: `invited/${email}`, most: INVITATIONS_FROM_ALL_PER_HOUR }], HOUR_MS)
}

interface InvitationRow {
  id: string
  email: string
  invited_by: string
  created_at: Date
  expires_at: Date
}

export function invitationOf<Role extends string>(row: InvitationRow, role: Role) {
  const { id, email, invited_by: invitedBy, created_at: createdAt, expires_at: expiresAt } = row
  return { id, email, role, invitedBy, createdAt, expiresAt }
}
