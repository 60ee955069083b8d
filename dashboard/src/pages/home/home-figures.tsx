import { changeOf } from '../../change.ts'
import { Duration, Money, Nothing } from '../../components/figures.tsx'
import { Stat } from '../../components/stat.tsx'
import { formatCount, formatMoney, formatShare } from '../../formats.ts'
import type { Home } from './onboarding.ts'
import { changesOf } from './week-changes.ts'

/** The numbers that one looks at every day, each with what it was before. */
export function HomeFigures({ home }: { home: Home | undefined }) {
  const { spent, week } = home ?? {}
  const changes = week && changesOf(week)
  const rate = week && rateOf(week.failed, week.calls)
  return (
    <section aria-label="Figures" className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Stat
        label="Balance"
        value={home && <Money nanos={home.balanceNanos} />}
        note={home && home.heldNanos !== '0' && `${formatMoney(home.heldNanos)} held by running calls`}
      />
      <Stat label="Spent today" {...spentIn(spent?.today)} note={noteOf(spent?.today, 'vs yesterday')} />
      <Stat label="Spent in 7 days" {...spentIn(spent?.week)} note={noteOf(spent?.week, 'vs 7 days before')} />
      <Stat label="Spent in 30 days" {...spentIn(spent?.month)} note={noteOf(spent?.month, 'vs 30 days before')} />
      <Stat label="Calls in 7 days" value={week && formatCount(week.calls)} delta={changes?.calls} />
      <Stat
        label="Error rate in 7 days"
        value={week && (rate === null ? <Nothing /> : formatShare(rate ?? 0))}
        note={week && (rate === null ? 'no calls yet' : `${formatCount(week.failed)} failed`)}
      />
      <Stat
        label="First token, median"
        value={week && <Duration ms={week.firstTokenMs.p50} />}
        delta={changes?.p50}
        more="bad"
        note={week?.firstTokenMs.p50 == null && 'no calls yet'}
      />
      <Stat
        label="First token, 95 %"
        value={week && <Duration ms={week.firstTokenMs.p95} />}
        delta={changes?.p95}
        more="bad"
        note={week?.firstTokenMs.p95 == null && 'no calls yet'}
      />
    </section>
  )
}

type Compared = Home['spent']['today']

function spentIn(compared: Compared | undefined) {
  return {
    value: compared && <Money nanos={compared.nanos} />,
    delta: compared && changeOf(Number(compared.nanos), Number(compared.previousNanos)),
  }
}

function noteOf(compared: Compared | undefined, words: string) {
  if (compared === undefined || compared.previousNanos === '0') return undefined
  return <span className="truncate max-sm:sr-only">{words}</span>
}

function rateOf(failed: number, calls: number): number | null {
  return calls === 0 ? null : failed / calls
}
