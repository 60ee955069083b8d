import { CircleCheck } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Time } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { formatCount } from '../../formats.ts'
import { useProject } from '../../session.ts'
import type { Failure, Home } from './onboarding.ts'

export function RecentFailures({ home }: { home: Home | undefined }) {
  const project = useProject()
  return (
    <Card
      title="Last errors"
      description="Calls that failed on our side or the provider’s, newest first. They were not charged."
      action={
        <span className="flex flex-wrap justify-end gap-x-4">
          <Link to={`/projects/${project.id}/refused-requests`}>Refused requests</Link>
          <Link to={`/projects/${project.id}/calls`} search={{ outcome: 'failed' }}>
            All errors
          </Link>
        </span>
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
        <ul className="-my-3 divide-y divide-line">
          {home.failures.map((failure) => (
            <FailureRow
              key={`${failure.errorCode} ${failure.title}`}
              failure={failure}
              isCut={failure.calls >= home.failuresMax}
            />
          ))}
        </ul>
      )}
    </Card>
  )
}

/** Every error once, however often it came. */
function FailureRow({ failure, isCut }: { failure: Failure; isCut: boolean }) {
  const { calls, models } = failure
  return (
    <li className="flex flex-wrap items-start justify-between gap-x-6 gap-y-1 py-3">
      <div className="min-w-0 flex-1 basis-72">
        <p className="flex flex-wrap items-baseline gap-x-2">
          <CallsLink failure={failure} isCut={isCut} />
          <code className="font-mono text-xs text-muted">{failure.errorCode ?? 'no code'}</code>
        </p>
        <p className="text-sm text-muted">{failure.explanation}</p>
      </div>
      <div className="text-sm text-muted sm:text-right">
        <p>{calls === 1 ? <Time iso={failure.lastAt} as="age" /> : <Span failure={failure} />}</p>
        <p className="flex min-w-0 items-center gap-1 sm:justify-end">
          <span className="max-w-44 truncate" title={models.join(', ')}>
            {models[0]}
            {models.length > 1 && ` and ${models.length - 1} more`}
          </span>
          <CopyButton text={failure.requestId} label={`Copy the request id ${failure.requestId} of the newest`} />
        </p>
      </div>
    </li>
  )
}

function Span({ failure: { firstAt, lastAt } }: { failure: Failure }) {
  return (
    <>
      First <Time iso={firstAt} as="age" />, last <Time iso={lastAt} as="age" />
    </>
  )
}

/** One call is shown itself, several are listed. */
function CallsLink({ failure, isCut }: { failure: Failure; isCut: boolean }) {
  const project = useProject()
  const { title, calls, id, errorCode, outcome } = failure
  const words = (
    <>
      {title}
      {calls > 1 && (
        <span className="tabular text-muted">
          {' '}
          × {formatCount(calls)}
          {isCut && '+'}
        </span>
      )}
    </>
  )
  const path = `/projects/${project.id}/calls`
  if (calls === 1)
    return (
      <Link to={`${path}/${id}`} className="font-medium text-bad">
        {words}
      </Link>
    )
  return (
    <Link
      to={path}
      search={errorCode === null ? { outcome } : { outcome: 'failed', error_code: errorCode }}
      className="font-medium text-bad"
    >
      {words}
    </Link>
  )
}
