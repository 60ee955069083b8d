import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { AppWindow, CircleOff, CirclePlay, Ellipsis, Gauge, RefreshCcw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { api } from '../../api.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { Menu, MenuDivider, MenuItem } from '../../components/menu.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import type { KeyPair, NewKeyPair } from './key-pair.ts'
import { RollDialog } from './roll-dialog.tsx'

type Asked = 'roll' | 'deactivate' | 'delete'

export function KeyActions({ pair, onRolled }: { pair: KeyPair; onRolled(pair: NewKeyPair): void }) {
  const project = useProject()
  const navigate = useNavigate()
  const [asked, setAsked] = useState<Asked>()
  const change = useChange('PATCH /api/projects/:project/keys/:key', ['GET /api/projects/:project/keys'])
  const isOver = pair.status === 'expired'
  const close = () => setAsked(undefined)

  function activate(): void {
    const call = { params: { project: project.id, key: pair.id }, body: { active: true } }
    change.mutate(call, { onSuccess: () => toast(`${pair.name} is active again.`), onError: toastError })
  }
  function showLimits(): void {
    void navigate({ to: `/projects/${project.id}/limits`, search: { key: pair.id } } as never)
  }
  function showSessions(): void {
    void navigate({ to: `/projects/${project.id}/browser-sessions`, search: { key: pair.id } } as never)
  }
  return (
    <>
      <Menu trigger={<IconButton label={`Actions for ${pair.name}`} icon={<Ellipsis aria-hidden />} />}>
        {pair.status === 'active' && (
          <MenuItem icon={<RefreshCcw aria-hidden />} onSelect={() => setAsked('roll')}>
            Roll…
          </MenuItem>
        )}
        {pair.replacedBy === null && !isOver && (
          <MenuItem icon={<Gauge aria-hidden />} onSelect={showLimits}>
            Limits…
          </MenuItem>
        )}
        {!isOver && (
          <MenuItem icon={<AppWindow aria-hidden />} onSelect={showSessions}>
            Browser sessions…
          </MenuItem>
        )}
        {!isOver && pair.status !== 'inactive' && (
          <MenuItem icon={<CircleOff aria-hidden />} onSelect={() => setAsked('deactivate')}>
            Deactivate…
          </MenuItem>
        )}
        {pair.status === 'inactive' && (
          <MenuItem icon={<CirclePlay aria-hidden />} onSelect={activate}>
            Activate
          </MenuItem>
        )}
        {!isOver && <MenuDivider />}
        <MenuItem tone="bad" icon={<Trash2 aria-hidden />} onSelect={() => setAsked('delete')}>
          Delete…
        </MenuItem>
      </Menu>
      {asked === 'roll' && <RollDialog pair={pair} onClose={close} onRolled={onRolled} />}
      {asked !== 'roll' && asked !== undefined && <Farewell pair={pair} asked={asked} onClose={close} />}
    </>
  )
}

export function EndNowButton({ pair }: { pair: KeyPair }) {
  const [isAsked, setAsked] = useState(false)
  return (
    <>
      <button
        type="button"
        aria-label={`End now: the old pair of ${pair.name}`}
        onClick={() => setAsked(true)}
        className="rounded-sm font-medium text-accent-text underline-offset-4 hover:underline"
      >
        End now
      </button>
      {isAsked && <Farewell pair={pair} asked="end" onClose={() => setAsked(false)} />}
    </>
  )
}

const WORDS = {
  end: {
    title: (name: string) => `End the old pair of ${name} now?`,
    verb: 'End now',
    what: 'Calls with the old pair are refused with 401 within two seconds. The new pair is not affected.',
    done: (name: string) => `The old pair of ${name} has ended.`,
  },
  deactivate: {
    title: (name: string) => `Deactivate ${name}?`,
    verb: 'Deactivate',
    what: 'Calls with this pair are refused with 401 within two seconds, until someone activates it again.',
    done: (name: string) => `${name} is inactive.`,
  },
  delete: {
    title: (name: string) => `Delete ${name}?`,
    verb: 'Delete key pair',
    what: 'Calls with this pair are refused with 401 within two seconds, for good. Past calls keep showing its name.',
    done: (name: string) => `${name} is deleted.`,
  },
}

function Farewell({ pair, asked, onClose }: { pair: KeyPair; asked: keyof typeof WORDS; onClose(): void }) {
  const project = useProject()
  const client = useQueryClient()
  const words = WORDS[asked]
  async function confirm(): Promise<void> {
    const params = { project: project.id, key: pair.id }
    if (asked === 'end') await api('POST /api/projects/:project/keys/:key/end', { params })
    if (asked === 'deactivate') await api('PATCH /api/projects/:project/keys/:key', { params, body: { active: false } })
    if (asked === 'delete') await api('DELETE /api/projects/:project/keys/:key', { params })
    await client.invalidateQueries({ queryKey: ['GET /api/projects/:project/keys'] })
    toast(words.done(pair.name))
  }
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={words.title(pair.name)}
      verb={words.verb}
      onConfirm={confirm}
      {...(asked === 'delete' && { typed: pair.name })}
    >
      {words.what}
    </ConfirmDialog>
  )
}
