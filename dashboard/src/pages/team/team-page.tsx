import { UserPlus, Users } from 'lucide-react'
import { Avatar } from '../../components/avatar.tsx'
import { Badge, Status } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Time } from '../../components/figures.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useDialogInAddress } from '../../filters.ts'
import { useApi } from '../../queries.ts'
import { usePublisher } from '../../session.ts'
import { InviteDialog } from './invite-dialog.tsx'
import { MemberMenu } from './member-menu.tsx'
import type { Invitation, Member } from './team.ts'
import { WithdrawButton } from './withdraw-button.tsx'

export function TeamPage() {
  const publisher = usePublisher()
  const [isInviting, setInviting] = useDialogInAddress('invite')
  const team = useApi('GET /api/publishers/:publisher/team', { params: { publisher: publisher.id } })
  const invite = publisher.may('admin') && (
    <Button look="primary" icon={<UserPlus aria-hidden />} onClick={() => setInviting(true)}>
      Invite
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Team"
        context={publisher.name}
        description={`Who works on the projects of ${publisher.name}, and what they can do.`}
        action={invite}
      />
      <DataTable
        label="Members"
        columns={memberColumns(publisher.id, publisher.may('admin'))}
        rows={team.data?.members}
        keyOf={({ id }) => id}
        error={team.error}
        onRetry={() => void team.refetch()}
        skeletonRows={3}
        empty={
          <EmptyState icon={Users} title="No members">
            Members appear when they accept an invitation.
          </EmptyState>
        }
      />
      {team.data && team.data.invitations.length > 0 && (
        <section className="mt-8">
          <h2 className="mb-3 text-base font-semibold">Pending invitations</h2>
          <DataTable
            label="Invitations"
            columns={invitationColumns(publisher.id, publisher.may('admin'))}
            rows={team.data.invitations}
            keyOf={({ id }) => id}
            empty={null}
          />
        </section>
      )}
      <InviteDialog
        isOpen={isInviting && publisher.may('admin')}
        onClose={() => setInviting(false)}
        publisher={publisher}
      />
    </>
  )
}

function memberColumns(publisher: string, mayChange: boolean): Column<Member>[] {
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
    {
      label: 'Two-factor',
      width: 'w-32',
      cell: ({ twoFactorEnabled }) => (
        <Status tone={twoFactorEnabled ? 'good' : 'neutral'}>{twoFactorEnabled ? 'On' : 'Off'}</Status>
      ),
    },
    { label: 'Joined', width: 'w-36', cell: ({ createdAt }) => <Time iso={createdAt} as="age" /> },
    {
      label: 'Actions',
      isActions: 'menu',
      width: 'w-14',
      cell: (member) => <MemberMenu member={member} publisher={publisher} mayChange={mayChange} />,
    },
  ]
}

function invitationColumns(publisher: string, mayChange: boolean): Column<Invitation>[] {
  return [
    { label: 'Email', isTitle: true, cell: ({ email }) => <span className="block truncate">{email}</span> },
    { label: 'Role', width: 'w-32', cell: ({ role }) => <Badge>{role}</Badge> },
    {
      label: 'Invited by',
      width: 'w-44',
      cell: ({ invitedBy }) => <span className="block truncate">{invitedBy}</span>,
    },
    { label: 'Ends', width: 'w-36', cell: ({ expiresAt }) => <Time iso={expiresAt} as="age" /> },
    {
      label: 'Actions',
      isActions: true,
      width: 'w-28',
      cell: (each) => mayChange && <WithdrawButton publisher={publisher} invitation={each.id} email={each.email} />,
    },
  ]
}
