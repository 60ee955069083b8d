import { Users } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { Avatar } from '../../components/avatar.tsx'
import { Badge, Status } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Time } from '../../components/figures.tsx'
import { EmptyState } from '../../components/states.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import type { Role } from '../../page.ts'
import { MemberMenu } from './member-menu.tsx'
import type { AdvertiserRole, Invitation, Member, Team } from './team.ts'

export interface TeamTablesProps<R extends Role | AdvertiserRole> {
  team: Team<R>
  /** Undefined: they are still being read. */
  people: { members: Member[]; invitations: Invitation[] } | undefined
  error: Error | null
  onRetry(): void
  note?: ReactNode
  skeletonRows?: number
}

/** The members of a publisher or an advertiser, and below them who is invited. */
export function TeamTables<R extends Role | AdvertiserRole>(props: TeamTablesProps<R>) {
  const { team, people, error, onRetry, note, skeletonRows = 3 } = props
  return (
    <>
      <DataTable
        label="Members"
        columns={memberColumns(team)}
        rows={people?.members}
        keyOf={({ id }) => id}
        error={error}
        onRetry={onRetry}
        skeletonRows={skeletonRows}
        note={note}
        empty={
          <EmptyState icon={Users} title="No members">
            Members appear when they accept an invitation.
          </EmptyState>
        }
      />
      {people && people.invitations.length > 0 && (
        <section className="mt-8">
          <h2 className="mb-3 text-base font-semibold">Pending invitations</h2>
          <DataTable
            label="Invitations"
            columns={invitationColumns(team)}
            rows={people.invitations}
            keyOf={({ id }) => id}
            empty={null}
          />
        </section>
      )}
    </>
  )
}

function memberColumns<R extends Role | AdvertiserRole>(team: Team<R>): Column<Member>[] {
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
      cell: (member) => <MemberMenu member={member} team={team} />,
    },
  ]
}

type Withdrawing = Pick<Team<Role>, 'mayChange' | 'withdraw'>

function invitationColumns(team: Withdrawing): Column<Invitation>[] {
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
      cell: (invitation) => team.mayChange && <WithdrawButton team={team} invitation={invitation} />,
    },
  ]
}

function WithdrawButton({ team, invitation: { id, email } }: { team: Withdrawing; invitation: Invitation }) {
  const [isBusy, setBusy] = useState(false)
  async function press(): Promise<void> {
    setBusy(true)
    try {
      await team.withdraw(id)
      toast(`The invitation to ${email} is withdrawn.`)
    } catch (error) {
      toastError(error)
    }
    setBusy(false)
  }
  return (
    <Button size="sm" isBusy={isBusy} onClick={() => void press()} aria-label={`Withdraw the invitation to ${email}`}>
      Withdraw
    </Button>
  )
}
