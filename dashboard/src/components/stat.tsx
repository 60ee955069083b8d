import { ArrowDownRight, ArrowUpRight } from 'lucide-react'
import { Link as RouterLink } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { formatShare } from '../formats.ts'
import { classes } from './classes.ts'
import type { Target } from './link.tsx'
import { Skeleton } from './skeleton.tsx'

export interface StatProps {
  label: string
  /** Undefined while it is loading: the room is kept. */
  value: ReactNode | undefined
  /** The change against the period before, as a share: 0.12 is 12 % more. */
  delta?: number | null | undefined
  /** Whether more is good news, bad news, or just news. */
  more?: 'good' | 'bad' | 'neutral'
  note?: ReactNode
  tone?: 'ink' | 'earn'
  /** The page with what the figure was made of: the whole card links to it. */
  leadsTo?: Target | undefined
}

export function Stat({ label, value, delta, more = 'neutral', note, tone = 'ink', leadsTo }: StatProps) {
  return (
    <div
      className={classes(
        'relative min-w-0 rounded-lg border border-line bg-surface px-4 py-3.5 shadow-card',
        leadsTo && 'transition-colors hover:border-line-strong hover:bg-canvas',
      )}
    >
      <p className="truncate text-sm text-muted">{label}</p>
      <p
        className={classes(
          'tabular mt-1 truncate text-2xl font-semibold tracking-tight',
          tone === 'earn' && 'text-earn',
        )}
      >
        {value === undefined ? (
          <Skeleton className="my-1 h-6 w-24" />
        ) : leadsTo === undefined ? (
          value
        ) : (
          <RouterLink {...leadsTo} className="after:absolute after:inset-0 after:rounded-lg">
            <span className="sr-only">{label}: </span>
            {value}
          </RouterLink>
        )}
      </p>
      <p className="mt-1 flex h-5 items-center gap-1.5 truncate text-sm text-muted">
        {value !== undefined && delta != null && <Delta delta={delta} more={more} />}
        {value !== undefined && note}
      </p>
    </div>
  )
}

export function Delta({ delta, more }: { delta: number; more: 'good' | 'bad' | 'neutral' }) {
  const Icon = delta < 0 ? ArrowDownRight : ArrowUpRight
  const isGood = more === (delta < 0 ? 'bad' : 'good')
  const ink = more === 'neutral' || delta === 0 ? 'text-muted' : isGood ? 'text-good' : 'text-bad'
  return (
    <span className={classes('tabular inline-flex items-center gap-0.5 font-medium', ink)}>
      <Icon className="size-3.5" aria-hidden />
      <span className="sr-only">{delta < 0 ? 'down by' : 'up by'}</span>
      {formatShare(Math.abs(delta))}
    </span>
  )
}
