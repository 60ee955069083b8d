import { ChartColumn, Download } from 'lucide-react'
import { addressOf } from '../../api.ts'
import { buttonClasses } from '../../components/button.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { Money, Time } from '../../components/figures.tsx'
import { FilterBar, FilterSelect } from '../../components/filter-bar.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Select } from '../../components/select.tsx'
import { Stat } from '../../components/stat.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { formatCount, formatShare } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import { RangeFilter } from '../usage/range-filter.tsx'
import { RANGES_BY_DAY } from '../usage/ranges.ts'
import { useSpan } from '../usage/use-span.ts'
import { KEY_OPTIONS, keyOf, KEYS, REPORT_FILTERS, type Report } from './report.ts'
import { reportColumns } from './report-columns.tsx'

const EVERY_MS = 60_000

export function ReportsPage() {
  const advertiser = useAdvertiser()
  const params = { advertiser: advertiser.id }
  const [filters, setFilters] = useFilters(REPORT_FILTERS)
  const { from, to } = useSpan(filters)
  const { campaign } = filters
  const by = keyOf(filters.by)
  const call = { params, query: { by, from, ...(to !== undefined && { to }), ...(campaign && { campaign }) } }
  const { data, error, refetch } = useApi('GET /api/advertisers/:advertiser/report', call, { everyMs: EVERY_MS })
  const campaigns = useApi('GET /api/advertisers/:advertiser/campaigns', { params })
  return (
    <>
      <PageHeader
        title="Reports"
        context={advertiser.name}
        docs="advertisers"
        description="How often your offers were recommended, what readers did, and what it cost."
        action={
          <a href={addressOf('GET /api/advertisers/:advertiser/report.csv', call)} download className={buttonClasses()}>
            <Download aria-hidden /> CSV
          </a>
        }
      />
      <FilterBar>
        <Select
          fit="filter"
          aria-label="Rows"
          value={by}
          onChange={(event) => setFilters({ by: event.target.value })}
          options={KEY_OPTIONS}
        />
        <FilterSelect
          label="Campaign"
          value={campaign}
          onChange={(chosen) => setFilters({ campaign: chosen ?? '' })}
          options={(campaigns.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          all="All campaigns"
        />
        <RangeFilter filters={filters} onChange={setFilters} options={RANGES_BY_DAY} />
      </FilterBar>
      <div className="flex flex-col gap-4">
        <Totals total={data?.total} />
        <DataTable
          label={KEYS[by].title}
          columns={reportColumns(by)}
          rows={data?.rows}
          keyOf={({ key }) => key ?? ''}
          error={error}
          onRetry={() => void refetch()}
          skeletonRows={3}
          note={data && <Note report={data} />}
          empty={
            <EmptyState icon={ChartColumn} title="Nothing was recommended in this period">
              Recommendations and clicks are counted a few minutes after they happen.
            </EmptyState>
          }
        />
      </div>
    </>
  )
}

function Totals({ total }: { total: Report['total'] | undefined }) {
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Stat label="Recommended" value={total && formatCount(total.serves)} note="to readers" />
      <Stat label="Paid clicks" value={total && formatCount(total.validClicks)} note={total && rateOf(total)} />
      <Stat
        label="Spent"
        value={total && <Money nanos={total.spentNanos} />}
        note={
          total?.averageNanos != null && (
            <span>
              <Money nanos={total.averageNanos} /> per click
            </span>
          )
        }
      />
      <Stat label="Conversions" value={total && formatCount(total.conversions)} note="reported by your server" />
    </div>
  )
}

function rateOf({ serves, validClicks }: Report['total']): string {
  return serves === '0' ? 'none' : `${formatShare(Number(validClicks) / Number(serves))} click rate`
}

function Note({ report }: { report: Report }) {
  return (
    <>
      Anything recommended fewer than ten times is part of the last row. Days are in UTC.{' '}
      {report.countedUntil === null ? (
        'Nothing has been counted yet.'
      ) : (
        <>
          Counted until <Time iso={report.countedUntil} as="moment" />.
        </>
      )}
    </>
  )
}
