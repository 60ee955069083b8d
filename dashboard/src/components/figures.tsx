/** Numbers and times as people read them, with the exact value on hover. */
import { useSyncExternalStore } from 'react'
import {
  formatAge,
  formatCents,
  formatCount,
  formatCounted,
  formatCountExactly,
  formatDuration,
  formatMoment,
  formatMoney,
  formatMoneyExactly,
  formatMoneyFixed,
  formatTime,
  formatTimeInUtc,
} from '../formats.ts'
import { classes } from './classes.ts'

export interface MoneyProps {
  nanos: string
  /** Writes the plus of money that came in, too. */
  sign?: boolean
  /** In whole cents, for amounts that are compared with each other: what is less is `<$0.01`. */
  isCoarse?: boolean
  /** As many as the others of its column have: `decimalsOf`. */
  decimals?: number | undefined
  className?: string
}

export function Money({ nanos, sign = false, isCoarse = false, decimals, className }: MoneyProps) {
  const plus = sign && BigInt(nanos) > 0n ? '+' : ''
  return (
    <data value={nanos} title={formatMoneyExactly(nanos)} className={classes('tabular', className)}>
      {plus}
      {isCoarse ? formatCents(nanos) : decimals === undefined ? formatMoney(nanos) : formatMoneyFixed(nanos, decimals)}
    </data>
  )
}

/** `isNamed`: says what they are, where nothing else does. */
export function Tokens({ count, isNamed = false }: { count: number | string; isNamed?: boolean }) {
  return (
    <data
      value={String(count)}
      title={`${formatCountExactly(count)} ${Number(count) === 1 ? 'token' : 'tokens'}`}
      className="tabular whitespace-nowrap"
    >
      {isNamed ? formatCounted(count, 'token') : formatCount(count)}
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

/** In the reader's zone, to the second among others of the day (`moment`), or as an age; UTC on hover. */
export function Time({ iso, as = 'time' }: { iso: string | null | undefined; as?: 'time' | 'moment' | 'age' }) {
  const now = useSyncExternalStore(subscribeToClock, currentSecond)
  if (iso == null) return <Nothing />
  const local = formatTime(iso)
  const title = as === 'age' ? `${local} (${formatTimeInUtc(iso)})` : formatTimeInUtc(iso)
  return (
    <time dateTime={iso} title={title} className="tabular whitespace-nowrap">
      {as === 'age' ? formatAge(iso, now) : as === 'moment' ? formatMoment(iso, now) : local}
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
