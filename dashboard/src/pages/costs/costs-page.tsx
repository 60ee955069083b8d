import { Download, Receipt } from 'lucide-react'
import { addressOf, type Reply } from '../../api.ts'
import { changeOf } from '../../change.ts'
import { buttonClasses } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Chart } from '../../components/chart.tsx'
import { Swatch } from '../../components/swatch.tsx'
import { coloursOf } from '../../components/chart-colours.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Money, Nothing, Time, Tokens } from '../../components/figures.tsx'
import { FilterBar } from '../../components/filter-bar.tsx'
import { Link } from '../../components/link.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Stat } from '../../components/stat.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { formatMoneyExactly } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { TOKEN_CLASSES } from '../../token-classes.ts'
import { Count } from '../usage/count.tsx'
import { RangeFilter } from '../usage/range-filter.tsx'
import { RANGE_FILTERS } from '../usage/ranges.ts'
import { chartOf } from '../usage/shown.ts'
import { Updated } from '../usage/usage-view.tsx'
import { useSpan } from '../usage/use-span.ts'
import { daysInWords } from './days-left.ts'
import { UnitPrice } from './unit-price.tsx'

type Costs = Reply<'GET /api/projects/:project/costs'>
type ModelCosts = Costs['models'][number]
type Price = Costs['prices'][number]

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
  const isEmpty = data?.models.length === 0
  return (
    <>
      <PageHeader
        title="Costs"
        context={project.name}
        description="What the calls of this project cost, by model and kind of token, and how long the credit lasts."
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
              <Chart data={usage.data && chartOf(usage.data, 'spend', colours)} />
            )}
          </Card>
          {!isEmpty && (
            <DataTable
              label="Spend by model and kind of token"
              columns={modelColumns(colours)}
              rows={data?.models}
              keyOf={({ model }) => model}
              skeletonRows={4}
              empty={null}
            />
          )}
          {data && !isEmpty && <Sum data={data} />}
          <Prices prices={data?.prices} colours={colours} />
        </div>
      )}
    </>
  )
}

function Totals({ data }: { data: Costs | undefined }) {
  const project = useProject()
  const before = Number(data?.previousChargedNanos ?? 0)
  const days = data?.forecast.daysLeft
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Stat
        label="Spent"
        value={data && <Money nanos={data.total.chargedNanos} />}
        delta={data && changeOf(Number(data.total.chargedNanos), before)}
        note={before > 0 && 'vs before'}
      />
      <Stat
        label="Average per call"
        value={data && (data.averageNanos === null ? <Nothing /> : <Money nanos={data.averageNanos} />)}
        note={data && `${data.billedCalls.toLocaleString('en-GB')} charged`}
      />
      <Stat
        label="Per day, last 7 days"
        value={data && <Money nanos={data.forecast.perDayNanos} />}
        note="full days in UTC"
      />
      <Stat
        label="Credit lasts"
        value={data && (days == null ? <Nothing label="unknown" /> : daysInWords(days))}
        note={
          data && (
            <span>
              <Money nanos={data.forecast.availableNanos} /> available{' '}
              <Link to={`/projects/${project.id}/wallet`} className="max-lg:hidden">
                Wallet
              </Link>
            </span>
          )
        }
      />
    </div>
  )
}

function modelColumns(colours: Map<string, string>): Column<ModelCosts>[] {
  return [
    { label: 'Model', isTitle: true, cell: ({ model }) => <ModelName model={model} colours={colours} /> },
    { label: 'Calls', align: 'right', cell: ({ calls }) => <Count of={calls} /> },
    ...TOKEN_CLASSES.map(([name, label]): Column<ModelCosts> => ({
      label,
      align: 'right',
      cell: ({ classes }) => (classes[name].tokens === 0 ? <Nothing /> : <ClassCost {...classes[name]} />),
    })),
    {
      label: 'Per call',
      align: 'right',
      cell: ({ averageNanos }) => (averageNanos === null ? <Nothing /> : <Money nanos={averageNanos} />),
    },
    {
      label: 'Spend',
      align: 'right',
      cell: ({ chargedNanos }) => <Money nanos={chargedNanos} className="font-medium" />,
    },
  ]
}

function ModelName({ model, colours }: { model: string; colours: Map<string, string> }) {
  return (
    <span className="flex items-center gap-2">
      <Swatch colour={colours.get(model) ?? 'var(--chart-6)'} />
      <span className="truncate">{model}</span>
    </span>
  )
}

function ClassCost({ tokens, nanos }: { tokens: number; nanos: string }) {
  return (
    <span className="block">
      <Money nanos={nanos} />
      <span className="block text-xs text-muted">
        <Tokens count={tokens} />
      </span>
    </span>
  )
}

/** The exact identity behind the rounded numbers: nothing is left unexplained. */
function Sum({ data: { total } }: { data: Costs }) {
  const classes = TOKEN_CLASSES.reduce((sum, [name]) => sum + BigInt(total.classes[name].nanos), 0n)
  return (
    <p className="text-sm text-muted">
      Exactly: {formatMoneyExactly(classes)} for tokens
      {' + '}
      {formatMoneyExactly(total.roundingNanos)} because each call is rounded up to a billionth of a dollar
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
    <EmptyState icon={Receipt} title="Nothing was spent in this time">
      Each call is charged by its tokens, at the price that was in effect when it began.
    </EmptyState>
  )
}

function Prices({ prices, colours }: { prices: Price[] | undefined; colours: Map<string, string> }) {
  if (prices?.length === 0) return null
  return (
    <section aria-labelledby="prices">
      <h2 id="prices" className="mt-4 mb-1 text-base font-semibold">
        Prices that were charged
      </h2>
      <p className="mb-3 text-sm text-muted">
        Dollars per million tokens. A call keeps the price of the moment in which it began.
      </p>
      <DataTable
        label="Prices"
        columns={priceColumns(colours)}
        rows={prices}
        keyOf={({ version }) => version}
        skeletonRows={4}
        empty={null}
      />
    </section>
  )
}

function priceColumns(colours: Map<string, string>): Column<Price>[] {
  return [
    { label: 'Model', isTitle: true, cell: ({ model }) => <ModelName model={model} colours={colours} /> },
    { label: 'In effect from', cell: ({ effectiveFrom }) => <Time iso={effectiveFrom} /> },
    ...TOKEN_CLASSES.map(([name, label]): Column<Price> => ({
      label,
      align: 'right',
      cell: ({ price }) => <UnitPrice nanos={price[name]} />,
    })),
    { label: 'Calls', align: 'right', cell: ({ calls }) => <Count of={calls} /> },
    { label: 'Spend', align: 'right', cell: ({ chargedNanos }) => <Money nanos={chargedNanos} /> },
  ]
}
