import { CircleCheck } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Time } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { useProject } from '../../session.ts'
import type { BriefCall, Home } from './onboarding.ts'

export function RecentFailures({ home }: { home: Home | undefined }) {
  const project = useProject()
  return (
    <Card
      title="Last errors"
      description="The newest calls that we or a model’s provider broke. They were not charged."
      action={
        <Link to={`/projects/${project.id}/calls`} search={{ outcome: 'failed' }}>
          All errors
        </Link>
      }
    >
      {home === undefined ? (
        <SkeletonLines count={3} />
      ) : home.failures.length === 0 ? (
        <p className="flex items-center gap-2 text-muted">
          <CircleCheck className="size-4 text-good" aria-hidden />
          No failed calls among the newest.
        </p>
      ) : (
        <ul className="-my-2.5 divide-y divide-line">
          {home.failures.map((call) => (
            <Failure key={call.id} call={call} />
          ))}
        </ul>
      )}
    </Card>
  )
}

function Failure({ call }: { call: BriefCall }) {
  const project = useProject()
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-0.5 py-2.5">
      <Link to={`/projects/${project.id}/calls/${call.id}`} className="text-bad sm:w-44">
        {call.title}
      </Link>
      <span className="tabular text-sm text-muted max-sm:order-2 sm:w-20">{call.status || 'no answer'}</span>
      <span className="min-w-0 truncate text-sm max-sm:order-2 sm:w-40">{call.model}</span>
      <span className="flex min-w-0 items-center gap-1 max-sm:order-3 max-sm:w-full sm:ml-auto">
        <code className="truncate font-mono text-xs text-muted">{call.requestId}</code>
        <CopyButton text={call.requestId} label={`Copy the request id ${call.requestId}`} />
      </span>
      <span className="text-sm text-muted max-sm:order-1 max-sm:ml-auto sm:w-24 sm:text-right">
        <Time iso={call.beganAt} as="age" />
      </span>
    </li>
  )
}
