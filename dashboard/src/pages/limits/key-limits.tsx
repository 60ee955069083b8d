import { KeyRound } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Link } from '../../components/link.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useProject } from '../../session.ts'
import { LimitBars } from './limit-bars.tsx'
import type { Limits } from './limit-lines.ts'

export type LimitedKey = Limits['keys'][number]

export interface KeyLimitsProps {
  keys: LimitedKey[]
  /** False for who may only look. */
  onEdit: ((pair: LimitedKey) => void) | false
}

export function KeyLimits({ keys, onEdit }: KeyLimitsProps) {
  const project = useProject()
  return (
    <section aria-labelledby="key-limits">
      <h2 id="key-limits" className="mb-3 text-base font-semibold">
        Key pairs
      </h2>
      <DataTable
        label="Limits of key pairs"
        columns={columnsWith(onEdit)}
        rows={keys}
        keyOf={({ id }) => id}
        empty={
          <EmptyState
            icon={KeyRound}
            title="No key pairs yet"
            action={
              <Link to={`/projects/${project.id}/keys`} look="secondary">
                API keys
              </Link>
            }
          >
            Each key pair can have budgets and rates of its own, besides those of the project.
          </EmptyState>
        }
      />
    </section>
  )
}

function columnsWith(onEdit: KeyLimitsProps['onEdit']): Column<LimitedKey>[] {
  return [
    { label: 'Key pair', isTitle: true, width: 'w-2/5', cell: (pair) => <Name pair={pair} /> },
    {
      label: 'Limits',
      cell: (pair) => (
        <div className="py-1.5 text-left max-sm:w-full">
          <LimitBars {...pair} />
        </div>
      ),
    },
    {
      label: 'Actions',
      isActions: 'menu',
      width: 'w-20',
      cell: (pair) =>
        onEdit && (
          <Button size="sm" aria-label={`Edit the limits of ${pair.name}`} onClick={() => onEdit(pair)}>
            Edit
          </Button>
        ),
    },
  ]
}

function Name({ pair: { name, publishableKey, pairs } }: { pair: LimitedKey }) {
  return (
    <span className="block min-w-0 py-1.5 leading-tight max-sm:pr-16">
      <span className="block font-medium [overflow-wrap:anywhere]">{name}</span>
      <span className="block font-mono text-xs font-normal break-all text-muted">{publishableKey}</span>
      {pairs > 1 && (
        <span className="block text-xs font-normal text-muted">
          {pairs === 2 ? 'Includes the pair it replaced.' : `And the ${pairs - 1} pairs it replaced.`}
        </span>
      )}
    </span>
  )
}
