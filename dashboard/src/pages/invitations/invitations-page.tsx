import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, type Item } from '../../api.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Time } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { useApi } from '../../queries.ts'
import { readMeAgain, useMe } from '../../session.ts'
import { FrameCard } from '../../shell/frame-card.tsx'

type Invitation = Item<'GET /api/me/invitations'>

/** The mail of an invitation leads here. */
export function InvitationsPage() {
  const { user } = useMe()
  const { data, error, refetch } = useApi('GET /api/me/invitations', {})
  return (
    <FrameCard
      title="Invitations"
      description="Publishers and advertisers that want to work with you."
      below={data && <Link to="/">Go to the console</Link>}
    >
      {!user.emailVerified && (
        <Notice tone="warn">
          Confirm your email address first: invitations to {user.email} appear here afterwards.
        </Notice>
      )}
      {error && data === undefined && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data === undefined && !error && <SkeletonLines count={2} />}
      {data?.items.length === 0 && user.emailVerified && <Notice>No pending invitation for {user.email}.</Notice>}
      <ul className="mt-4 flex flex-col gap-4 first:mt-0">
        {data?.items.map((invitation) => (
          <InvitationCard key={invitation.id} invitation={invitation} />
        ))}
      </ul>
    </FrameCard>
  )
}

function InvitationCard({ invitation }: { invitation: Invitation }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [busy, setBusy] = useState<'accept' | 'decline'>()
  const params = { invitation: invitation.id }

  async function answer(verb: 'accept' | 'decline'): Promise<void> {
    setBusy(verb)
    try {
      const joined =
        verb === 'accept' ? await api('POST /api/me/invitations/:invitation/accept', { params }) : undefined
      if (!joined) await api('POST /api/me/invitations/:invitation/decline', { params })
      await client.invalidateQueries({ queryKey: ['GET /api/me/invitations'] })
      await readMeAgain(client)
      toast(joined ? `You have joined ${invitation.name}.` : 'The invitation is declined.')
      const page = joined?.advertiserId == null ? '/' : `/advertisers/${joined.advertiserId}`
      if (joined) await navigate({ to: page })
    } catch (error) {
      toastError(error)
    }
    setBusy(undefined)
  }
  return (
    <li className="rounded-lg border border-line p-4">
      <p className="flex items-center gap-2 font-medium">
        {invitation.name} <Badge>{invitation.role}</Badge>
      </p>
      <p className="mt-0.5 text-sm text-muted">
        {invitation.to === 'advertiser' ? 'An advertiser, from' : 'From'} {invitation.invitedBy}, valid until{' '}
        <Time iso={invitation.expiresAt} />
      </p>
      <div className="mt-4 flex gap-2">
        <Button look="primary" isBusy={busy === 'accept'} onClick={() => void answer('accept')}>
          Accept
        </Button>
        <Button isBusy={busy === 'decline'} onClick={() => void answer('decline')}>
          Decline
        </Button>
      </div>
    </li>
  )
}
