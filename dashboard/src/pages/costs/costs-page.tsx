import { useNavigate } from '@tanstack/react-router'
import { Download, Receipt } from 'lucide-react'
import { useState } from 'react'
import { addressOf } from '../../api.ts'
import { changeOf } from '../../change.ts'
import { buttonClasses } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Chart } from '../../components/chart.tsx'
import { coloursOf } from '../../components/chart-colours.ts'
import { DataTable } from '../../components/data-table.tsx'
import { Money, Nothing } from '../../components/figures.tsx'
import { FilterBar } from '../../components/filter-bar.tsx'
import type { Target } from '../../components/link.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Stat } from '../../components/stat.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { callsAt, fullDays, LEAST_COST, momentSpan, type CallFilters } from '../../calls-address.ts'
import { lastsInWords, NO_PACE } from '../../credit-lasts.ts'
import { useFilters } from '../../filters.ts'
import { formatCounted, formatMoneyExactly } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { TOKEN_CLASSES } from '../../token-classes.ts'
import { comparedWords } from '../usage/compared.ts'
import { RangeFilter } from '../usage/range-filter.tsx'
import { RANGE_FILTERS } from '../usage/ranges.ts'
import { chartOf, OTHER, type Usage } from '../usage/shown.ts'
import { Updated } from '../usage/usage-view.tsx'
import { useSpan } from '../usage/use-span.ts'
import { modelColumns, priceColumns, type Costs, type Price } from './cost-columns.tsx'

const EVERY_MS = 30_000

export function CostsPage() {
  const project = useProject()
  const params = { project: project.id }
  const [filters, setFilters] = useFilters(RANGE_FILTERS)
  const span = useSpan(filters)
  const call = { params, query: span }
  const costs = useApi('GET /api/projects/:project/costs', call, { everyMs: EVERY_MS })
  const usage = useApi(
    'GET /api/projects/:project/usage',
    { params, query: { ...span, by: 'model' as const } },
    { everyMs: EVERY_MS },
  )
  const used = useApi('GET /api/projects/:project/call-filters', { params })
  const colours = coloursOf(used.data?.models ?? [])
  const { data } = costs
  const pickIn = usePick()
  const isEmpty = data?.models.length === 0
  const callsOf = (more: CallFilters) => callsAt(project.id, { from: data?.from, to: data?.to, ...more })
  return (
    <>
      <PageHeader
        title="Costs"
        context={project.name}
        description="What this project’s calls cost, by model and token type, and how long the credit will last."
        action={
          <a href={addressOf('GET /api/projects/:project/costs.csv', call)} download className={buttonClasses()}>
            <Download aria-hidden /> CSV
          </a>
        }
      />
      <FilterBar>
        <RangeFilter filters={filters} onChange={setFilters} />
      </FilterBar>
      {costs.error && !data ? (
        <Card>
          <ErrorState error={costs.error} onRetry={() => void costs.refetch()} />
        </Card>
      ) : (
        <div className="flex flex-col gap-4">
          <Totals data={data} />
          <Card title="Spend by model" description={<Updated upTo={data?.upTo} every={usage.data?.every ?? 'day'} />}>
            {isEmpty ? (
              <div className="h-64">
                <NoCosts />
              </div>
            ) : (
              <Chart data={usage.data && { ...chartOf(usage.data, 'spend', colours), onPick: pickIn(usage.data) }} />
            )}
          </Card>
          {!isEmpty && (
            <DataTable
              label="Spend by model and token type"
              columns={modelColumns(data, colours, (model) => callsOf({ model }))}
              rows={data?.models}
              keyOf={({ model }) => model}
              skeletonRows={4}
              empty={null}
            />
          )}
          {data && !isEmpty && <Sum data={data} />}
          <Prices prices={data?.prices} colours={colours} leadTo={callsOf} />
        </div>
      )}
    </>
  )
}

function Totals({ data }: { data: Costs | undefined }) {
  const project = useProject()
  const [openedMs] = useState(() => Date.now())
  const delta = data && changeOf(Number(data.total.chargedNanos), Number(data.previousChargedNanos))
  // Before the first call nothing was spent, and where something was there is a number.
  const words = data && comparedWords({ from: data.from, to: data.to, delta, previousCalls: 1 })
  const days = data?.forecast.daysLeft ?? null
  const charged = data && callsAt(project.id, { from: data.from, to: data.to, min_cost: LEAST_COST })
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Stat
        label="Spent"
        value={data && <Money nanos={data.total.chargedNanos} />}
        delta={delta}
        note={words && <span className="truncate max-sm:sr-only">{words}</span>}
        leadsTo={charged}
      />
      <Stat
        label="Average per call"
        value={data && (data.averageNanos === null ? <Nothing /> : <Money nanos={data.averageNanos} />)}
        note={data && `${formatCounted(data.billedCalls, 'call')} charged`}
        leadsTo={charged}
      />
      <Stat
        label="Per day, last 7 days"
        value={data && <Money nanos={data.forecast.perDayNanos} />}
        note="full days in UTC"
        leadsTo={callsAt(project.id, { ...fullDays(7, openedMs), min_cost: LEAST_COST })}
      />
      <Stat
        label="Credit lasts"
        value={data && <span className="inline-block first-letter:uppercase">{lastsInWords(days)}</span>}
        note={data && (days === null ? NO_PACE : <Available nanos={data.forecast.availableNanos} />)}
        leadsTo={{ to: `/projects/${project.id}/wallet` }}
      />
    </div>
  )
}

function Available({ nanos }: { nanos: string }) {
  return (
    <span>
      <Money nanos={nanos} /> available
    </span>
  )
}

/** A bar of the chart leads to its calls. */
function usePick() {
  const project = useProject()
  const navigate = useNavigate()
  return ({ every }: Usage) =>
    (at: string, model?: string) => {
      if (model === OTHER) return
      const filters = { ...momentSpan(at, every), min_cost: LEAST_COST }
      void navigate(callsAt(project.id, model === undefined ? filters : { ...filters, model }) as never)
    }
}

/** The exact identity behind the rounded numbers: nothing is left unexplained. */
function Sum({ data: { total } }: { data: Costs }) {
  const classes = TOKEN_CLASSES.reduce((sum, [name]) => sum + BigInt(total.classes[name].nanos), 0n)
  return (
    <p className="text-sm text-muted">
      Exactly: {formatMoneyExactly(classes)} for tokens
      {total.roundingNanos !== '0' && (
        <> + {formatMoneyExactly(total.roundingNanos)} because each call is rounded up to a billionth of a dollar</>
      )}
      {total.notChargedNanos !== '0' && (
        <> − {formatMoneyExactly(total.notChargedNanos)} that exceeded what was set aside and is not charged</>
      )}
      {' = '}
      <span className="text-ink">{formatMoneyExactly(total.chargedNanos)}</span>. Failed calls cost nothing and are not
      part of it.
    </p>
  )
}

function NoCosts() {
  return (
    <EmptyState icon={Receipt} title="Nothing was spent in this period">
      Each call is charged by its tokens, at the price that was in effect when it began.
    </EmptyState>
  )
}

interface PricesProps {
  prices: Price[] | undefined
  colours: Map<string, string>
  leadTo(filters: CallFilters): Target
}

function Prices({ prices, colours, leadTo }: PricesProps) {
  if (prices?.length === 0) return null
  return (
    <section aria-labelledby="prices">
      <h2 id="prices" className="mt-4 mb-1 text-base font-semibold">
        Prices that were charged
      </h2>
      <p className="mb-3 text-sm text-muted">
        Dollars per million tokens. A call keeps the price in effect when it began.
      </p>
      <DataTable
        label="Prices"
        columns={priceColumns(prices ?? [], colours, leadTo)}
        rows={prices}
        keyOf={({ version }) => version}
        skeletonRows={4}
        empty={null}
      />
    </section>
  )
}
