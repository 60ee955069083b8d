import { LaptopMinimal } from 'lucide-react'
import type { Item } from '../../api.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Time } from '../../components/figures.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { useApi, useChange } from '../../queries.ts'
import { deviceOf } from './device.ts'

type Session = Item<'GET /api/me/sessions'>

export function SessionsCard() {
  const sessions = useApi('GET /api/me/sessions', {})
  const endOthers = useChange('DELETE /api/me/sessions', ['GET /api/me/sessions'])
  function signOutElsewhere(): void {
    const onSuccess = () => toast('You are signed out everywhere else.')
    endOthers.mutate({ query: { keep: 'current' } }, { onSuccess, onError: toastError })
  }
  const others = sessions.data?.items.some(({ isCurrent }) => !isCurrent) && (
    <Button size="sm" isBusy={endOthers.isPending} onClick={signOutElsewhere}>
      Sign out everywhere else
    </Button>
  )
  return (
    <Card title="Sessions" description="Where you are signed in." action={others} isFlush>
      <div className="min-h-16 border-t border-line">
        {sessions.error && !sessions.data && (
          <ErrorState error={sessions.error} onRetry={() => void sessions.refetch()} />
        )}
        {!sessions.data && !sessions.error && <SkeletonLines count={2} className="px-5 py-3" />}
        <ul className="divide-y divide-line">
          {sessions.data?.items.map((session) => (
            <SessionRow key={session.id} session={session} />
          ))}
        </ul>
      </div>
    </Card>
  )
}

function SessionRow({ session }: { session: Session }) {
  const end = useChange('DELETE /api/me/sessions/:session', ['GET /api/me/sessions'])
  const device = deviceOf(session.userAgent)
  function signOut(): void {
    end.mutate(
      { params: { session: session.id } },
      { onSuccess: () => toast('Signed out there.'), onError: toastError },
    )
  }
  return (
    <li className="flex h-16 items-center gap-3 px-5">
      <LaptopMinimal className="size-5 shrink-0 text-faint" aria-hidden />
      <div className="min-w-0 flex-1 leading-tight">
        <p className="flex items-center gap-2 font-medium">
          <span className="truncate">{device}</span> {session.isCurrent && <Badge tone="good">This one</Badge>}
        </p>
        <p className="mt-0.5 truncate text-sm text-muted">
          {session.ip ?? 'Unknown address'} · active <Time iso={session.lastSeenAt} as="age" />
        </p>
      </div>
      {!session.isCurrent && (
        <Button size="sm" isBusy={end.isPending} onClick={signOut} aria-label={`Sign out ${device}`}>
          Sign out
        </Button>
      )}
    </li>
  )
}
