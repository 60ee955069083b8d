import type { Reply } from '../../api.ts'
import { formatDuration } from '../../formats.ts'

type Phase = Reply<'GET /api/projects/:project/calls/:call'>['phases'][number]

const COLOURS: Record<Phase['kind'], string> = {
  prepared: 'var(--chart-6)',
  failed: 'var(--bad)',
  waited: 'var(--chart-3)',
  answered: 'var(--chart-1)',
}

/** From the first byte to the last: each phase begins where the one above ends. */
export function Waterfall({ phases, durationMs }: { phases: Phase[]; durationMs: number }) {
  const total = Math.max(durationMs, 1)
  const hasTries = phases.filter(({ attempt }) => attempt !== null).length > 1
  return (
    <ol className="flex flex-col gap-2.5">
      {phases.map((phase) => (
        <li key={`${phase.kind}${phase.attempt}`} className="text-sm">
          <div className="flex justify-between gap-4">
            <span>{wordsOf(phase, hasTries)}</span>
            <span className="tabular text-muted">{formatDuration(phase.toMs - phase.fromMs)}</span>
          </div>
          <div aria-hidden className="mt-1 h-2 rounded-sm bg-hover">
            <div
              className="h-2 min-w-0.5 rounded-sm"
              style={{
                marginLeft: `${Math.min((100 * phase.fromMs) / total, 99.5)}%`,
                width: `${(100 * (phase.toMs - phase.fromMs)) / total}%`,
                background: COLOURS[phase.kind],
              }}
            />
          </div>
        </li>
      ))}
    </ol>
  )
}

function wordsOf({ kind, attempt, why }: Phase, hasTries: boolean): string {
  const nth = hasTries ? `Try ${attempt}: ` : ''
  if (kind === 'prepared') return 'Checked and credit set aside'
  if (kind === 'failed') return `${nth || 'The model '}${hasTries ? 'the model ' : ''}${why}`
  if (kind === 'waited') return `${nth}${hasTries ? 'waited' : 'Waited'} for the first token`
  return why === null ? 'Answered' : `Answered, then the model ${why}`
}
