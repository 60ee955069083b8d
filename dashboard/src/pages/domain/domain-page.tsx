import { useQueryClient } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { MINUTE_MS } from '../../durations.ts'
import { useApi, useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { ChangeDomainDialog } from './change-domain-dialog.tsx'
import type { Domain } from './domain.ts'
import { FileProof, NamesCard, RecordProof } from './proofs.tsx'
import { SandboxCard } from './sandbox-card.tsx'
import { StandingCard } from './standing-card.tsx'

/** Somebody may be looking at the page until it turns green. */
const WAITING_EVERY_MS = 5_000
const SETTLED_EVERY_MS = MINUTE_MS

export function DomainPage() {
  const project = useProject()
  const [isChanging, setChanging] = useState(false)
  const isWaiting = project.domainVerifiedAt === null
  const domain = useApi(
    'GET /api/projects/:project/domain',
    { params: { project: project.id } },
    { everyMs: isWaiting ? WAITING_EVERY_MS : SETTLED_EVERY_MS },
  )
  useFreshProject(domain.data)
  const actions = !project.isSandbox && project.may('developer') && (
    <>
      {project.may('admin') && <Button onClick={() => setChanging(true)}>Change domain</Button>}
      <CheckButton projectId={project.id} isWaiting={isWaiting} />
    </>
  )
  return (
    <>
      <PageHeader
        title="Domain"
        context={project.name}
        docs="console"
        description={
          project.isSandbox
            ? 'A sandbox has a name that belongs to the operator, so your first call needs no DNS.'
            : `Where ${project.name} is published. Calls are answered once you have verified that the domain is yours.`
        }
        action={actions}
      />
      <div className="flex max-w-4xl flex-col gap-6">
        {domain.data ? (
          <Proven domain={domain.data} />
        ) : (
          <Loading error={domain.error} onRetry={() => void domain.refetch()} />
        )}
      </div>
      {isChanging && (
        <ChangeDomainDialog onClose={() => setChanging(false)} current={domain.data?.displayName ?? project.domain} />
      )}
    </>
  )
}

function Proven({ domain }: { domain: Domain }) {
  const project = useProject()
  if (project.isSandbox)
    return (
      <>
        <StandingCard domain={domain} />
        <SandboxCard />
      </>
    )
  return (
    <>
      <StandingCard domain={domain} />
      {domain.provenBy !== 'operator' && (
        <>
          <RecordProof domain={domain} />
          <FileProof domain={domain} />
        </>
      )}
      <NamesCard domain={domain} />
    </>
  )
}

function Loading({ error, onRetry }: { error: Error | null; onRetry(): void }) {
  if (error)
    return (
      <Card>
        <ErrorState error={error} onRetry={onRetry} />
      </Card>
    )
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-6">
      <Skeleton className="h-56 w-full" />
      <Skeleton className="h-64 w-full" />
      <Skeleton className="h-52 w-full" />
    </div>
  )
}

function CheckButton({ projectId, isWaiting }: { projectId: string; isWaiting: boolean }) {
  const check = useChange('POST /api/projects/:project/domain/check', [
    'GET /api/projects/:project/domain',
    'GET /api/me',
  ])
  function run(): void {
    const onSuccess = ({ state, displayName }: Domain) =>
      state === 'verified'
        ? toast(`${displayName} is verified.`)
        : toast('Not verified yet. The page says what the check found.', 'bad')
    check.mutate({ params: { project: projectId } }, { onSuccess, onError: toastError })
  }
  return (
    <Button
      look={isWaiting ? 'primary' : 'secondary'}
      icon={<RefreshCw aria-hidden />}
      isBusy={check.isPending}
      onClick={run}
    >
      Check now
    </Button>
  )
}

/** The rest of the console knows the domain from the session, which does not notice by itself that a check succeeded. */
function useFreshProject(domain: Domain | undefined): void {
  const project = useProject()
  const client = useQueryClient()
  const isStale = domain !== undefined && domain.verifiedAt !== project.domainVerifiedAt
  useEffect(() => {
    if (isStale) void client.invalidateQueries({ queryKey: ['GET /api/me'] })
  }, [isStale, client])
}
