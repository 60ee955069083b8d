import { changeOf } from '../../change.ts'
import { callsAt, LEAST_COST, type CallFilters } from '../../calls-address.ts'
import { Figure, FigureList } from '../../components/figure-list.tsx'
import { Duration, Money, Tokens } from '../../components/figures.tsx'
import { formatCounted, formatDuration, formatShare } from '../../formats.ts'
import { comparedWords } from './compared.ts'
import { Count } from './count.tsx'
import { tokensIn, type Usage } from './shown.ts'

type Point = Usage['points'][number]

/** The totals of the chart's time, each with its course over that time. */
export function UsageFigures({ data, projectId }: { data: Usage | undefined; projectId: string | undefined }) {
  const now = data?.totals
  const before = data?.previous
  const compared = (delta: number | undefined) => ({
    delta,
    note: data && before && comparedWords({ from: data.from, to: data.to, delta, previousCalls: before.calls }),
  })
  const leading = (more: CallFilters = {}) => ({
    leadsTo:
      data && projectId !== undefined ? callsAt(projectId, { from: data.from, to: data.to, ...more }) : undefined,
  })
  const trend = (valueOf: (point: Point) => number | null) => ({ trend: data?.points.map(valueOf) })
  return (
    <FigureList label="Figures" note="Changes compare with the period before.">
      <Figure
        label="Calls"
        value={now && <Count of={now.calls} />}
        {...compared(changeOf(now?.calls, before?.calls))}
        {...trend(({ calls }) => calls)}
        {...leading()}
      />
      <Figure
        label="Tokens"
        value={now && <Tokens count={tokensIn(now.tokens)} />}
        {...compared(changeOf(now && tokensIn(now.tokens), before && tokensIn(before.tokens)))}
        {...trend(({ tokens }) => tokensIn(tokens))}
        {...leading()}
      />
      <Figure
        label="Spend"
        value={now && <Money nanos={now.chargedNanos} />}
        {...compared(changeOf(now && Number(now.chargedNanos), before && Number(before.chargedNanos)))}
        {...trend(({ chargedNanos }) => Number(chargedNanos))}
        {...leading({ min_cost: LEAST_COST })}
      />
      <Figure
        label="Failed"
        value={now && formatShare(now.calls === 0 ? 0 : now.failed / now.calls)}
        note={now && formatCounted(now.failed, 'call')}
        {...trend(({ calls, failed }) => (calls === 0 ? null : failed / calls))}
        {...leading({ outcome: 'failed' })}
      />
      <Figure
        label="First token p50"
        value={now && <Duration ms={now.firstTokenMs.p50} />}
        note={now?.firstTokenMs.p95 != null && `p95 ${formatDuration(now.firstTokenMs.p95)}`}
        {...trend(({ firstTokenMs }) => firstTokenMs.p50)}
        {...leading()}
      />
      <Figure
        label="Saved by caching"
        value={data && <Money nanos={data.savedNanos} />}
        note={
          now && (
            <>
              <Tokens count={now.tokens.cachedInput} /> read, <Tokens count={now.tokens.cacheWrite} /> written
            </>
          )
        }
        {...leading({ cached: 'true' })}
      />
    </FigureList>
  )
}
