import { Check, CircleCheck, PartyPopper } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { classes } from '../../components/classes.ts'
import { Duration, Money, Time, Tokens } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { toastError } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useMe, useProject } from '../../session.ts'
import { stepsOf, type BriefCall, type Onboarding, type Step } from './onboarding.ts'

/**
 * The steps from an empty account to the first answered call. If they were done before the page was opened, they are one
 * line, so that the figures come first; if they are done while the page is open, they stay as they are, so that nothing moves.
 */
export function FirstSteps({ steps: onboarding }: { steps: Onboarding }) {
  const { installation } = useMe()
  const steps = stepsOf(onboarding, installation)
  const isOver = steps.every(({ isDone }) => isDone)
  const [wasOver] = useState(isOver)
  return isOver && wasOver ? <AllSet /> : <StepList onboarding={onboarding} steps={steps} />
}

function AllSet() {
  const project = useProject()
  return (
    <section
      aria-label="First steps"
      className="flex min-h-12 flex-wrap items-center gap-x-3 gap-y-1 rounded-lg border border-line bg-surface px-5 py-1.5 shadow-card"
    >
      <CircleCheck className="size-4 shrink-0 text-good" aria-hidden />
      <h2 className="font-medium">All set</h2>
      <p className="min-w-0 flex-1 text-sm text-muted">Your project answers calls.</p>
      {project.may('developer') && <DismissButton />}
    </section>
  )
}

function StepList({ onboarding, steps }: { onboarding: Onboarding; steps: Step[] }) {
  const project = useProject()
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
            {step.id === 'request' && <FirstRequest {...onboarding} />}
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
      Dismiss
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

/** How the call ended decides over words and colour alike: a stream that broke midway has the status 200, too. */
function lookOf({ call, isAnswered }: CallOfSteps): { box: string; ink: string } {
  if (!isAnswered) return { box: 'bg-bad-soft', ink: 'text-bad' }
  return call?.outcome === 'completed' ? { box: 'bg-good-soft', ink: 'text-good' } : { box: 'bg-sunken', ink: '' }
}

type CallOfSteps = Pick<Onboarding, 'call' | 'isAnswered'>

/** Has the same height before and after, so that nothing moves when the call arrives. */
function FirstRequest({ call, isAnswered }: CallOfSteps) {
  const box = 'mx-5 mb-3 flex h-24 items-center overflow-hidden rounded-md border px-4 sm:ml-13 sm:h-14'
  if (call === null)
    return (
      <div role="status" className={classes(box, 'gap-3 border-dashed border-line-strong text-sm text-muted')}>
        <span aria-hidden className="size-2 shrink-0 animate-pulse rounded-full bg-accent-text" />
        Waiting for your first request…
      </div>
    )
  const look = lookOf({ call, isAnswered })
  return (
    <div role="status" className={classes(box, 'border-line text-sm', look.box)}>
      {/* Another call is another line: the words of one do not move to the places of the other's. */}
      <CallLine key={call.id} call={call} ink={look.ink} />
    </div>
  )
}

function CallLine({ call, ink }: { call: BriefCall; ink: string }) {
  const project = useProject()
  return (
    <p className="flex w-full flex-wrap items-center gap-x-4 gap-y-0.5">
      <span className={classes('font-medium', ink)}>
        {call.outcome === 'completed' ? 'Received' : call.title}
        <span className="sr-only">: </span>
      </span>
      <code className="truncate font-mono text-xs">{call.model}</code>
      <Tokens count={call.inputTokens + call.outputTokens} isNamed />
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
