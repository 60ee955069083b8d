/** The use of each limit: a bar, the figures, and when it resets. */
import type { ReactNode } from 'react'
import { classes } from '../../components/classes.ts'
import { Money, Time } from '../../components/figures.tsx'
import { formatCountExactly, formatMoney } from '../../formats.ts'
import {
  BUDGET_LABELS,
  RATE_LABELS,
  shareOf,
  shareOfBudget,
  type Budget,
  type Limited,
  type Rate,
} from './limit-lines.ts'

export function LimitBars({ rates, budgets }: Pick<Limited, 'rates' | 'budgets'>) {
  if (rates.length + budgets.length === 0) return <p className="text-muted">No limits.</p>
  return (
    <ul className="flex flex-col gap-3.5">
      {budgets.map((budget) => (
        <li key={budget.period}>
          <BudgetBar budget={budget} />
        </li>
      ))}
      {rates.map((rate) => (
        <li key={rate.name}>
          <RateBar rate={rate} />
        </li>
      ))}
    </ul>
  )
}

export function BudgetBar({ budget }: { budget: Budget }) {
  const { period, spentNanos, heldNanos, limitNanos, renewsAt } = budget
  return (
    <Bar
      label={BUDGET_LABELS[period]}
      share={shareOfBudget(budget)}
      text={`${formatMoney(spentNanos)} of ${formatMoney(limitNanos)}`}
      figures={
        <>
          <Money nanos={spentNanos} /> of <Money nanos={limitNanos} />
        </>
      }
    >
      {BigInt(spentNanos) >= BigInt(limitNanos) && <span className="font-medium text-bad">Used up. </span>}
      {heldNanos !== '0' && (
        <>
          <Money nanos={heldNanos} /> held by running calls.{' '}
        </>
      )}
      {renewsAt === null ? (
        'Never resets.'
      ) : (
        <>
          Resets <Time iso={renewsAt} as="age" />.
        </>
      )}
    </Bar>
  )
}

function RateBar({ rate: { name, used, limit, left } }: { rate: Rate }) {
  const figures = `${formatCountExactly(used)} of ${formatCountExactly(limit)}`
  const share = shareOf(BigInt(used), BigInt(limit))
  return (
    <Bar label={RATE_LABELS[name]} share={share} text={figures} figures={figures}>
      {left === 0 && <span className="font-medium text-bad">Reached. </span>}
      {name === 'calls' ? 'Running now.' : 'In this minute.'}
    </Bar>
  )
}

interface BarProps {
  label: string
  /** From 0 to 1. */
  share: number
  /** The bar's text for screen readers. */
  text: string
  figures: ReactNode
  children: ReactNode
}

const NEARLY = 0.8

function Bar({ label, share, text, figures, children }: BarProps) {
  return (
    <div className="min-w-0 text-sm">
      <p className="flex flex-wrap items-baseline justify-between gap-x-3">
        <span className="font-medium">{label}</span>
        <span className="tabular text-muted">{figures}</span>
      </p>
      <Meter label={label} share={share} text={text} />
      <p className="mt-1 text-xs text-muted">{children}</p>
    </div>
  )
}

/** The bar alone. */
export function Meter({ label, share, text }: Pick<BarProps, 'label' | 'share' | 'text'>) {
  const fill = share >= 1 ? 'bg-bad-fill' : share >= NEARLY ? 'bg-warn' : 'bg-accent'
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      aria-valuetext={text}
      className="mt-1.5 h-1.5 overflow-hidden rounded-full bg-sunken ring-1 ring-line ring-inset"
    >
      <div className={classes('h-full rounded-full', fill)} style={{ width: `${share * 100}%` }} />
    </div>
  )
}
