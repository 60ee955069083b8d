import { useState } from 'react'
import { Card } from '../../components/card.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Money, Tokens } from '../../components/figures.tsx'
import { Button } from '../../components/button.tsx'
import { Count } from './count.tsx'
import { rowsOf, type Row, type Usage } from './shown.ts'

const STEP = 50

/** The numbers behind the charts. */
export function UsageRows({ usage }: { usage: Usage }) {
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
      description="One row for each part of each bar, as in the CSV."
      action={button}
      isFlush
    >
      {isOpen ? (
        <DataTable
          label="Usage in numbers"
          columns={columnsFor(usage)}
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

function columnsFor({ every, by }: Usage): Column<Row>[] {
  return [
    {
      label: every === 'day' ? 'Day (UTC)' : 'Hour (UTC)',
      isTitle: true,
      cell: ({ at }) => (
        <span className="tabular">{every === 'day' ? at.slice(0, 10) : at.slice(0, 16).replace('T', ' ')}</span>
      ),
    },
    { label: by === 'model' ? 'Model' : by === 'key' ? 'Key' : 'Project', cell: ({ label }) => label },
    { label: 'Calls', align: 'right', cell: ({ calls }) => <Count of={calls} /> },
    { label: 'Failed', align: 'right', cell: ({ failed }) => <Count of={failed} /> },
    { label: 'Input', align: 'right', cell: ({ tokens }) => <Tokens count={tokens.input} /> },
    { label: 'Cached', align: 'right', cell: ({ tokens }) => <Tokens count={tokens.cachedInput} /> },
    { label: 'Cache write', align: 'right', cell: ({ tokens }) => <Tokens count={tokens.cacheWrite} /> },
    { label: 'Output', align: 'right', cell: ({ tokens }) => <Tokens count={tokens.output} /> },
    { label: 'Reasoning', align: 'right', cell: ({ tokens }) => <Tokens count={tokens.reasoning} /> },
    { label: 'Spend', align: 'right', cell: ({ chargedNanos }) => <Money nanos={chargedNanos} /> },
  ]
}
