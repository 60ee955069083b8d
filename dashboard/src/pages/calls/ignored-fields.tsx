import { TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import type { Reply } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { classes } from '../../components/classes.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Nothing, Time } from '../../components/figures.tsx'
import { Notice } from '../../components/notice.tsx'
import { formatCountExactly } from '../../formats.ts'
import { useApi } from '../../queries.ts'

export type IgnoredField = Reply<'GET /api/projects/:project/ignored-fields'>['items'][number]

export interface IgnoredFields {
  fields: IgnoredField[]
  isOpen: boolean
  toggle(): void
}

export function useIgnoredFields(project: string): IgnoredFields {
  const { data } = useApi('GET /api/projects/:project/ignored-fields', { params: { project } })
  const [isOpen, setOpen] = useState(false)
  return { fields: data?.items ?? [], isOpen, toggle: () => setOpen(!isOpen) }
}

/** Seen only when there are some; its room is always there, so that nothing moves when they are known. */
export function IgnoredFieldsButton({ fields, isOpen, toggle }: IgnoredFields) {
  return (
    <span className={classes('max-sm:order-last', fields.length === 0 && 'invisible')}>
      <Button
        aria-expanded={isOpen}
        title="Fields of your requests that have no effect"
        icon={<TriangleAlert aria-hidden className="text-warn" />}
        onClick={toggle}
      >
        Ignored fields
      </Button>
    </span>
  )
}

export function IgnoredFieldsList({ fields }: { fields: IgnoredField[] }) {
  return (
    <div className="mb-6 flex flex-col gap-3">
      <Notice tone="warn">
        Requests in the last 30 days had fields that Parley does not know. They were answered as if those fields had not
        been sent.
      </Notice>
      <DataTable label="Ignored fields" columns={COLUMNS} rows={fields} keyOf={({ name }) => name} empty={null} />
    </div>
  )
}

const COLUMNS: Column<IgnoredField>[] = [
  { label: 'Field', isTitle: true, cell: ({ name }) => <FieldName name={name} /> },
  {
    label: 'Did you mean',
    cell: ({ suggestion }) => (suggestion === null ? <Nothing /> : <FieldName name={suggestion} />),
  },
  { label: 'Last sent', cell: ({ lastAt }) => <Time iso={lastAt} /> },
  {
    label: 'Requests',
    align: 'right',
    cell: ({ times }) => <span className="tabular">{formatCountExactly(times)}</span>,
  },
]

function FieldName({ name }: { name: string }) {
  return <code className="font-mono text-sm [overflow-wrap:anywhere]">{name}</code>
}
