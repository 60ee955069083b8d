import { CircleAlert, CircleCheck, CircleDashed, Minus } from 'lucide-react'
import { useSyncExternalStore, type ReactNode } from 'react'
import { Status } from '../../components/badge.tsx'
import { Card } from '../../components/card.tsx'
import { Time } from '../../components/figures.tsx'
import type { Domain } from './domain.ts'

const STATES = {
  pending: { tone: 'waiting', word: 'Not verified yet' },
  verified: { tone: 'good', word: 'Verified' },
  failing: { tone: 'warn', word: 'Proof missing' },
  lapsed: { tone: 'bad', word: 'Lapsed' },
} as const

/** How the domain stands, in words, and what the last look at it found. */
export function StandingCard({ domain }: { domain: Domain }) {
  const { tone, word } = STATES[domain.state]
  return (
    <Card isFlush>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-2 px-5 pt-4">
        <div className="min-w-0">
          <h2 className="text-lg font-semibold break-all">{domain.displayName}</h2>
          {domain.displayName !== domain.name && (
            <p className="font-mono text-sm break-all text-muted">{domain.name} in the DNS</p>
          )}
        </div>
        <div aria-live="polite">
          <Status tone={tone}>{word}</Status>
        </div>
      </div>
      <p className="min-h-12 px-5 pt-2 text-muted">{domain.explanation}</p>
      <dl className="mt-3 grid gap-x-8 gap-y-3 border-t border-line px-5 py-4 text-sm sm:grid-cols-3">
        {domain.lapsedAt === null ? (
          <Fact label="Verified">{domain.verifiedAt ? <Time iso={domain.verifiedAt} /> : 'Not yet'}</Fact>
        ) : (
          <Fact label="Calls refused since">
            <Time iso={domain.lapsedAt} />
          </Fact>
        )}
        <Fact label="Last check">
          {domain.checkedAt ? (
            <Time iso={domain.checkedAt} as="age" />
          ) : needsNoProof(domain) ? (
            'Not needed'
          ) : (
            'Not yet'
          )}
        </Fact>
        <Fact label="Next check">
          <NextCheck domain={domain} />
        </Fact>
      </dl>
      {!needsNoProof(domain) && <LastSeen domain={domain} />}
    </Card>
  )
}

/** The operator has vouched for it, or it is the operator's own. */
function needsNoProof({ provenBy }: Domain): boolean {
  return provenBy === 'operator' || provenBy === 'sandbox'
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="flex justify-between gap-4 sm:block">
      <dt className="text-muted">{label}</dt>
      <dd className="sm:mt-0.5">{children}</dd>
    </div>
  )
}

/** A worker looks every few seconds for what is due. */
const SOON_MS = 15_000
const TICK_MS = 5_000

function NextCheck({ domain }: { domain: Domain }) {
  const { nextCheckAt } = domain
  const now = useSyncExternalStore(everyTick, currentTick)
  if (needsNoProof(domain)) return <>Not needed</>
  if (nextCheckAt === null) return <>When you ask for it</>
  if (Date.parse(nextCheckAt) - now < SOON_MS) return <>In a moment</>
  return <Time iso={nextCheckAt} as="age" />
}

function everyTick(listener: () => void): () => void {
  const timer = setInterval(listener, TICK_MS)
  return () => clearInterval(timer)
}

function currentTick(): number {
  return Math.floor(Date.now() / TICK_MS) * TICK_MS
}

/** Always of the same height, so that a check which comes back moves nothing. */
function LastSeen({ domain: { lastSeen } }: { domain: Domain }) {
  return (
    <div className="border-t border-line px-5 py-3 text-sm">
      <h3 className="sr-only">What the last check saw</h3>
      <Seen what="DNS record" outcome={lastSeen?.record.outcome} explanation={lastSeen?.record.explanation}>
        <FoundValues values={lastSeen?.record.outcome === 'other' ? lastSeen.record.values : []} />
      </Seen>
      <Seen what="File" outcome={lastSeen?.file.outcome} explanation={lastSeen?.file.explanation} />
    </div>
  )
}

type Outcome = NonNullable<Domain['lastSeen']>['record' | 'file']['outcome']

const MARKS = {
  match: { icon: CircleCheck, ink: 'text-good' },
  not_needed: { icon: Minus, ink: 'text-muted' },
  absent: { icon: CircleDashed, ink: 'text-muted' },
  other: { icon: CircleAlert, ink: 'text-warn' },
  refused: { icon: CircleAlert, ink: 'text-warn' },
  unanswered: { icon: CircleAlert, ink: 'text-warn' },
}

interface SeenProps {
  what: string
  outcome: Outcome | undefined
  explanation: string | undefined
  children?: ReactNode
}

function Seen({ what, outcome, explanation = 'Not checked yet.', children }: SeenProps) {
  const { icon: Icon, ink } = MARKS[outcome ?? 'absent']
  return (
    <div className="flex items-start gap-2.5 py-1">
      <Icon className={`mt-0.5 size-4 shrink-0 ${ink}`} aria-hidden />
      <div className="min-w-0 sm:flex sm:flex-1 sm:gap-3">
        <p className="font-medium sm:w-24 sm:shrink-0">{what}</p>
        <div className="min-w-0 text-muted">
          <p>{explanation}</p>
          {children}
        </div>
      </div>
    </div>
  )
}

/** In one line, which is kept free for them. */
function FoundValues({ values }: { values: string[] }) {
  const found = values.join('  ·  ')
  return (
    <p className="min-h-5 truncate text-ink" title={found}>
      {values.length > 0 && (
        <>
          Found: <code className="font-mono whitespace-pre">{found}</code>
        </>
      )}
    </p>
  )
}
