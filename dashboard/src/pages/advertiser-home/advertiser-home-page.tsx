import { Card } from '../../components/card.tsx'
import type { ChartProps } from '../../components/chart-data.ts'
import { Chart } from '../../components/chart.tsx'
import { Money } from '../../components/figures.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Stat } from '../../components/stat.tsx'
import { ErrorState } from '../../components/states.tsx'
import { formatCount, formatCounted, formatMoney } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import { FirstSteps } from './first-steps.tsx'
import type { Overview } from './overview.ts'

const EVERY_MS = 30_000
const NANOS_PER_DOLLAR = 1e9

export function AdvertiserHomePage() {
  const advertiser = useAdvertiser()
  const call = { params: { advertiser: advertiser.id } }
  const { data, error, refetch } = useApi('GET /api/advertisers/:advertiser', call, { everyMs: EVERY_MS })
  return (
    <>
      <PageHeader
        title="Overview"
        context={advertiser.name}
        description="What your campaigns have spent, and whether they can continue."
        docs="advertisers"
      />
      {error && !data ? (
        <Card>
          <ErrorState error={error} onRetry={() => void refetch()} />
        </Card>
      ) : (
        <div className="flex flex-col gap-4">
          <Figures data={data} base={`/advertisers/${advertiser.id}`} />
          {data && (
            <>
              <FirstSteps data={data} base={`/advertisers/${advertiser.id}`} />
              <Card title="Spend by day" description="What paid clicks have cost, by days in UTC.">
                <Chart data={chartOf(data)} />
              </Card>
            </>
          )}
        </div>
      )}
    </>
  )
}

function Figures({ data, base }: { data: Overview | undefined; base: string }) {
  const clicks = data?.days.reduce((sum, day) => sum + day.clicks, 0) ?? 0
  const spent = data?.days.reduce((sum, day) => sum + BigInt(day.spentNanos), 0n) ?? 0n
  return (
    <div className="grid gap-3 sm:grid-cols-2 lg:grid-cols-4">
      <Stat
        label="Balance"
        value={data && <Money nanos={data.balanceNanos} />}
        note="of prepaid credit"
        leadsTo={{ to: `${base}/wallet` }}
      />
      <Stat label="Spent today" value={data && <Money nanos={data.spentTodayNanos} />} note="since midnight UTC" />
      <Stat
        label="Spent in 30 days"
        value={data && <Money nanos={String(spent)} />}
        note={clicks === 0 ? 'No paid clicks' : formatCounted(clicks, 'paid click')}
      />
      <Stat
        label="Campaigns running"
        value={data && `${formatCount(data.activeCampaigns)} of ${formatCount(data.campaigns)}`}
        note={data && `with ${formatCounted(data.offers, 'offer')}`}
        leadsTo={{ to: `${base}/campaigns` }}
      />
    </div>
  )
}

function chartOf({ days }: Overview): ChartProps {
  return {
    label: 'What paid clicks have cost on each of the last 30 days',
    kind: 'bars',
    series: [{ id: 'spent', label: 'Spend', colour: 'var(--chart-1)' }],
    points: days.map(({ at, spentNanos }) => ({ at, values: { spent: Number(spentNanos) / NANOS_PER_DOLLAR } })),
    every: 'day',
    format: (value) => formatMoney(BigInt(Math.round(value * NANOS_PER_DOLLAR))),
  }
}
