import { Eye, FlaskConical, Power, type LucideIcon } from 'lucide-react'
import { useState } from 'react'
import { Status } from '../../components/badge.tsx'
import { Card } from '../../components/card.tsx'
import { classes } from '../../components/classes.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Notice } from '../../components/notice.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { CHANGED, type Mode, type Monetization } from './monetization.ts'

const MODES: { mode: Mode; label: string; icon: LucideIcon; what: string }[] = [
  { mode: 'off', label: 'Off', icon: Power, what: 'Replies stay as the model wrote them. No offers are matched.' },
  { mode: 'test', label: 'Test', icon: FlaskConical, what: 'Offers are matched and counted. Readers see nothing.' },
  { mode: 'on', label: 'On', icon: Eye, what: 'Where an offer fits, a reply ends with one recommendation.' },
]
const DONE: Record<Mode, string> = {
  off: 'Monetization is off. Replies stay as the model wrote them.',
  test: 'Test mode: offers are matched, and readers see nothing.',
  on: 'Monetization is on. Readers see recommendations from now on.',
}

export function ModeCard({ settings }: { settings: Monetization }) {
  const project = useProject()
  const [isAsking, setAsking] = useState(false)
  const change = useChange('PUT /api/projects/:project/monetization/mode', [...CHANGED])
  const mayChange = project.may('admin')
  const { mode, obstacle } = settings
  const to = (next: Mode) => ({ params: { project: project.id }, body: { mode: next } })
  function choose(next: Mode): void {
    if (next === mode) return
    if (next === 'on') setAsking(true)
    else change.mutate(to(next), { onSuccess: () => toast(DONE[next]), onError: toastError })
  }
  async function switchOn(): Promise<void> {
    await change.mutateAsync(to('on'))
    toast(DONE.on)
  }
  return (
    <Card
      title="Mode"
      description="Takes effect within seconds, for the whole project."
      action={<ModeStatus mode={mode} />}
    >
      <div role="group" aria-label="Mode" className="grid gap-3 sm:grid-cols-3">
        {MODES.map((each) => (
          <ModeButton
            key={each.mode}
            {...each}
            isChosen={mode === each.mode}
            isDisabled={!mayChange || change.isPending || (each.mode === 'on' && mode !== 'on' && obstacle !== null)}
            onChoose={() => choose(each.mode)}
          />
        ))}
      </div>
      <Remarks mode={mode} obstacle={obstacle} mayChange={mayChange} />
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Show recommendations to the readers of ${project.name}?`}
        verb="Switch on"
        look="primary"
        onConfirm={switchOn}
      >
        <Consequences label={settings.label} domain={project.domain} />
      </ConfirmDialog>
    </Card>
  )
}

function Remarks({ mode, obstacle, mayChange }: { mode: Mode; obstacle: string | null; mayChange: boolean }) {
  if (mayChange && obstacle === null) return null
  return (
    <div className="mt-3 flex flex-col gap-2 text-sm text-muted">
      {!mayChange && <p>Only owners and admins can change this.</p>}
      {obstacle !== null && mode !== 'on' && <p>{obstacle}</p>}
      {obstacle !== null && mode === 'on' && (
        <Notice tone="warn">
          <span className="text-ink">Readers see nothing in the meantime. {obstacle}</span>
        </Notice>
      )}
    </div>
  )
}

function ModeStatus({ mode }: { mode: Mode }) {
  if (mode === 'on') return <Status tone="earn">On</Status>
  return <Status tone={mode === 'test' ? 'waiting' : 'neutral'}>{mode === 'test' ? 'Test' : 'Off'}</Status>
}

interface ModeButtonProps {
  label: string
  what: string
  icon: LucideIcon
  mode: Mode
  isChosen: boolean
  isDisabled: boolean
  onChoose(): void
}

/** A button and not a radio button: the arrow keys must not change what readers see. */
function ModeButton({ label, what, icon: Icon, mode, isChosen, isDisabled, onChoose }: ModeButtonProps) {
  const chosen = mode === 'on' ? 'border-earn bg-earn-soft' : 'border-accent-text bg-accent-soft'
  const ink = isChosen ? (mode === 'on' ? 'text-earn' : 'text-accent-text') : 'text-muted'
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      disabled={isDisabled && !isChosen}
      onClick={onChoose}
      className={classes(
        'flex items-start gap-3 rounded-lg border px-4 py-3 text-left transition-colors',
        'disabled:cursor-not-allowed disabled:opacity-60',
        isChosen ? chosen : 'border-line-strong bg-surface shadow-button enabled:hover:bg-hover',
      )}
    >
      <Icon className={classes('mt-0.5 size-4.5 shrink-0', ink)} aria-hidden />
      <span className="min-w-0">
        <span className="block font-medium">{label}</span>
        <span className="block text-sm text-muted">{what}</span>
      </span>
    </button>
  )
}

function Consequences({ label, domain }: { label: string; domain: string }) {
  return (
    <ul className="flex list-disc flex-col gap-2 pl-4 marker:text-faint">
      <li>
        From now on some replies end with one line that begins with{' '}
        <strong className="font-medium text-ink">{label}</strong>, names an advertiser, and links to its offer.
      </li>
      <li>
        Conversations about sensitive topics stay free of it, and so does every call that sends{' '}
        <code className="font-mono text-sm whitespace-nowrap">x-monetization: off</code>.
      </li>
      <li>
        You are responsible for your audience: that {domain} is not made for children or teenagers, and that what it
        tells its readers about advertising is accurate.
      </li>
      <li>You can switch it off here at any time.</li>
    </ul>
  )
}
