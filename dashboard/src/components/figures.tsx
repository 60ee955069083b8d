/** Numbers and times as people read them, with the exact value on hover. */
import { useSyncExternalStore } from 'react'
import {
  formatAge,
  formatCount,
  formatCountExactly,
  formatDuration,
  formatMoney,
  formatMoneyExactly,
  formatTime,
  formatTimeInUtc,
} from '../formats.ts'
import { classes } from './classes.ts'

/** `sign` writes the plus of money that came in, too. */
export function Money({ nanos, sign = false, className }: { nanos: string; sign?: boolean; className?: string }) {
  const plus = sign && BigInt(nanos) > 0n ? '+' : ''
  return (
    <data value={nanos} title={formatMoneyExactly(nanos)} className={classes('tabular', className)}>
      {plus}
      {formatMoney(nanos)}
    </data>
  )
}

export function Tokens({ count, unit = '' }: { count: number | string; unit?: string }) {
  return (
    <data
      value={String(count)}
      title={`${formatCountExactly(count)} ${unit || 'tokens'}`}
      className="tabular whitespace-nowrap"
    >
      {formatCount(count)}
      {unit && ` ${unit}`}
    </data>
  )
}

export function Duration({ ms }: { ms: number | null | undefined }) {
  if (ms == null) return <Nothing />
  return (
    <data value={ms} title={`${ms} ms`} className="tabular whitespace-nowrap">
      {formatDuration(ms)}
    </data>
  )
}

/** In the reader's zone, or as an age; UTC on hover. */
export function Time({ iso, as = 'time' }: { iso: string | null | undefined; as?: 'time' | 'age' }) {
  const now = useSyncExternalStore(subscribeToClock, currentSecond)
  if (iso == null) return <Nothing />
  const local = formatTime(iso)
  const title = as === 'age' ? `${local} (${formatTimeInUtc(iso)})` : formatTimeInUtc(iso)
  return (
    <time dateTime={iso} title={title} className="tabular whitespace-nowrap">
      {as === 'age' ? formatAge(iso, now) : local}
    </time>
  )
}

/** There is no value: a dash to the eye and a word to the ear. */
export function Nothing({ label = 'none' }: { label?: string }) {
  return (
    <span data-nothing className="text-faint">
      <span aria-hidden>–</span>
      <span className="sr-only">{label}</span>
    </span>
  )
}

const EVERY_MS = 30_000

/** All ages on a page grow with one clock. */
function subscribeToClock(listener: () => void): () => void {
  const timer = setInterval(listener, EVERY_MS)
  return () => clearInterval(timer)
}

/** Whole seconds: a value that changed with every look would be drawn forever. */
function currentSecond(): number {
  return Math.ceil(Date.now() / 1_000) * 1_000
}
