import { useState } from 'react'
import { callsAt, LEAST_COST, lastDays, type CallFilters } from '../../calls-address.ts'
import { changeOf } from '../../change.ts'
import { Duration, Money, Nothing } from '../../components/figures.tsx'
import { Figure, FigureList } from '../../components/figure-list.tsx'
import { formatCount, formatMoney, formatShare } from '../../formats.ts'
import { useProject } from '../../session.ts'
import type { Home } from './onboarding.ts'
import { changesOf } from './week-changes.ts'

const CHARGED = { min_cost: LEAST_COST }

/** The numbers that one looks at every day, each with what it was before. */
export function HomeFigures({ home }: { home: Home | undefined }) {
  const project = useProject()
  const [openedMs] = useState(() => Date.now())
  const { spent, week } = home ?? {}
  const calls = (of: number, more: CallFilters = {}) => ({
    leadsTo: callsAt(project.id, { ...lastDays(of, openedMs), ...more }),
  })
  const lastWeek = home?.days.slice(-7)
  const changes = week && changesOf(week)
  const rate = week && rateOf(week.failed, week.calls)
  return (
    <FigureList label="Figures" note="Changes compare with the period before.">
      <Figure
        label="Balance"
        value={home && <Money nanos={home.balanceNanos} />}
        note={home && home.heldNanos !== '0' && `${formatMoney(home.heldNanos)} held`}
        leadsTo={{ to: `/projects/${project.id}/wallet` }}
      />
      <Figure
        label="Spent today"
        {...spentIn(spent?.today)}
        note={noteOf(spent?.today, 'vs yesterday')}
        {...calls(1, CHARGED)}
      />
      <Figure
        label="Spent in 7 days"
        {...spentIn(spent?.week)}
        note={noteOf(spent?.week, 'vs previous 7 days')}
        trend={lastWeek?.map(({ chargedNanos }) => Number(chargedNanos))}
        {...calls(7, CHARGED)}
      />
      <Figure
        label="Spent in 30 days"
        {...spentIn(spent?.month)}
        note={noteOf(spent?.month, 'vs previous 30 days')}
        {...calls(30, CHARGED)}
      />
      <Figure
        label="Calls in 7 days"
        value={week && formatCount(week.calls)}
        delta={changes?.calls}
        trend={lastWeek?.map((day) => day.calls)}
        note={changes?.calls !== undefined && 'vs previous 7 days'}
        {...calls(7)}
      />
      <Figure
        label="Error rate in 7 days"
        value={week && (rate === null ? <Nothing /> : formatShare(rate ?? 0))}
        note={week && (rate === null ? 'no calls yet' : `${formatCount(week.failed)} failed`)}
        trend={lastWeek?.map(({ calls: all, failed }) => rateOf(failed, all))}
        {...calls(7, { outcome: 'failed' })}
      />
      {(['p50', 'p95'] as const).map((name) => (
        <Figure
          key={name}
          label={`First token ${name}`}
          value={week && <Duration ms={week.firstTokenMs[name]} />}
          delta={changes?.[name]}
          more="bad"
          note={week?.firstTokenMs[name] == null && 'no calls yet'}
          {...calls(7)}
        />
      ))}
    </FigureList>
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
  return words
}

function rateOf(failed: number, calls: number): number | null {
  return calls === 0 ? null : failed / calls
}
