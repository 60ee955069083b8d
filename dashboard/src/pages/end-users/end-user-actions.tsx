import { Ellipsis, Gauge, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { Menu, MenuDivider, MenuItem } from '../../components/menu.tsx'
import { toast } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import type { NewLimits } from '../limits/limit-fields.ts'
import type { LimitValues } from '../limits/limit-lines.ts'
import { LimitsDialog } from '../limits/limits-dialog.tsx'
import { nameOf, type EndUser } from './end-user.ts'

export interface EndUserActionsProps {
  user: EndUser
  everyone: LimitValues | undefined
  onChanged(): void
}

export function EndUserActions({ user, everyone, onChanged }: EndUserActionsProps) {
  const project = useProject()
  const [asked, setAsked] = useState<'limits' | 'erase'>()
  const limit = useChange('PUT /api/projects/:project/end-users/:endUser/limits', [
    'GET /api/projects/:project/end-users',
  ])
  const erase = useChange('DELETE /api/projects/:project/end-users/:endUser', ['GET /api/projects/:project/end-users'])
  const params = { project: project.id, endUser: user.id }
  const close = () => setAsked(undefined)
  const name = nameOf(user)
  async function save(body: NewLimits): Promise<void> {
    await limit.mutateAsync({ params, body })
    onChanged()
  }
  async function confirm(): Promise<void> {
    await erase.mutateAsync({ params })
    onChanged()
    toast(`${name} is erased.`)
  }
  return (
    <>
      <Menu trigger={<IconButton label={`Actions for ${name}`} icon={<Ellipsis aria-hidden />} />}>
        <MenuItem icon={<Gauge aria-hidden />} onSelect={() => setAsked('limits')}>
          Limits…
        </MenuItem>
        <MenuDivider />
        <MenuItem tone="bad" icon={<Trash2 aria-hidden />} onSelect={() => setAsked('erase')}>
          Erase…
        </MenuItem>
      </Menu>
      {asked === 'limits' && (
        <LimitsDialog
          of={name}
          values={user.limits.values}
          {...(everyone && { otherwise: everyone })}
          description="Takes effect immediately and overrides the limits for every end user. An empty field keeps the shared limit."
          save={save}
          onClose={close}
        />
      )}
      <ConfirmDialog
        isOpen={asked === 'erase'}
        onClose={close}
        title={`Erase ${name}?`}
        verb="Erase end user"
        onConfirm={confirm}
      >
        Their label, totals, limits and counters are erased and cannot be restored. Calls and charges stay in the log
        and the ledger, without a name. If you make another call for them, they appear as someone new.
      </ConfirmDialog>
    </>
  )
}
