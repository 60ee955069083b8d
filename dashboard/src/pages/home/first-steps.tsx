import { Check, PartyPopper } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { classes } from '../../components/classes.ts'
import { Duration, Money, Time, Tokens } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { toastError } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { stepsOf, type BriefCall, type Onboarding, type Step } from './onboarding.ts'

/** What leads from an empty account to the first answered call. It stays until all of it is done. */
export function FirstSteps({ steps: onboarding }: { steps: Onboarding }) {
  const project = useProject()
  const steps = stepsOf(onboarding)
  const done = steps.filter(({ isDone }) => isDone).length
  const isOver = done === steps.length
  const next = steps.find(({ isDone }) => !isDone)
  return (
    <section aria-label="First steps" className="rounded-lg border border-line bg-surface shadow-card">
      <header className="flex min-h-16 flex-wrap items-center gap-x-4 gap-y-2 px-5 py-3">
        <div className="min-w-0 flex-1 basis-52">
          <h2 className="text-base font-semibold">{isOver ? 'All set' : 'First steps'}</h2>
          <p className="text-sm text-muted" role="status">
            {isOver ? 'Your project answers calls.' : `${done} of ${steps.length} done`}
          </p>
        </div>
        {isOver && project.may('developer') ? <DismissButton /> : <Progress done={done} of={steps.length} />}
      </header>
      <ol className="border-t border-line">
        {steps.map((step, n) => (
          <li key={step.id} className="border-b border-line last:border-b-0">
            <StepRow step={step} number={n + 1} isNext={step === next} />
            {step.id === 'request' && <FirstRequest call={onboarding.call} />}
          </li>
        ))}
      </ol>
    </section>
  )
}

function Progress({ done, of }: { done: number; of: number }) {
  return (
    <div aria-hidden className="flex w-40 gap-1">
      {Array.from({ length: of }, (_, n) => (
        <span key={n} className={classes('h-1.5 flex-1 rounded-full', n < done ? 'bg-accent' : 'bg-hover')} />
      ))}
    </div>
  )
}

function DismissButton() {
  const project = useProject()
  const dismiss = useChange('POST /api/projects/:project/onboarding/dismiss', ['GET /api/projects/:project/onboarding'])
  return (
    <Button
      icon={<PartyPopper aria-hidden />}
      isBusy={dismiss.isPending}
      onClick={() => dismiss.mutate({ params: { project: project.id } }, { onError: toastError })}
    >
      Put this away
    </Button>
  )
}

function StepRow({ step, number, isNext }: { step: Step; number: number; isNext: boolean }) {
  const project = useProject()
  const { isDone, title, why, verb, page } = step
  const to = page.startsWith('/') ? page : `/projects/${project.id}/${page}`
  return (
    <div className="flex items-start gap-x-3 gap-y-1.5 px-5 py-3 max-sm:flex-wrap">
      <span
        className={classes(
          'tabular mt-px flex size-5 shrink-0 items-center justify-center rounded-full text-xs font-semibold',
          isDone ? 'bg-good-soft text-good' : isNext ? 'bg-accent text-on-accent' : 'bg-hover text-muted',
        )}
      >
        {isDone ? <Check className="size-3.5" strokeWidth={3} aria-label="Done:" /> : number}
      </span>
      <div className="min-w-0 flex-1 max-sm:basis-4/5">
        <h3 className={classes('font-medium', isDone && 'text-muted')}>{title}</h3>
        <p className="text-sm text-muted">{why}</p>
      </div>
      <span className="flex h-9 w-29 shrink-0 items-center justify-end max-sm:ml-8 max-sm:w-full max-sm:justify-start sm:h-8">
        {isDone ? (
          <span className="text-sm font-medium text-good">Done</span>
        ) : (
          <Link to={to} look={isNext ? 'primary' : 'secondary'} aria-label={`${verb}: ${title}`}>
            {verb}
          </Link>
        )}
      </span>
    </div>
  )
}

/** Of the same height before and after, so that nothing moves when the call arrives. */
function FirstRequest({ call }: { call: BriefCall | null }) {
  const box = 'mx-5 mb-3 flex h-24 items-center overflow-hidden rounded-md border px-4 sm:ml-13 sm:h-14'
  if (call === null)
    return (
      <div role="status" className={classes(box, 'gap-3 border-dashed border-line-strong text-sm text-muted')}>
        <span aria-hidden className="size-2 shrink-0 animate-pulse rounded-full bg-accent-text" />
        Waiting for your first request…
      </div>
    )
  return (
    <div
      role="status"
      className={classes(box, 'border-line text-sm', call.status === 200 ? 'bg-good-soft' : 'bg-bad-soft')}
    >
      <CallLine call={call} />
    </div>
  )
}

function CallLine({ call }: { call: BriefCall }) {
  const project = useProject()
  return (
    <p className="flex w-full flex-wrap items-center gap-x-4 gap-y-0.5">
      <span className={classes('font-medium', call.status === 200 ? 'text-good' : 'text-bad')}>
        {call.status === 200 ? 'Received' : call.title}
        <span className="sr-only">: </span>
      </span>
      <code className="truncate font-mono text-xs">{call.model}</code>
      <Tokens count={call.inputTokens + call.outputTokens} unit="tokens" />
      <Money nanos={call.chargedNanos} />
      <Duration ms={call.durationMs} />
      <span className="text-muted">
        <Time iso={call.beganAt} as="age" />
      </span>
      <Link to={`/projects/${project.id}/calls/${call.id}`} className="sm:ml-auto">
        See the call
      </Link>
    </p>
  )
}
