import { Sparkles } from 'lucide-react'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { CarriedState } from '../../components/carried-recommendation.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Money, Time } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { EmptyState } from '../../components/states.tsx'
import { pagingOf, useApiList } from '../../queries.ts'
import { useProject } from '../../session.ts'
import type { Mode, Recommendation } from './monetization.ts'
import { useBlocking, type Blocking } from './use-blocking.ts'

const ROWS = 10
const EVERY_MS = 30_000

export function RecentRecommendations({ mode }: { mode: Mode }) {
  const project = useProject()
  const blocking = useBlocking()
  const call = { params: { project: project.id }, query: { limit: ROWS } }
  const list = useApiList('GET /api/projects/:project/recommendations', call, { everyMs: EVERY_MS })
  return (
    <section aria-labelledby="recent">
      <h2 id="recent" className="text-base font-semibold">
        {mode === 'test' ? 'What would have been recommended' : 'Recent recommendations'}
      </h2>
      <p className="mb-3 text-sm text-muted">
        Newest first. What was said stays in the conversation; only the recommendation is shown here.
      </p>
      <DataTable
        label="Recommendations"
        columns={columnsFor(project.id, project.may('admin') ? blocking : undefined)}
        rows={list.items}
        keyOf={({ id }) => id}
        {...pagingOf(list)}
        skeletonRows={5}
        empty={
          <EmptyState icon={Sparkles} title="No recommendations yet">
            {mode === 'off'
              ? 'In test mode you see here what would be recommended, before any reader does.'
              : 'Most conversations are not about anything to buy. The table above shows how each call ended.'}
          </EmptyState>
        }
      />
    </section>
  )
}

/** Without somebody who may block, there is no column for it. */
function columnsFor(projectId: string, blocking: Blocking | undefined): Column<Recommendation>[] {
  return [
    { label: 'Offer', isTitle: true, cell: (row) => <Offer row={row} /> },
    { label: 'State', width: 'w-28', cell: ({ state }) => <CarriedState state={state} /> },
    { label: 'Turn', align: 'right', width: 'w-16', cell: ({ turn }) => <span className="tabular">{turn}</span> },
    {
      label: 'Relevance',
      align: 'right',
      width: 'w-24',
      cell: ({ relevance }) => <span className="tabular">{relevance.toFixed(2)}</span>,
    },
    {
      label: 'Per click',
      align: 'right',
      width: 'w-24',
      cell: ({ priceNanos }) => <Money nanos={priceNanos} isCoarse className="text-earn" />,
    },
    { label: 'When', align: 'right', width: 'w-28', cell: ({ at }) => <Time iso={at} as="age" /> },
    {
      label: 'Call',
      width: 'w-24',
      cell: ({ call }) => (
        <Link to={`/projects/${projectId}/calls/${call}`} className="text-sm whitespace-nowrap">
          See the call
        </Link>
      ),
    },
    ...(blocking
      ? [
          {
            label: 'Block',
            isActions: true,
            width: 'w-24',
            cell: ({ advertiser }: Recommendation) => (
              <Button
                size="sm"
                look={advertiser.isBlocked ? 'secondary' : 'ghost'}
                isBusy={blocking.busyWith === advertiser.id}
                aria-label={`${advertiser.isBlocked ? 'Unblock' : 'Block'} ${advertiser.name}`}
                onClick={() => blocking.set(advertiser, !advertiser.isBlocked)}
              >
                {advertiser.isBlocked ? 'Unblock' : 'Block'}
              </Button>
            ),
          },
        ]
      : []),
  ]
}

function Offer({ row }: { row: Recommendation }) {
  const { headline, advertiser } = row
  return (
    <span className="block min-w-0">
      <span className="block font-medium">{headline}</span>
      <span className="flex flex-wrap items-center gap-x-2 text-sm font-normal text-muted">
        {advertiser.name}
        {advertiser.isBlocked && <Badge tone="bad">Blocked</Badge>}
      </span>
    </span>
  )
}
