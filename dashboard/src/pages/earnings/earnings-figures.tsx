import { callsAt, LEAST_COST } from '../../calls-address.ts'
import { Figure, FigureList } from '../../components/figure-list.tsx'
import { Money, Nothing } from '../../components/figures.tsx'
import { formatCounted, formatShare } from '../../formats.ts'
import { useProject } from '../../session.ts'
import { Count } from '../usage/count.tsx'
import { clicksAt } from './clicks-address.ts'
import type { Earnings } from './earnings.ts'
import { netOf } from './net.ts'

/** The totals of the chart's time. */
export function EarningsFigures({ data }: { data: Earnings }) {
  const project = useProject()
  const span = { from: data.from, to: data.to }
  const net = netOf(data)
  return (
    <FigureList label="Figures" note="Paid clicks are valid ones that were not taken back.">
      <Figure
        label="Earned"
        value={<Money nanos={data.earnedNanos} />}
        note={formatCounted(data.paidClicks, 'paid click')}
        leadsTo={clicksAt(project.id, { verdict: 'valid', ...span })}
      />
      <Figure
        label="Cost of tokens"
        value={<Money nanos={data.costNanos} />}
        leadsTo={callsAt(project.id, { ...span, min_cost: LEAST_COST })}
      />
      <Figure
        label={net.label}
        value={<Money nanos={net.nanos} />}
        note={net.label === 'Net gain' ? 'earned beyond the cost' : 'cost minus earnings'}
      />
      <Figure
        label="Shown"
        value={<Count of={data.shown} />}
        note={<Eligible eligible={data.eligible} />}
        leadsTo={callsAt(project.id, { ...span, recommendation: 'served' })}
      />
      <Figure
        label="Clicks"
        value={<Count of={data.clicks} />}
        note="of every verdict"
        leadsTo={clicksAt(project.id, span)}
      />
      <Figure
        label="Click-through rate"
        value={data.shown === 0 ? <Nothing /> : formatShare(data.paidClicks / data.shown)}
        note="paid clicks of those shown"
      />
    </FigureList>
  )
}

function Eligible({ eligible }: { eligible: number | null }) {
  if (eligible === null) return 'eligible replies are counted for 90 days'
  return `of ${formatCounted(eligible, 'eligible reply', 'eligible replies')}`
}
