import { Play, Square } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Notice } from '../../components/notice.tsx'
import { formatCount, formatCounted } from '../../formats.ts'
import { useProject } from '../../session.ts'
import type { Mode } from './monetization.ts'
import { Placements } from './placements.tsx'
import { RehearsalFigures } from './rehearsal-figures.tsx'
import { useRehearsal, type RehearsalProgress } from './use-rehearsal.ts'

export function Rehearsal({ mode }: { mode: Mode }) {
  const project = useProject()
  const { state, start, stop } = useRehearsal(project.id)
  const mayRun = project.may('developer')
  const isRunning = state.is === 'running'
  return (
    <div className="flex flex-col gap-6">
      <Card
        title="Rehearsal"
        description="Which of the last 30 days’ replies would have ended with a recommendation, with today’s offers and your saved settings."
        action={
          isRunning ? (
            <Button icon={<Square />} onClick={stop}>
              Stop
            </Button>
          ) : (
            <Button icon={<Play />} look={mode === 'off' ? 'primary' : 'secondary'} disabled={!mayRun} onClick={start}>
              {state.is === 'done' ? 'Rehearse again' : 'Rehearse'}
            </Button>
          )
        }
      >
        <div className="flex flex-col gap-4">
          {isRunning && <Progress progress={state.progress} />}
          {state.is === 'failed' && <Notice tone="bad">{state.message}</Notice>}
          {state.is === 'idle' && (
            <p className="max-w-3xl text-muted">
              Stored conversations are matched in memory, alongside live replies but never ahead of them. No reader sees
              anything, and nothing is stored: the figures are gone when you leave this page.
            </p>
          )}
          {!mayRun && <p className="text-sm text-muted">Only developers, admins and owners can rehearse.</p>}
          {state.is === 'done' && <RehearsalFigures result={state.result} />}
        </div>
      </Card>
      {state.is === 'done' && state.result.riskiest.length > 0 && (
        <Placements placements={state.result.riskiest} recommended={state.result.recommended} />
      )}
    </div>
  )
}

function Progress({ progress }: { progress: RehearsalProgress | undefined }) {
  const { seen = 0, of = 0, replies = 0, recommended = 0 } = progress ?? {}
  return (
    <div className="flex flex-col gap-2">
      <progress
        aria-label="Conversations matched"
        value={seen}
        max={Math.max(of, 1)}
        className="h-2 w-full appearance-none overflow-hidden rounded-full bg-sunken [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:bg-accent"
      />
      <p className="tabular text-sm text-muted">
        {progress === undefined
          ? 'Reading stored conversations …'
          : `${formatCount(seen)} of ${formatCounted(of, 'conversation')}, ${formatCounted(replies, 'reply', 'replies')}, ${formatCounted(recommended, 'recommendation')}`}
      </p>
    </div>
  )
}
