import { ROLES, type Role } from '../../page.ts'
import { useChange } from '../../queries.ts'
import { usePublisher } from '../../session.ts'
import type { Team } from './team.ts'

const READ_AGAIN = ['GET /api/publishers/:publisher/team' as const]

const ROLE_OPTIONS: { value: Role; label: string }[] = [
  { value: 'viewer', label: 'Viewer: sees everything, changes nothing' },
  { value: 'developer', label: 'Developer: keys, playground' },
  { value: 'admin', label: 'Admin: also team, wallet and settings' },
  { value: 'owner', label: 'Owner: also deletes things and manages owners' },
]

export function usePublisherTeam(): Team<Role> {
  const { id: publisher, name, may } = usePublisher()
  const change = useChange('PATCH /api/publishers/:publisher/members/:member', READ_AGAIN)
  const remove = useChange('DELETE /api/publishers/:publisher/members/:member', READ_AGAIN)
  const leave = useChange('POST /api/publishers/:publisher/leave')
  const invite = useChange('POST /api/publishers/:publisher/invitations', READ_AGAIN)
  const withdraw = useChange('DELETE /api/publishers/:publisher/invitations/:invitation', READ_AGAIN)
  const isOffered = (role: Role) => role !== 'owner' || may('owner')
  return {
    name,
    mayChange: may('admin'),
    roles: ROLES.filter(isOffered),
    roleOptions: ROLE_OPTIONS.filter(({ value }) => isOffered(value)),
    defaultRole: 'developer',
    words: {
      inviteTitle: 'Invite to the team',
      leaveTitle: 'Leave this publisher?',
      onLeaving: 'You lose access to its projects immediately, and need a new invitation to come back.',
      onRemoving:
        'They lose access to all projects immediately, and invitations they sent are withdrawn. Keys they created keep working.',
    },
    setRole: (member, role) => change.mutateAsync({ params: { publisher, member }, body: { role } }),
    remove: (member) => remove.mutateAsync({ params: { publisher, member } }),
    leave: () => leave.mutateAsync({ params: { publisher } }),
    invite: (body) => invite.mutateAsync({ params: { publisher }, body }),
    withdraw: (invitation) => withdraw.mutateAsync({ params: { publisher, invitation } }),
  }
}
