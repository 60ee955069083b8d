import { useNavigate } from '@tanstack/react-router'
import { ChartColumn } from 'lucide-react'
import { callsAt, LEAST_COST, momentSpan } from '../../calls-address.ts'
import { Chart } from '../../components/chart.tsx'
import { HeroCard } from '../../components/hero-card.tsx'
import { Link } from '../../components/link.tsx'
import { EmptyState } from '../../components/states.tsx'
import { formatMoney } from '../../formats.ts'
import { useProject } from '../../session.ts'
import { HomeFigures } from './home-figures.tsx'
import type { Home } from './onboarding.ts'

/** The spend of each day, next to the numbers that people look at every day. */
export function SpendHero({ home }: { home: Home | undefined }) {
  const project = useProject()
  const navigate = useNavigate()
  const pick = (at: string) =>
    void navigate(callsAt(project.id, { ...momentSpan(at, 'day'), min_cost: LEAST_COST }) as never)
  const isEmpty = home !== undefined && home.models.length === 0
  return (
    <HeroCard
      title="Spend by day"
      description="The last 30 days, in UTC."
      action={<Link to={`/projects/${project.id}/usage`}>All usage</Link>}
      figures={<HomeFigures home={home} />}
    >
      {isEmpty ? (
        <div className="h-64 lg:h-88">
          <EmptyState icon={ChartColumn} title="Nothing spent yet">
            One bar for each day with charges. The first appears a few seconds after your first call.
          </EmptyState>
        </div>
      ) : (
        <Chart isHero data={home && { ...chartOf(home), onPick: pick }} />
      )}
    </HeroCard>
  )
}

function chartOf({ days }: Home) {
  return {
    label: 'Spend by day in the last 30 days',
    kind: 'bars' as const,
    series: [{ id: 'spend', label: 'Spend', colour: 'var(--chart-1)' }],
    points: days.map(({ at, chargedNanos }) => ({ at, values: { spend: Number(chargedNanos) } })),
    every: 'day' as const,
    format: (nanos: number) => formatMoney(BigInt(Math.round(nanos))),
  }
}
