import { Status } from '../../components/badge.tsx'
import { callsAt } from '../../calls-address.ts'
import { classes } from '../../components/classes.ts'
import { FigureLink } from '../../components/link.tsx'
import { formatShare } from '../../formats.ts'
import { toneOf } from '../calls/call-status.tsx'
import { Count } from './count.tsx'
import type { Usage } from './shown.ts'

type Outcome = Usage['totals']['outcomes'][number]['outcome']

const ENDINGS: Record<Outcome, string> = {
  completed: 'Completed',
  hung_up: 'Caller hung up',
  hold_used_up: 'Credit ran out midway',
  upstream_failed: 'The model failed',
  truncated: 'The answer was cut off',
  timed_out: 'The model took too long',
  gateway_failed: 'Failed on our side',
  gateway_died: 'Interrupted on our side',
}

const FILLS = { good: 'bg-good', neutral: 'bg-faint', warn: 'bg-warn', bad: 'bg-bad' }

/** How calls ended, each in the colour of its state and in words. In a project each leads to its calls. */
export function Endings({ data, projectId }: { data: Usage; projectId: string | undefined }) {
  const { calls: total, outcomes } = data.totals
  return (
    <div className="min-h-56">
      <ul className="flex flex-col gap-2.5 text-sm">
        {outcomes
          .toSorted((a, b) => b.calls - a.calls)
          .map(({ outcome, calls }) => (
            <li key={outcome}>
              <div className="flex justify-between gap-4">
                <Status tone={toneOf(outcome)}>{ENDINGS[outcome]}</Status>
                <span className="tabular text-muted">
                  <Leading data={data} projectId={projectId} filter={{ outcome }} of={`calls: ${ENDINGS[outcome]}`}>
                    <Count of={calls} />
                  </Leading>{' '}
                  · {formatShare(calls / total)}
                </span>
              </div>
              <div aria-hidden className="mt-1 h-1 rounded-full bg-hover">
                <div
                  className={classes('h-1 min-w-0.5 rounded-full', FILLS[toneOf(outcome)])}
                  style={{ width: `${(100 * calls) / total}%` }}
                />
              </div>
            </li>
          ))}
      </ul>
      <Statuses data={data} projectId={projectId} />
    </div>
  )
}

function Statuses({ data, projectId }: { data: Usage; projectId: string | undefined }) {
  const { statuses } = data.totals
  if (statuses.length === 0) return null
  return (
    <p className="mt-4 text-sm text-muted">
      By status:{' '}
      {statuses.map(({ status, calls }, n) => (
        <span key={status}>
          {n > 0 && ', '}
          <Leading
            data={data}
            projectId={projectId}
            filter={{ status: status === null ? 'other' : String(status) }}
            of="calls"
          >
            {calls.toLocaleString('en-GB')} × {status === 0 ? 'no answer' : (status ?? 'other')}
          </Leading>
        </span>
      ))}
    </p>
  )
}

interface LeadingProps {
  data: Usage
  projectId: string | undefined
  filter: { outcome: Outcome } | { status: string }
  of: string
  children: React.ReactNode
}

function Leading({ data: { from, to }, projectId, filter, of, children }: LeadingProps) {
  if (projectId === undefined) return children
  return (
    <FigureLink {...callsAt(projectId, { from, to, ...filter })} of={of}>
      {children}
    </FigureLink>
  )
}
