import { Ellipsis, LogOut, UserMinus } from 'lucide-react'
import { useState } from 'react'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { Menu, MenuDivider, MenuItem, MenuLabel } from '../../components/menu.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import type { Role } from '../../page.ts'
import type { AdvertiserRole, Member, Team } from './team.ts'

export function MemberMenu<R extends Role | AdvertiserRole>({ member, team }: { member: Member; team: Team<R> }) {
  const [isLeaving, setLeaving] = useState(false)
  const { mayChange } = team
  if (!mayChange && !member.isYou) return null

  function setRole(role: R): void {
    team.setRole(member.id, role).then(() => toast(`${member.name} is now ${role}.`), toastError)
  }
  return (
    <>
      <Menu trigger={<IconButton label={`Actions for ${member.name}`} icon={<Ellipsis aria-hidden />} />}>
        {mayChange && <MenuLabel>Role</MenuLabel>}
        {mayChange &&
          team.roles.map((role) => (
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
      <FarewellDialog isOpen={isLeaving} onClose={() => setLeaving(false)} member={member} team={team} />
    </>
  )
}

interface FarewellProps {
  isOpen: boolean
  onClose(): void
  member: Member
  team: Pick<Team<Role>, 'words' | 'leave' | 'remove'>
}

function FarewellDialog({ isOpen, onClose, member, team }: FarewellProps) {
  async function farewell(): Promise<void> {
    if (member.isYou) {
      await team.leave()
      // Everything that is on the screen belongs to the team, so the console begins anew.
      window.location.assign('/')
      return
    }
    await team.remove(member.id)
    toast(`${member.name} is removed.`)
  }
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={member.isYou ? team.words.leaveTitle : `Remove ${member.name}?`}
      verb={member.isYou ? 'Leave' : 'Remove'}
      onConfirm={farewell}
    >
      {member.isYou ? team.words.onLeaving : team.words.onRemoving}
    </ConfirmDialog>
  )
}
