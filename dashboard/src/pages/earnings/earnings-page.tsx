import { useNavigate } from '@tanstack/react-router'
import { PiggyBank } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { Chart } from '../../components/chart.tsx'
import { Money, Time } from '../../components/figures.tsx'
import { FilterBar } from '../../components/filter-bar.tsx'
import { HeroCard } from '../../components/hero-card.tsx'
import { Link } from '../../components/link.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Stat } from '../../components/stat.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { momentSpan } from '../../calls-address.ts'
import { useFilters } from '../../filters.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { RangeFilter } from '../usage/range-filter.tsx'
import { RANGE_FILTERS, RANGES_BY_DAY } from '../usage/ranges.ts'
import { useSpan } from '../usage/use-span.ts'
import { clicksAt } from './clicks-address.ts'
import { EarningsFigures } from './earnings-figures.tsx'
import { chartOf, isQuiet, type Earnings } from './earnings.ts'
import { TopAdvertisers, TopCategories } from './top-tables.tsx'
import { VerdictsCard } from './verdicts-card.tsx'

const EVERY_MS = 30_000

export function EarningsPage() {
  const project = useProject()
  const [filters, setFilters] = useFilters(RANGE_FILTERS)
  const { from, to } = useSpan(filters)
  const call = { params: { project: project.id }, query: { from, ...(to !== undefined && { to }) } }
  const { data, error, refetch } = useApi('GET /api/projects/:project/earnings', call, { everyMs: EVERY_MS })
  return (
    <>
      <PageHeader
        title="Earnings"
        context={project.name}
        docs="clicks"
        description="What readers’ clicks on recommendations earned, and what your tokens cost after that."
      />
      <FilterBar>
        <RangeFilter filters={filters} onChange={setFilters} options={RANGES_BY_DAY} />
      </FilterBar>
      {error && !data ? (
        <Card>
          <ErrorState error={error} onRetry={() => void refetch()} />
        </Card>
      ) : (
        <div className="flex flex-col gap-4">
          <Balances data={data} />
          {/* How tall these are is known with the data. */}
          {data && <Details data={data} />}
        </div>
      )}
    </>
  )
}

/** Balances are those of all time, whatever range is chosen. */
function Balances({ data }: { data: Earnings | undefined }) {
  const project = useProject()
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Stat
        label="Pending"
        tone="earn"
        value={data && <Money nanos={data.pendingNanos} />}
        note="for seven days"
        leadsTo={clicksAt(project.id, { state: 'pending' })}
      />
      <Stat
        label="Next release"
        value={data && (data.nextRelease ? <Money nanos={data.nextRelease.nanos} /> : 'None')}
        note={data && <NextRelease next={data.nextRelease} />}
      />
      <Stat
        label="Released"
        tone="earn"
        value={data && <Money nanos={data.releasedNanos} />}
        note="to the wallet, in all"
        leadsTo={clicksAt(project.id, { state: 'released' })}
      />
      <Stat
        label="Taken back"
        value={data && <Money nanos={data.takenBackNanos} />}
        note="invalid clicks"
        leadsTo={clicksAt(project.id, { state: 'reversed' })}
      />
    </div>
  )
}

function NextRelease({ next }: { next: Earnings['nextRelease'] }) {
  if (next === null) return 'nothing is pending'
  return <Time iso={next.at} as="moment" />
}

function Details({ data }: { data: Earnings }) {
  const project = useProject()
  const navigate = useNavigate()
  const pick = (at: string) =>
    void navigate(clicksAt(project.id, { verdict: 'valid', ...momentSpan(at, 'day') }) as never)
  if (isQuiet(data)) return <Quiet />
  return (
    <>
      <HeroCard title="Earned by day" description={sharePerClick(data)} figures={<EarningsFigures data={data} />}>
        <Chart isHero data={{ ...chartOf(data), onPick: pick }} />
      </HeroCard>
      <VerdictsCard earnings={data} />
      <section aria-labelledby="advertisers">
        <h2 id="advertisers" className="mt-2 mb-3 text-base font-semibold">
          Top advertisers
        </h2>
        <TopAdvertisers earnings={data} />
      </section>
      <section aria-labelledby="categories">
        <h2 id="categories" className="mt-2 mb-3 text-base font-semibold">
          Top categories
        </h2>
        <TopCategories earnings={data} />
      </section>
    </>
  )
}

function sharePerClick({ shareBps }: Earnings): string {
  return shareBps === null ? 'Days in UTC.' : `Your share is ${shareBps / 100}% of each paid click. Days in UTC.`
}

function Quiet() {
  const project = useProject()
  return (
    <Card>
      <EmptyState
        icon={PiggyBank}
        title="Nothing was recommended in this period"
        action={
          <Link to={`/projects/${project.id}/monetization`} look="secondary">
            Monetization
          </Link>
        }
      >
        With monetization on, replies end with a recommendation where one fits. Each valid click pays for part of what
        your calls cost.
      </EmptyState>
    </Card>
  )
}
