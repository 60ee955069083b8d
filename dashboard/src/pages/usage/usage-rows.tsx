import { useState } from 'react'
import { Card } from '../../components/card.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Money, Tokens } from '../../components/figures.tsx'
import { Button } from '../../components/button.tsx'
import { momentSpan } from '../../calls-address.ts'
import { decimalsOf } from '../../formats.ts'
import { Count } from './count.tsx'
import { GroupLink } from './group-link.tsx'
import { rowsOf, type Row, type Usage } from './shown.ts'

const STEP = 50

/** The numbers behind the charts. */
export function UsageRows({ usage, projectId }: { usage: Usage; projectId: string | undefined }) {
  const [isOpen, setOpen] = useState(false)
  const [shown, setShown] = useState(STEP)
  const rows = rowsOf(usage)
  const button = (
    <Button size="sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
      {isOpen ? 'Hide' : 'Show'}
    </Button>
  )
  return (
    <Card
      title="The numbers behind the charts"
      description="One row for each segment of each bar, as in the CSV."
      action={button}
      isFlush
    >
      {isOpen ? (
        <DataTable
          label="Usage in numbers"
          columns={columnsFor(usage, projectId)}
          rows={rows.slice(0, shown)}
          keyOf={({ at, id }) => `${at}/${id}`}
          hasMore={rows.length > shown}
          onLoadMore={() => setShown(shown + STEP)}
          empty={null}
        />
      ) : (
        <span className="block h-0" />
      )}
    </Card>
  )
}

const TOKENS = [
  ['input', 'Input'],
  ['cachedInput', 'Cached'],
  ['cacheWrite', 'Cache write'],
  ['output', 'Output'],
  ['reasoning', 'Reasoning'],
] as const

function columnsFor(usage: Usage, projectId: string | undefined): Column<Row>[] {
  const { every, by, totals } = usage
  const decimals = decimalsOf([totals, ...rowsOf(usage)].map(({ chargedNanos }) => chargedNanos))
  const counted = (label: string, row: Row, count: number, outcome?: 'failed') => (
    <GroupLink
      usage={usage}
      group={row.id}
      projectId={projectId}
      span={momentSpan(row.at, every)}
      of={`${label} of ${row.label} from ${row.at.slice(0, 16).replace('T', ' ')} UTC`}
      {...(outcome && { outcome })}
    >
      <Count of={count} />
    </GroupLink>
  )
  return [
    {
      label: every === 'day' ? 'Day (UTC)' : 'Hour (UTC)',
      isTitle: true,
      cell: ({ at }) => (
        <span className="tabular">{every === 'day' ? at.slice(0, 10) : at.slice(0, 16).replace('T', ' ')}</span>
      ),
    },
    { label: by === 'model' ? 'Model' : by === 'key' ? 'Key' : 'Project', cell: ({ label }) => label },
    {
      label: 'Calls',
      align: 'right',
      cell: (row) => counted('calls', row, row.calls),
      total: <Count of={totals.calls} />,
    },
    {
      label: 'Failed',
      align: 'right',
      cell: (row) => counted('failed calls', row, row.failed, 'failed'),
      total: <Count of={totals.failed} />,
    },
    ...TOKENS.map(([name, label]): Column<Row> => ({
      label,
      align: 'right',
      cell: ({ tokens }) => <Tokens count={tokens[name]} />,
      total: <Tokens count={totals.tokens[name]} />,
    })),
    {
      label: 'Spend',
      align: 'right',
      cell: ({ chargedNanos }) => <Money nanos={chargedNanos} decimals={decimals} />,
      total: <Money nanos={totals.chargedNanos} decimals={decimals} />,
    },
  ]
}
