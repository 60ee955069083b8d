import { MessagesSquare } from 'lucide-react'
import { Link } from '../../components/link.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { FirstSteps } from './first-steps.tsx'
import { areAllDone } from './onboarding.ts'
import { RecentFailures } from './recent-failures.tsx'
import { SpendHero } from './spend-hero.tsx'
import { TopModels } from './top-models.tsx'

/** A first call that was just made is seen within two seconds. */
const WAITING_MS = 1_500
const FIGURES_MS = 15_000

export function HomePage() {
  const project = useProject()
  const params = { project: project.id }
  const onboarding = useOnboarding(project.id)
  const home = useApi('GET /api/projects/:project/home', { params }, { everyMs: FIGURES_MS })
  const action = (
    <Link to={`/projects/${project.id}/playground`} look="secondary">
      <MessagesSquare aria-hidden />
      Open the playground
    </Link>
  )
  return (
    <>
      <PageHeader
        title="Home"
        context={project.name}
        description={`How ${project.name} is doing: what it spends, how fast it answers, and what went wrong.`}
        action={action}
      />
      {onboarding.error && !onboarding.data ? (
        <ErrorState error={onboarding.error} onRetry={() => void onboarding.refetch()} />
      ) : !onboarding.data ? (
        <PageSkeleton />
      ) : (
        <div className="flex flex-col gap-6">
          {!onboarding.data.isDismissed && <FirstSteps steps={onboarding.data} />}
          {home.error && !home.data ? (
            <ErrorState error={home.error} onRetry={() => void home.refetch()} />
          ) : (
            <>
              <SpendHero home={home.data} />
              <div className="grid gap-6 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)] lg:items-start">
                <RecentFailures home={home.data} />
                <TopModels home={home.data} />
              </div>
            </>
          )}
        </div>
      )}
    </>
  )
}

/** Asked often only while there is something to wait for. */
function useOnboarding(project: string) {
  const asked = ['GET /api/projects/:project/onboarding', { params: { project } }] as const
  const last = useApi(...asked, { enabled: false })
  const isWaiting = last.data === undefined || (!areAllDone(last.data) && !last.data.isDismissed)
  return useApi(...asked, { ...(isWaiting && { everyMs: WAITING_MS }) })
}

/** Nothing below the list of first steps may be there before it is known whether there is one. */
function PageSkeleton() {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-6">
      <Skeleton className="h-80 w-full rounded-lg" />
      <Skeleton className="h-28 w-full rounded-lg" />
    </div>
  )
}
