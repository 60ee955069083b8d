import { ExternalLink, Receipt } from 'lucide-react'
import { useState } from 'react'
import { api, type Item } from '../../api.ts'
import { Status } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Money, Nothing, Time } from '../../components/figures.tsx'
import { EmptyState } from '../../components/states.tsx'
import { toastError } from '../../components/toast.tsx'
import { formatMoney } from '../../formats.ts'
import { pagingOf, useApiList } from '../../queries.ts'
import { useProject } from '../../session.ts'

type TopUp = Item<'GET /api/projects/:project/top-ups'>

/** The payments that were requested, by whom, and their outcome. */
export function TopUps() {
  const project = useProject()
  const topUps = useApiList('GET /api/projects/:project/top-ups', { params: { project: project.id }, query: {} })
  return (
    <section aria-labelledby="top-ups">
      <h2 id="top-ups" className="mb-3 text-base font-semibold">
        Top-ups
      </h2>
      <DataTable
        label="Top-ups"
        columns={columnsFor(project.may('admin'))}
        rows={topUps.items}
        keyOf={({ id }) => id}
        skeletonRows={2}
        {...pagingOf(topUps)}
        empty={
          <EmptyState icon={Receipt} title="No top-ups yet">
            Every payment appears here, with its invoice or receipt.
          </EmptyState>
        }
      />
    </section>
  )
}

function columnsFor(isAdmin: boolean): Column<TopUp>[] {
  return [
    {
      label: 'Type',
      isTitle: true,
      cell: ({ isAutomatic }) => <span className="font-medium">{isAutomatic ? 'Automatic' : 'By hand'}</span>,
    },
    { label: 'Time', width: 'w-44', cell: ({ createdAt }) => <Time iso={createdAt} /> },
    { label: 'State', cell: (topUp) => <State topUp={topUp} /> },
    { label: 'Amount', align: 'right', width: 'w-40', cell: (topUp) => <Amount topUp={topUp} /> },
    ...(isAdmin
      ? [{ label: 'Invoice', align: 'right' as const, width: 'w-32', cell: (topUp: TopUp) => <Paper topUp={topUp} /> }]
      : []),
  ]
}

const STATES: Record<TopUp['state'], { tone: 'good' | 'bad' | 'neutral' | 'waiting'; label: string }> = {
  open: { tone: 'neutral', label: 'Not paid yet' },
  pending: { tone: 'waiting', label: 'Being charged' },
  paid: { tone: 'good', label: 'Paid' },
  not_paid: { tone: 'neutral', label: 'Not paid' },
  failed: { tone: 'bad', label: 'Declined' },
  refunded: { tone: 'neutral', label: 'Refunded' },
}

function State({ topUp }: { topUp: TopUp }) {
  const { tone, label } = STATES[topUp.state]
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <Status tone={tone}>{label}</Status>
      {topUp.failure !== null && <span className="text-sm text-muted">{topUp.failure}</span>}
    </span>
  )
}

function Amount({ topUp: { amountNanos, taxNanos } }: { topUp: TopUp }) {
  return (
    <span className="flex flex-col items-end">
      <Money nanos={amountNanos} />
      {taxNanos !== '0' && <span className="text-sm text-muted">and {formatMoney(taxNanos)} of tax</span>}
    </span>
  )
}

/** Asked for when it is pressed: Stripe keeps invoices, and its addresses of them do not live for ever. */
function Paper({ topUp: { id, state, isAutomatic, createdAt } }: { topUp: TopUp }) {
  const project = useProject()
  const [isBusy, setBusy] = useState(false)
  if (state !== 'paid' && state !== 'refunded') return <Nothing />

  async function open(): Promise<void> {
    setBusy(true)
    try {
      const call = { params: { project: project.id, payment: id } }
      const { url } = await api('GET /api/projects/:project/top-ups/:payment/invoice', call)
      window.location.assign(url)
    } catch (error) {
      toastError(error)
      setBusy(false)
    }
  }
  const label = isAutomatic ? 'Receipt' : 'Invoice'
  return (
    <Button
      size="sm"
      look="ghost"
      icon={<ExternalLink aria-hidden />}
      isBusy={isBusy}
      aria-label={`${label} of ${createdAt.slice(0, 10)}`}
      onClick={() => void open()}
    >
      {label}
    </Button>
  )
}
