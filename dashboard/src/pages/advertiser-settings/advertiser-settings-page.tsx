import { UserPlus } from 'lucide-react'
import { Status } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { useDialogInAddress } from '../../filters.ts'
import { useApi } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import { InviteDialog } from '../team/invite-dialog.tsx'
import { TeamTables } from '../team/team-tables.tsx'
import { DomainSection } from './domain-section.tsx'
import { useAdvertiserTeam } from './use-advertiser-team.ts'

export function AdvertiserSettingsPage() {
  const advertiser = useAdvertiser()
  const domain = useApi('GET /api/advertisers/:advertiser/domain', { params: { advertiser: advertiser.id } })
  return (
    <>
      <PageHeader
        title="Settings"
        context={advertiser.name}
        description="The advertiser’s name, where its products are sold, and who acts for it."
      />
      <div className="flex flex-col gap-6">
        <CompanyCard />
        <DomainSection />
        {/* How tall the domain's part is, is known with it. */}
        {(domain.data ?? domain.error) && <Members />}
      </div>
    </>
  )
}

function Members() {
  const { id: advertiser } = useAdvertiser()
  const team = useAdvertiserTeam()
  const [isInviting, setInviting] = useDialogInAddress('invite')
  const people = useApi('GET /api/advertisers/:advertiser/members', { params: { advertiser } })
  return (
    <section>
      <div className="mb-3 flex items-center justify-between gap-3">
        <h2 className="text-base font-semibold">Members</h2>
        {team.mayChange && (
          <Button size="sm" icon={<UserPlus aria-hidden />} onClick={() => setInviting(true)}>
            Invite
          </Button>
        )}
      </div>
      <TeamTables
        team={team}
        people={people.data}
        error={people.error}
        onRetry={() => void people.refetch()}
        skeletonRows={2}
        note="Admins also pay and manage members, editors also change campaigns, viewers see everything."
      />
      <InviteDialog isOpen={isInviting && team.mayChange} onClose={() => setInviting(false)} team={team} />
    </section>
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
      description="Readers see the shown name before each recommendation. Every link leads to the domain or a subdomain."
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
