import { Link as RouterLink } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { classes } from './classes.ts'
import { Skeleton } from './skeleton.tsx'
import { Sparkline } from './sparkline.tsx'
import { Delta, type StatProps } from './stat.tsx'

/** The figures beside a page's chart: a column of lines instead of a card for each. */
export function FigureList({ label, note, children }: { label: string; note: string; children: ReactNode }) {
  return (
    <section aria-label={label}>
      <div className="divide-y divide-line">{children}</div>
      <p className="border-t border-line px-5 pt-2.5 pb-1.5 text-xs text-muted lg:px-4">{note}</p>
    </section>
  )
}

export interface FigureProps extends Omit<StatProps, 'tone'> {
  /** How it came about, moment by moment. */
  trend?: readonly (number | null)[] | undefined
}

export function Figure({ label, value, delta, more = 'neutral', note, leadsTo, trend }: FigureProps) {
  const isKnown = value !== undefined
  return (
    <div
      className={classes(
        'relative flex min-h-14 items-center gap-3 px-5 py-1 lg:px-4',
        leadsTo && 'transition-colors hover:bg-canvas',
      )}
    >
      <div className="min-w-0 flex-1">
        <p className="truncate text-xs text-muted">{label}</p>
        <p className="tabular flex items-baseline gap-2 text-lg leading-7 font-semibold tracking-tight">
          {!isKnown ? (
            <Skeleton className="my-1 h-5 w-20" />
          ) : leadsTo === undefined ? (
            value
          ) : (
            <RouterLink {...leadsTo} className="after:absolute after:inset-0">
              <span className="sr-only">{label}: </span>
              {value}
            </RouterLink>
          )}
          {isKnown && (
            <span className="min-w-0 truncate text-xs font-normal tracking-normal text-muted">
              {delta != null && <Delta delta={delta} more={more} />}
              {/* The list says once, below the figures, what they are compared with. */}
              {delta == null ? note : <span className="sr-only"> {note}</span>}
            </span>
          )}
        </p>
      </div>
      {trend && isKnown && <Sparkline values={trend} />}
    </div>
  )
}
