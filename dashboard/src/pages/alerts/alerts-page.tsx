import { BellOff, History as HistoryIcon } from 'lucide-react'
import type { Item } from '../../api.ts'
import { Status } from '../../components/badge.tsx'
import { Card } from '../../components/card.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Time } from '../../components/figures.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { pagingOf, useApi, useApiList } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { EndpointsSection } from './endpoints-section.tsx'
import { RulesCard } from './rules-card.tsx'

type Alert = Item<'GET /api/projects/:project/alert-history'>

const EVERY_MS = 30_000

export function AlertsPage() {
  const project = useProject()
  const params = { project: project.id }
  const alerts = useApi('GET /api/projects/:project/alerts', { params }, { everyMs: EVERY_MS })
  const endpoints = useApi('GET /api/projects/:project/webhooks', { params }, { enabled: project.may('admin') })
  // Everything but the last table comes at once: what stands below is never moved by what comes later.
  const isLoading = !alerts.data || endpoints.isLoading
  return (
    <>
      <PageHeader
        title="Alerts"
        context={project.name}
        docs="webhooks"
        description="Owners and admins get an email when something needs their attention. Your own servers can be told too."
      />
      {alerts.error && !alerts.data ? (
        <ErrorState error={alerts.error} onRetry={() => void alerts.refetch()} />
      ) : isLoading ? (
        <Card title="Alerts">
          <SkeletonLines count={12} />
        </Card>
      ) : (
        <div className="flex flex-col gap-8">
          <OpenAlerts alerts={alerts.data.open} />
          <RulesCard rules={alerts.data.rules} />
          {project.may('admin') && <EndpointsSection />}
          <History />
        </div>
      )}
    </>
  )
}

function OpenAlerts({ alerts }: { alerts: Alert[] }) {
  return (
    <section>
      <h2 className="mb-3 text-base font-semibold">Open now</h2>
      <DataTable
        label="Open alerts"
        columns={OPEN}
        rows={alerts}
        keyOf={({ id }) => id}
        empty={
          <EmptyState icon={BellOff} title="No open alerts">
            Nothing needs your attention. Parley checks every minute.
          </EmptyState>
        }
      />
    </section>
  )
}

function History() {
  const project = useProject()
  const call = { params: { project: project.id }, query: { limit: 20 } }
  const history = useApiList('GET /api/projects/:project/alert-history', call)
  return (
    <section>
      <h2 className="mb-3 text-base font-semibold">History</h2>
      <DataTable
        label="Closed alerts"
        columns={HISTORY}
        rows={history.items}
        keyOf={({ id }) => id}
        skeletonRows={3}
        {...pagingOf(history)}
        note="Alerts are kept for 90 days after they close."
        empty={
          <EmptyState icon={HistoryIcon} title="Nothing has happened yet">
            Closed alerts are listed here.
          </EmptyState>
        }
      />
    </section>
  )
}

const WHAT: Column<Alert>[] = [
  { label: 'Alert', isTitle: true, width: 'w-40', cell: ({ title }) => <span className="font-medium">{title}</span> },
  { label: 'What happened', cell: ({ sentence }) => <bdi className="text-sm">{sentence}</bdi> },
]

const OPEN: Column<Alert>[] = [
  ...WHAT,
  { label: 'Since', width: 'w-44', cell: ({ openedAt }) => <Time iso={openedAt} as="age" /> },
  { label: 'State', width: 'w-24', cell: () => <Status tone="bad">Open</Status> },
]

const HISTORY: Column<Alert>[] = [
  ...WHAT,
  { label: 'Opened', width: 'w-44', cell: ({ openedAt }) => <Time iso={openedAt} /> },
  { label: 'Closed', width: 'w-44', cell: ({ closedAt }) => <Time iso={closedAt} /> },
]
