import { useQueryClient } from '@tanstack/react-query'
import { Ellipsis, LogOut, UserMinus } from 'lucide-react'
import { useState } from 'react'
import { api, type Reply } from '../../api.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { Menu, MenuDivider, MenuItem, MenuLabel } from '../../components/menu.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { ADVERTISER_ROLES, useAdvertiser, type AdvertiserOfMine } from '../../session.ts'

export type Member = Reply<'GET /api/advertisers/:advertiser/members'>['items'][number]

const READ_AGAIN = 'GET /api/advertisers/:advertiser/members'

export function MemberMenu({ member, mayChange }: { member: Member; mayChange: boolean }) {
  const { id: advertiser } = useAdvertiser()
  const [isLeaving, setLeaving] = useState(false)
  const change = useChange('PATCH /api/advertisers/:advertiser/members/:member', [READ_AGAIN, 'GET /api/me'])
  if (!mayChange && !member.isYou) return null
  function setRole(role: AdvertiserOfMine['role']): void {
    const onSuccess = () => toast(`${member.name} is now ${role}.`)
    change.mutate({ params: { advertiser, member: member.id }, body: { role } }, { onSuccess, onError: toastError })
  }
  return (
    <>
      <Menu trigger={<IconButton label={`Actions for ${member.name}`} icon={<Ellipsis aria-hidden />} />}>
        {mayChange && <MenuLabel>Role</MenuLabel>}
        {mayChange &&
          ADVERTISER_ROLES.map((role) => (
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
      <FarewellDialog isOpen={isLeaving} onClose={() => setLeaving(false)} member={member} />
    </>
  )
}

function FarewellDialog({ isOpen, onClose, member }: { isOpen: boolean; onClose(): void; member: Member }) {
  const { id: advertiser, name } = useAdvertiser()
  const client = useQueryClient()
  async function farewell(): Promise<void> {
    if (member.isYou) {
      await api('POST /api/advertisers/:advertiser/leave', { params: { advertiser } })
      // Everything that is on the screen belongs to the advertiser, so the console begins anew.
      window.location.assign('/')
      return
    }
    await api('DELETE /api/advertisers/:advertiser/members/:member', { params: { advertiser, member: member.id } })
    await client.invalidateQueries({ queryKey: [READ_AGAIN] })
    toast(`${member.name} is removed.`)
  }
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={member.isYou ? `Leave ${name}?` : `Remove ${member.name}?`}
      verb={member.isYou ? 'Leave' : 'Remove'}
      onConfirm={farewell}
    >
      {member.isYou
        ? 'You lose access to its campaigns and its wallet immediately.'
        : 'They lose access immediately. Campaigns that they made go on.'}
    </ConfirmDialog>
  )
}
