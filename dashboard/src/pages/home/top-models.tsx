import { useState } from 'react'
import { callsAt, lastDays } from '../../calls-address.ts'
import { Card } from '../../components/card.tsx'
import { coloursOf } from '../../components/chart-colours.ts'
import { Swatch } from '../../components/swatch.tsx'
import { Money } from '../../components/figures.tsx'
import { FigureLink } from '../../components/link.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { decimalsOf, formatCounted } from '../../formats.ts'
import { useProject } from '../../session.ts'
import type { Home } from './onboarding.ts'

/** Where the money goes. */
export function TopModels({ home }: { home: Home | undefined }) {
  return (
    <Card title="Top models" description="By spend in the last 30 days.">
      <div className="min-h-40">
        {home === undefined ? (
          <SkeletonLines count={5} />
        ) : home.models.length === 0 ? (
          <NoModels />
        ) : (
          <List home={home} />
        )}
      </div>
    </Card>
  )
}

function NoModels() {
  return <p className="text-muted">The models you call are listed here, highest spend first.</p>
}

function List({ home: { models } }: { home: Home }) {
  const project = useProject()
  const [openedMs] = useState(() => Date.now())
  const colours = coloursOf(models.map(({ model }) => model))
  const decimals = decimalsOf(models.map(({ chargedNanos }) => chargedNanos))
  const most = Number(models[0]?.chargedNanos ?? 0) || 1
  return (
    <ol className="flex flex-col gap-4.5">
      {models.map(({ model, calls, chargedNanos }) => (
        <li key={model}>
          <p className="flex items-baseline gap-2">
            <Swatch colour={colours.get(model) ?? ''} />
            <span className="min-w-0 flex-1 truncate font-medium" title={model}>
              {model}
            </span>
            <span className="tabular text-xs text-muted">
              <FigureLink {...callsAt(project.id, { ...lastDays(30, openedMs), model })} of={`of ${model}`}>
                {formatCounted(calls, 'call')}
              </FigureLink>
            </span>
            <Money nanos={chargedNanos} decimals={decimals} className="min-w-16 text-right font-medium" />
          </p>
          <div aria-hidden className="mt-1.5 h-1 overflow-hidden rounded-full bg-hover">
            <div
              className="h-full rounded-full"
              style={{ width: `${(Number(chargedNanos) / most) * 100}%`, background: colours.get(model) }}
            />
          </div>
        </li>
      ))}
    </ol>
  )
}
