import type { ReactNode } from 'react'
import { callsAt } from '../../calls-address.ts'
import { Badge } from '../../components/badge.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Duration, Nothing, Tokens } from '../../components/figures.tsx'
import { FigureLink, Link } from '../../components/link.tsx'
import { formatCounted, formatShare } from '../../formats.ts'
import { useProject } from '../../session.ts'
import { TOKEN_CLASSES } from '../../token-classes.ts'
import { UnitPrice } from '../costs/unit-price.tsx'
import { ABILITIES, type Model } from './found-models.ts'

export function ModelCard({ model, measuredFrom }: { model: Model; measuredFrom: string }) {
  const project = useProject()
  return (
    <li className="rounded-lg border border-line bg-surface px-5 py-4 shadow-card">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-40">
          <h2 className="flex min-w-0 items-center gap-1">
            <code className="min-w-0 font-mono text-base font-semibold break-all">{model.id}</code>
            <CopyButton text={model.id} label={`Copy the id ${model.id}`} />
          </h2>
          <p className="text-sm text-muted">by {model.ownedBy}</p>
        </div>
        {model.kind === 'chat' && (
          <Link
            to={`/projects/${project.id}/playground`}
            search={{ model: model.id }}
            look="secondary"
            aria-label={`Try it: ${model.id}`}
          >
            Try it
          </Link>
        )}
      </div>
      <ul aria-label="Honours" className="mt-2 flex min-h-5 flex-wrap gap-1.5">
        {model.abilities.map((ability) => (
          <li key={ability}>
            <Badge>{ABILITIES[ability]}</Badge>
          </li>
        ))}
      </ul>
      <dl className="mt-4 grid grid-cols-2 gap-x-6 gap-y-3 text-sm sm:grid-cols-3 lg:grid-cols-5">
        {classesOf(model).map(([name, label]) => (
          <Fact key={name} label={label}>
            <UnitPrice nanos={model.price[name]} />
          </Fact>
        ))}
        <Fact label="Context window">
          <TokensOrNothing count={model.contextWindow} />
        </Fact>
        {model.kind === 'chat' && (
          <Fact label="Longest answer">
            <TokensOrNothing count={model.maxOutputTokens} />
          </Fact>
        )}
        <Measures model={model} measuredFrom={measuredFrom} />
      </dl>
    </li>
  )
}

/** A model that makes vectors writes nothing. */
function classesOf({ kind }: Model) {
  return kind === 'chat' ? TOKEN_CLASSES : TOKEN_CLASSES.filter(([name]) => name === 'input')
}

function Measures({ model, measuredFrom }: { model: Model; measuredFrom: string }) {
  const project = useProject()
  const { id, calls, measured } = model
  const calledFrom = { from: measuredFrom, model: id }
  if (measured === null) {
    return (
      <Fact label="Last 24 hours" isWide>
        {calls === 0 ? (
          <span className="text-muted">No calls</span>
        ) : (
          <>
            <FigureLink {...callsAt(project.id, calledFrom)} of={`of ${id}`}>
              {formatCounted(calls, 'call')}
            </FigureLink>
            <span className="text-muted">: too few to measure</span>
          </>
        )}
      </Fact>
    )
  }
  return (
    <>
      <Fact label="First token p50">
        <Duration ms={measured.firstTokenMs.p50} />
      </Fact>
      <Fact label="First token p95">
        <Duration ms={measured.firstTokenMs.p95} />
      </Fact>
      <Fact label="Failed in 24 hours">
        <FigureLink {...callsAt(project.id, { ...calledFrom, outcome: 'failed' })} of={`of the calls of ${id}`}>
          {formatShare(measured.failed / calls)}
        </FigureLink>{' '}
        <span className="text-muted">
          of{' '}
          <FigureLink {...callsAt(project.id, calledFrom)} of={`of ${id}`}>
            {formatCounted(calls, 'call')}
          </FigureLink>
        </span>
      </Fact>
    </>
  )
}

function TokensOrNothing({ count }: { count: number | null }) {
  return count === null ? <Nothing label="unknown" /> : <Tokens count={count} isNamed />
}

function Fact({ label, isWide = false, children }: { label: string; isWide?: boolean; children: ReactNode }) {
  return (
    <div className={isWide ? 'col-span-2 min-w-0' : 'min-w-0'}>
      <dt className="text-muted">{label}</dt>
      <dd className="tabular mt-0.5">{children}</dd>
    </div>
  )
}
