import type { Reply } from '../../api.ts'
import type { Role } from '../../page.ts'

type TeamOfPublisher = Reply<'GET /api/publishers/:publisher/team'>
type TeamOfAdvertiser = Reply<'GET /api/advertisers/:advertiser/members'>
export type Member = TeamOfPublisher['members'][number] | TeamOfAdvertiser['members'][number]
export type Invitation = TeamOfPublisher['invitations'][number] | TeamOfAdvertiser['invitations'][number]
export type AdvertiserRole = TeamOfAdvertiser['members'][number]['role']

/** The members of a publisher or an advertiser, and what the signed-in person may change about them. */
export interface Team<R extends Role | AdvertiserRole> {
  name: string
  mayChange: boolean
  /** Roles that the person may give, in the order of a menu. */
  roles: R[]
  /** The same in the order of a form, with what they may do. */
  roleOptions: { value: R; label: string }[]
  /** The role that is chosen at first in an invitation. */
  defaultRole: R
  words: { inviteTitle: string; leaveTitle: string; onLeaving: string; onRemoving: string }
  setRole(member: string, role: R): Promise<unknown>
  remove(member: string): Promise<unknown>
  leave(): Promise<unknown>
  invite(invited: { email: string; role: R }): Promise<unknown>
  withdraw(invitation: string): Promise<unknown>
}
