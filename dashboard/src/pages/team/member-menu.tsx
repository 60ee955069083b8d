import { useQueryClient } from '@tanstack/react-query'
import { Ellipsis, LogOut, UserMinus } from 'lucide-react'
import { useState } from 'react'
import { api } from '../../api.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { Menu, MenuDivider, MenuItem, MenuLabel } from '../../components/menu.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { ROLES, type Role } from '../../page.ts'
import { useChange } from '../../queries.ts'
import { usePublisher } from '../../session.ts'
import type { Member } from './team.ts'

export interface MemberMenuProps {
  member: Member
  publisher: string
  mayChange: boolean
}

export function MemberMenu({ member, publisher, mayChange }: MemberMenuProps) {
  const [isLeaving, setLeaving] = useState(false)
  const { may } = usePublisher()
  const change = useChange('PATCH /api/publishers/:publisher/members/:member', ['GET /api/publishers/:publisher/team'])
  const roles = ROLES.filter((role) => role !== 'owner' || may('owner'))
  if (!mayChange && !member.isYou) return null

  function setRole(role: Role): void {
    const onSuccess = () => toast(`${member.name} is now ${role}.`)
    change.mutate({ params: { publisher, member: member.id }, body: { role } }, { onSuccess, onError: toastError })
  }
  return (
    <>
      <Menu trigger={<IconButton label={`Actions for ${member.name}`} icon={<Ellipsis aria-hidden />} />}>
        {mayChange && <MenuLabel>Role</MenuLabel>}
        {mayChange &&
          roles.map((role) => (
            <MenuItem key={role} isChecked={role === member.role} onSelect={() => setRole(role)}>
              {role}
            </MenuItem>
          ))}
        {mayChange && <MenuDivider />}
        <MenuItem
          tone="bad"
          icon={member.isYou ? <LogOut aria-hidden /> : <UserMinus aria-hidden />}
          onSelect={() => setLeaving(true)}
        >
          {member.isYou ? 'Leave' : 'Remove'}
        </MenuItem>
      </Menu>
      <FarewellDialog isOpen={isLeaving} onClose={() => setLeaving(false)} member={member} publisher={publisher} />
    </>
  )
}

interface FarewellProps {
  isOpen: boolean
  onClose(): void
  member: Member
  publisher: string
}

function FarewellDialog({ isOpen, onClose, member, publisher }: FarewellProps) {
  const client = useQueryClient()
  async function farewell(): Promise<void> {
    if (member.isYou) {
      await api('POST /api/publishers/:publisher/leave', { params: { publisher } })
      // Everything that is on the screen belongs to the publisher, so the console begins anew.
      window.location.assign('/')
      return
    }
    await api('DELETE /api/publishers/:publisher/members/:member', { params: { publisher, member: member.id } })
    await client.invalidateQueries({ queryKey: ['GET /api/publishers/:publisher/team'] })
    toast(`${member.name} is removed.`)
  }
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={member.isYou ? 'Leave this publisher?' : `Remove ${member.name}?`}
      verb={member.isYou ? 'Leave' : 'Remove'}
      onConfirm={farewell}
    >
      {member.isYou
        ? 'You lose access to its projects immediately, and need a new invitation to come back.'
        : 'They lose access to all projects immediately, and invitations they sent are withdrawn. Keys they created keep working.'}
    </ConfirmDialog>
  )
}
