import { callsAt, LEAST_COST } from '../../calls-address.ts'
import { Figure, FigureList } from '../../components/figure-list.tsx'
import { Money, Nothing } from '../../components/figures.tsx'
import { formatCounted, formatShare } from '../../formats.ts'
import { useProject } from '../../session.ts'
import { Count } from '../usage/count.tsx'
import { clicksAt } from './clicks-address.ts'
import type { Earnings } from './earnings.ts'
import { netOf } from './net.ts'

/** What the chart's time came to. */
export function EarningsFigures({ data }: { data: Earnings | undefined }) {
  const project = useProject()
  const span = data && { from: data.from, to: data.to }
  const net = data && netOf(data)
  return (
    <FigureList label="Figures" note="Paid clicks are valid ones that were not taken back.">
      <Figure
        label="Earned"
        value={data && <Money nanos={data.earnedNanos} />}
        note={data && formatCounted(data.paidClicks, 'paid click')}
        leadsTo={span && clicksAt(project.id, { verdict: 'valid', ...span })}
      />
      <Figure
        label="Cost of tokens"
        value={data && <Money nanos={data.costNanos} />}
        leadsTo={span && callsAt(project.id, { ...span, min_cost: LEAST_COST })}
      />
      <Figure
        label={net?.label ?? 'Net cost'}
        value={net && <Money nanos={net.nanos} />}
        note={net && (net.label === 'Net gain' ? 'earned beyond the cost' : 'cost less what was earned')}
      />
      <Figure
        label="Shown"
        value={data && <Count of={data.shown} />}
        note={data && <Eligible eligible={data.eligible} />}
        leadsTo={span && callsAt(project.id, { ...span, recommendation: 'served' })}
      />
      <Figure
        label="Clicks"
        value={data && <Count of={data.clicks} />}
        note="of every verdict"
        leadsTo={span && clicksAt(project.id, span)}
      />
      <Figure
        label="Click-through rate"
        value={data && (data.shown === 0 ? <Nothing /> : formatShare(data.paidClicks / data.shown))}
        note="paid clicks of those shown"
      />
    </FigureList>
  )
}

function Eligible({ eligible }: { eligible: number | null }) {
  if (eligible === null) return 'eligible replies are counted for 90 days'
  return `of ${formatCounted(eligible, 'eligible reply', 'eligible replies')}`
}
