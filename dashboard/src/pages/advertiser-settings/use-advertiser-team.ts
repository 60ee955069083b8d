import { useChange } from '../../queries.ts'
import { ADVERTISER_ROLES, useAdvertiser } from '../../session.ts'
import type { AdvertiserRole, Team } from '../team/team.ts'

const READ_AGAIN = ['GET /api/advertisers/:advertiser/members' as const]

const ROLE_OPTIONS: { value: AdvertiserRole; label: string }[] = [
  { value: 'viewer', label: 'Viewer: sees everything, changes nothing' },
  { value: 'editor', label: 'Editor: also campaigns and the domain' },
  { value: 'admin', label: 'Admin: also payments and members' },
]

export function useAdvertiserTeam(): Team<AdvertiserRole> {
  const { id: advertiser, name, may } = useAdvertiser()
  // One's own role is in the session, too.
  const change = useChange('PATCH /api/advertisers/:advertiser/members/:member', [...READ_AGAIN, 'GET /api/me'])
  const remove = useChange('DELETE /api/advertisers/:advertiser/members/:member', READ_AGAIN)
  const leave = useChange('POST /api/advertisers/:advertiser/leave')
  const invite = useChange('POST /api/advertisers/:advertiser/invitations', READ_AGAIN)
  const withdraw = useChange('DELETE /api/advertisers/:advertiser/invitations/:invitation', READ_AGAIN)
  return {
    name,
    mayChange: may('admin'),
    roles: ADVERTISER_ROLES,
    roleOptions: ROLE_OPTIONS,
    defaultRole: 'editor',
    words: {
      inviteTitle: 'Invite a member',
      leaveTitle: `Leave ${name}?`,
      onLeaving: 'You lose access to its campaigns and its wallet immediately, and need a new invitation to come back.',
      onRemoving:
        'They lose access immediately, and invitations they sent are withdrawn. Campaigns they created continue.',
    },
    setRole: (member, role) => change.mutateAsync({ params: { advertiser, member }, body: { role } }),
    remove: (member) => remove.mutateAsync({ params: { advertiser, member } }),
    leave: () => leave.mutateAsync({ params: { advertiser } }),
    invite: (body) => invite.mutateAsync({ params: { advertiser }, body }),
    withdraw: (invitation) => withdraw.mutateAsync({ params: { advertiser, invitation } }),
  }
}
