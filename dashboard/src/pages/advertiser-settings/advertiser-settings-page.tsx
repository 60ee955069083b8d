import { Users } from 'lucide-react'
import { Avatar } from '../../components/avatar.tsx'
import { Badge, Status } from '../../components/badge.tsx'
import { Card } from '../../components/card.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Time } from '../../components/figures.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useApi } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import { DomainSection } from './domain-section.tsx'
import { MemberMenu, type Member } from './member-menu.tsx'

export function AdvertiserSettingsPage() {
  const advertiser = useAdvertiser()
  const params = { advertiser: advertiser.id }
  const members = useApi('GET /api/advertisers/:advertiser/members', { params })
  const domain = useApi('GET /api/advertisers/:advertiser/domain', { params })
  return (
    <>
      <PageHeader
        title="Settings"
        context={advertiser.name}
        description="What this advertiser is called, where its products are sold, and who acts for it."
      />
      <div className="flex flex-col gap-6">
        <CompanyCard />
        <DomainSection />
        {/* How tall the domain's part is, is known with it. */}
        {(domain.data ?? domain.error) && (
          <section>
            <h2 className="mb-3 text-base font-semibold">Members</h2>
            <DataTable
              label="Members"
              columns={columnsFor(advertiser.may('admin'))}
              rows={members.data?.items}
              keyOf={({ id }) => id}
              error={members.error}
              onRetry={() => void members.refetch()}
              skeletonRows={2}
              note="Admins also pay and manage members, editors also change campaigns, viewers see everything. The operator of this installation adds members."
              empty={
                <EmptyState icon={Users} title="No members">
                  The operator of this installation adds members.
                </EmptyState>
              }
            />
          </section>
        )}
      </div>
    </>
  )
}

const STATUSES = {
  pending: <Status tone="waiting">Pending</Status>,
  active: <Status tone="good">Active</Status>,
  suspended: <Status tone="bad">Suspended</Status>,
}

function CompanyCard() {
  const { id, name, domain, status } = useAdvertiser()
  const { data, error } = useApi('GET /api/advertisers/:advertiser', { params: { advertiser: id } })
  const legalName = data ? (data.legalName ?? 'Not given') : error ? 'Not known' : <Skeleton className="h-5 w-40" />
  const facts = [
    { label: 'Shown name', value: name },
    { label: 'Legal name', value: legalName },
    { label: 'Domain', value: <code className="font-mono">{domain}</code> },
  ]
  return (
    <Card
      title="Company"
      description="Readers see the shown name before each recommendation. Every link leads to the domain or below it."
      action={STATUSES[status]}
      footer={<p className="text-sm text-muted">To change any of these, ask the operator of this installation.</p>}
    >
      <dl className="grid gap-x-6 gap-y-3 sm:grid-cols-3">
        {facts.map(({ label, value }) => (
          <div key={label} className="min-w-0">
            <dt className="text-sm text-muted">{label}</dt>
            <dd className="mt-0.5 truncate font-medium">{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}

function columnsFor(mayChange: boolean): Column<Member>[] {
  return [
    {
      label: 'Name',
      isTitle: true,
      cell: ({ name, email, isYou }) => (
        <span className="flex items-center gap-3">
          <Avatar name={name} />
          <span className="min-w-0 leading-tight">
            <span className="block truncate font-medium">
              {name} {isYou && <span className="font-normal text-muted">(you)</span>}
            </span>
            <span className="block truncate text-sm font-normal text-muted">{email}</span>
          </span>
        </span>
      ),
    },
    { label: 'Role', width: 'w-32', cell: ({ role }) => <Badge>{role}</Badge> },
    { label: 'Since', width: 'w-36', cell: ({ createdAt }) => <Time iso={createdAt} as="age" /> },
    {
      label: 'Actions',
      isActions: 'menu',
      width: 'w-14',
      cell: (member) => <MemberMenu member={member} mayChange={mayChange} />,
    },
  ]
}
