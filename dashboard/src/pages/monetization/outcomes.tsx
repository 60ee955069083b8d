import type { Reply } from '../../api.ts'
import { callsAt } from '../../calls-address.ts'
import { classes } from '../../components/classes.ts'
import { FigureLink } from '../../components/link.tsx'
import { formatCount, formatCountExactly, formatCounted, formatShare } from '../../formats.ts'
import { useProject } from '../../session.ts'

type Outcomes = Reply<'GET /api/projects/:project/monetization/outcomes'>
type Outcome = Outcomes['outcomes'][number]
type Kind = Outcome['kind']

/** In the order in which they are drawn. */
const KINDS: { kind: Kind; label: string; fill: string }[] = [
  { kind: 'recommended', label: 'Recommended', fill: 'bg-chart-2' },
  { kind: 'chosen', label: 'Your choice', fill: 'bg-chart-1' },
  { kind: 'protected', label: 'Protects readers', fill: 'bg-chart-3' },
  { kind: 'nothing', label: 'Nothing to recommend', fill: 'bg-chart-6' },
  { kind: 'service', label: 'Service', fill: 'bg-chart-4' },
]

function kindOf(kind: Kind): (typeof KINDS)[number] {
  return KINDS.find((each) => each.kind === kind) ?? { kind, label: kind, fill: 'bg-chart-6' }
}

/** All calls as one bar. The table below has the numbers. */
export function OutcomeChart({ outcomes }: { outcomes: Outcomes }) {
  const { calls, recommended } = outcomes
  const parts = KINDS.map(({ kind, label, fill }) => ({ kind, label, fill, calls: callsOf(outcomes, kind) })).filter(
    (part) => part.calls > 0,
  )
  return (
    <figure aria-label="Calls by what decided" className="px-5 pb-4">
      <p className="mb-3 flex flex-wrap items-baseline gap-x-2">
        <span className="tabular text-2xl font-semibold tracking-tight text-earn">
          {formatShare(recommended / calls)}
        </span>
        <span className="text-muted">
          {formatCount(recommended)} of {formatCounted(calls, 'call')} {verbOf(outcomes)} given a recommendation
        </span>
      </p>
      <div aria-hidden className="flex h-3 gap-0.5 overflow-hidden rounded-sm">
        {parts.map(({ kind, fill, calls: count }) => (
          <span key={kind} className={classes('min-w-1', fill)} style={{ flexGrow: count, flexBasis: 0 }} />
        ))}
      </div>
      <ul className="mt-3 flex flex-wrap gap-x-5 gap-y-1 text-xs text-muted">
        {parts.map(({ kind, label, fill, calls: count }) => (
          <li key={kind} className="inline-flex items-center gap-1.5">
            <span aria-hidden className={classes('size-2.5 rounded-[3px]', fill)} />
            {label} <span className="tabular">{formatShare(count / calls)}</span>
          </li>
        ))}
      </ul>
    </figure>
  )
}

/** Test mode gives nothing to anybody, and the time that is looked at may have had both. */
function verbOf({ outcomes }: Outcomes): string {
  const wasServed = outcomes.some(({ outcome }) => outcome === 'served')
  const wasTested = outcomes.some(({ outcome }) => outcome === 'test')
  if (wasServed && wasTested) return 'were, or in test mode would have been,'
  return wasTested ? 'would have been' : 'were'
}

function callsOf({ outcomes }: Outcomes, kind: Kind): number {
  return outcomes.filter((each) => each.kind === kind).reduce((sum, { calls }) => sum + calls, 0)
}

export function OutcomeTable({ outcomes }: { outcomes: Outcomes }) {
  const most = Math.max(...outcomes.outcomes.map(({ calls }) => calls))
  return (
    <table aria-label="Calls by reason" className="w-full border-collapse">
      <thead className="max-sm:sr-only">
        <tr className="border-y border-line text-left text-xs text-muted [&>th]:h-9 [&>th]:font-medium">
          <th scope="col" className="pr-3 pl-5">
            Reason
          </th>
          <th scope="col" className="w-24 px-3 text-right">
            Calls
          </th>
          <th scope="col" className="w-20 pr-5 pl-3 text-right md:w-72">
            Share
          </th>
        </tr>
      </thead>
      <tbody>
        {/* Recommendations that readers saw come first, then the most frequent outcomes. */}
        {outcomes.outcomes.toSorted(recommendedFirst).map((each) => (
          <OutcomeRow key={each.title} outcome={each} from={outcomes.from} all={outcomes.calls} most={most} />
        ))}
      </tbody>
    </table>
  )
}

function recommendedFirst(a: Outcome, b: Outcome): number {
  return Number(b.kind === 'recommended') - Number(a.kind === 'recommended')
}

/** On a phone the words take the whole width below the numbers. */
const ROW = classes(
  'border-line align-top not-last:border-b',
  'max-sm:grid max-sm:grid-cols-[minmax(0,1fr)_auto_auto] max-sm:px-5 max-sm:py-3',
)

interface OutcomeRowProps {
  outcome: Outcome
  from: string
  all: number
  most: number
}

function OutcomeRow({ outcome, from, all, most }: OutcomeRowProps) {
  const project = useProject()
  const { title, explanation, advice, calls } = outcome
  const { fill, label } = kindOf(outcome.kind)
  return (
    <tr className={ROW}>
      <td className="py-2.5 pr-3 pl-5 max-sm:contents">
        <span className="flex items-baseline gap-2">
          <span aria-hidden className={classes('size-2 shrink-0 rounded-full', fill)} />
          <span className="font-medium">{title}</span>
          {outcome.kind !== 'recommended' && (
            <span className="text-xs whitespace-nowrap text-muted max-sm:sr-only">{label}</span>
          )}
        </span>
        <p className="pl-4 text-sm text-muted max-sm:order-last max-sm:col-span-3">
          {explanation} {advice && <span className="text-ink">{advice}</span>}
        </p>
      </td>
      <td className="tabular px-3 py-2.5 text-right max-sm:p-0" title={formatCountExactly(calls)}>
        {outcome.outcome === null ? (
          formatCount(calls)
        ) : (
          <FigureLink {...callsAt(project.id, { from, recommendation: outcome.outcome })} of={`calls: ${title}`}>
            {formatCount(calls)}
          </FigureLink>
        )}
      </td>
      <td className="py-2.5 pr-5 pl-3 max-sm:p-0">
        <Share share={calls / all} length={calls / most} fill={fill} />
      </td>
    </tr>
  )
}

/** The longest bar is the most frequent reason's. */
function Share({ share, length, fill }: { share: number; length: number; fill: string }) {
  return (
    <span className="flex items-center justify-end gap-3">
      <span aria-hidden className="flex-1 max-md:hidden">
        <span className={classes('block h-2 min-w-0.5 rounded-sm', fill)} style={{ width: `${100 * length}%` }} />
      </span>
      <span className="tabular w-14 text-right whitespace-nowrap text-muted">{formatShare(share)}</span>
    </span>
  )
}
