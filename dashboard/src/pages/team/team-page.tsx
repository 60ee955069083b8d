import { UserPlus } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { useDialogInAddress } from '../../filters.ts'
import { useApi } from '../../queries.ts'
import { usePublisher } from '../../session.ts'
import { InviteDialog } from './invite-dialog.tsx'
import { TeamTables } from './team-tables.tsx'
import { usePublisherTeam } from './use-publisher-team.ts'

export function TeamPage() {
  const publisher = usePublisher()
  const team = usePublisherTeam()
  const [isInviting, setInviting] = useDialogInAddress('invite')
  const people = useApi('GET /api/publishers/:publisher/team', { params: { publisher: publisher.id } })
  const invite = team.mayChange && (
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
      <TeamTables team={team} people={people.data} error={people.error} onRetry={() => void people.refetch()} />
      <InviteDialog isOpen={isInviting && team.mayChange} onClose={() => setInviting(false)} team={team} />
    </>
  )
}
