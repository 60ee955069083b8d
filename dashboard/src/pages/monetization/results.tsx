import { ChartNoAxesColumn } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { Select } from '../../components/select.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import type { Monetization } from './monetization.ts'
import { OutcomeChart, OutcomeTable } from './outcomes.tsx'
import { ReportedOffers } from './reported-offers.tsx'
import { RecentRecommendations } from './recent-recommendations.tsx'

const RANGES = [
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
] as const
type Range = (typeof RANGES)[number]['value']
const EVERY_MS = 30_000

export function Results({ settings }: { settings: Monetization }) {
  const project = useProject()
  const [filters, setFilters] = useFilters(['range'] as const)
  const range: Range = RANGES.find(({ value }) => value === filters.range)?.value ?? '7d'
  const call = { params: { project: project.id }, query: { range } }
  const outcomes = useApi('GET /api/projects/:project/monetization/outcomes', call, { everyMs: EVERY_MS })
  const { data, error, refetch } = outcomes
  const choice = (
    <Select
      fit="filter"
      aria-label="Time range"
      value={range}
      onChange={(event) => setFilters({ range: event.target.value })}
      options={[...RANGES]}
    />
  )
  return (
    <div className="flex flex-col gap-6">
      <Card
        title="Why a reply had a recommendation, or none"
        description="Every call is counted once, by the first reason that applied."
        action={choice}
        isFlush
      >
        {error && !data ? (
          <ErrorState error={error} onRetry={() => void refetch()} />
        ) : !data ? (
          <SkeletonLines count={12} className="px-5 pb-4" />
        ) : data.calls === 0 ? (
          <NothingCounted mode={settings.mode} />
        ) : (
          <>
            <OutcomeChart outcomes={data} />
            <OutcomeTable outcomes={data} />
          </>
        )}
      </Card>
      {/* How tall the card above is depends on its rows. What stands below waits for them, and so never moves. */}
      {(data ?? error) && <RecentRecommendations mode={settings.mode} />}
      {(data ?? error) && <ReportedOffers />}
    </div>
  )
}

function NothingCounted({ mode }: { mode: Monetization['mode'] }) {
  return (
    <EmptyState icon={ChartNoAxesColumn} title="No calls in this period">
      {mode === 'off'
        ? 'While monetization is off, nothing is counted. Test mode counts, and shows readers nothing.'
        : 'As soon as a chat call arrives, it is counted here within a minute.'}
    </EmptyState>
  )
}
