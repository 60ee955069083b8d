import { Badge } from '../../components/badge.tsx'
import { Card } from '../../components/card.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Time } from '../../components/figures.tsx'
import type { Reply } from '../../api.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'

const EVERY_MS = 60_000

type Reported = Reply<'GET /api/projects/:project/monetization/reports'>['items'][number]

/** The offers that readers reported. Most projects never have any: then nothing is shown. */
export function ReportedOffers() {
  const project = useProject()
  const call = { params: { project: project.id } }
  const { data } = useApi('GET /api/projects/:project/monetization/reports', call, { everyMs: EVERY_MS })
  if (!data || data.items.length === 0) return null
  return (
    <Card
      title="Reported by readers"
      description={`Readers can report an advertisement. At ${data.reportsToStop} reports from different networks it is no longer recommended in this project until the operator has reviewed it.`}
      isFlush
    >
      <DataTable
        label="Reported offers"
        columns={COLUMNS}
        rows={data.items}
        keyOf={({ offer }) => offer}
        empty={null}
      />
    </Card>
  )
}

const COLUMNS: Column<Reported>[] = [
  { label: 'Offer', isTitle: true, cell: (row) => <Offer row={row} /> },
  {
    label: 'State',
    width: 'w-28',
    cell: ({ isStopped }) => (isStopped ? <Badge tone="warn">Stopped</Badge> : <Badge>Shown</Badge>),
  },
  { label: 'Reason', width: 'w-56', cell: ({ reason }) => reason ?? <span className="text-muted">None given</span> },
  {
    label: 'Reports',
    align: 'right',
    width: 'w-20',
    cell: ({ reports }) => <span className="tabular">{reports}</span>,
  },
  { label: 'Last', align: 'right', width: 'w-28', cell: ({ at }) => <Time iso={at} as="age" /> },
]

function Offer({ row: { headline, advertiser } }: { row: Reported }) {
  return (
    <span className="block min-w-0">
      <span className="block font-medium">{headline}</span>
      <span className="block text-sm font-normal text-muted">{advertiser}</span>
    </span>
  )
}
