import {
  Area,
  AreaChart,
  Bar,
  BarChart,
  CartesianGrid,
  Line,
  LineChart,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts'
import { momentOf, scaleOf, tickOf } from './chart-axes.ts'
import type { ChartProps, ChartSeries } from './chart-data.ts'
import { Swatch } from './swatch.tsx'

type Row = Record<string, number | string>

const INK = { fontSize: 11, fill: 'var(--muted)' }
const MARGIN = { top: 8, right: 8, bottom: 0, left: 0 }
/** Beyond this, bars are thinner than the gaps between them. */
const BARS_MAX = 100

/** The only file that knows the chart library. It gets no role of its own: the figure around it says what it shows. */
export function ChartPlot(props: ChartProps) {
  const { kind, series, points } = props
  const rows: Row[] = points.map(({ at, values }) => ({ at, ...values }))
  const parts = partsOf(props)
  const shared = { data: rows, margin: MARGIN, accessibilityLayer: false }
  return (
    <ResponsiveContainer width="100%" height="100%">
      {kind === 'lines' ? (
        <LineChart {...shared}>
          {parts}
          {series.map(({ id, colour }) => (
            <Line
              key={id}
              dataKey={id}
              stroke={colour}
              strokeWidth={1.75}
              dot={points.length === 1}
              connectNulls={false}
              isAnimationActive={false}
            />
          ))}
        </LineChart>
      ) : points.length > BARS_MAX ? (
        <AreaChart {...shared}>
          {parts}
          {series.map(({ id, colour }) => (
            <Area
              key={id}
              type="step"
              dataKey={id}
              stackId="all"
              stroke={colour}
              fill={colour}
              fillOpacity={0.85}
              strokeWidth={1}
              isAnimationActive={false}
            />
          ))}
        </AreaChart>
      ) : (
        <BarChart {...shared} barCategoryGap="20%">
          {parts}
          {series.map(({ id, colour }) => (
            <Bar key={id} dataKey={id} stackId="all" fill={colour} maxBarSize={48} isAnimationActive={false} />
          ))}
        </BarChart>
      )}
    </ResponsiveContainer>
  )
}

/** Axes, grid and tooltip, the same for every kind. */
function partsOf({ kind, series, points, every, format }: ChartProps) {
  const heights = points.map(({ values }) => {
    const each = series.map(({ id }) => values[id] ?? 0)
    return kind === 'bars' ? each.reduce((a, b) => a + b, 0) : Math.max(...each)
  })
  const highest = Math.max(0, ...heights)
  return [
    <CartesianGrid key="grid" vertical={false} stroke="var(--line)" />,
    <XAxis
      key="x"
      dataKey="at"
      tickFormatter={(at: string) => tickOf(at, every)}
      tick={INK}
      tickLine={false}
      minTickGap={32}
      axisLine={{ stroke: 'var(--line-strong)' }}
    />,
    <YAxis
      key="y"
      tickFormatter={format}
      tick={INK}
      tickLine={false}
      axisLine={false}
      width={64}
      {...scaleOf(highest)}
    />,
    <Tooltip
      key="tip"
      isAnimationActive={false}
      cursor={{ fill: 'var(--hover)', stroke: 'var(--line-strong)', fillOpacity: 0.6 }}
      content={(tip) => (
        <Tip
          at={String(tip.label ?? '')}
          values={rowOf(tip.payload)}
          {...{ series, every, format, isSummed: kind === 'bars' }}
        />
      )}
    />,
  ]
}

function rowOf(payload: unknown): Row {
  const [first] = (payload ?? []) as { payload?: Row }[]
  return first?.payload ?? {}
}

interface TipProps {
  at: string
  values: Row
  series: ChartSeries[]
  every: 'hour' | 'day'
  format(value: number): string
  isSummed: boolean
}

function Tip({ at, values, series, every, format, isSummed }: TipProps) {
  const shown = series.filter(({ id }) => Number(values[id] ?? 0) > 0)
  const total = shown.reduce((sum, { id }) => sum + Number(values[id]), 0)
  if (at === '') return null
  return (
    <div className="min-w-40 rounded-md bg-raised px-3 py-2 text-xs shadow-float">
      <p className="mb-1 font-medium text-ink">{momentOf(at, every)}</p>
      {shown.toReversed().map(({ id, label, colour }) => (
        <p key={id} className="flex items-center gap-1.5 text-muted">
          <Swatch colour={colour} />
          <span className="max-w-40 truncate">{label}</span>
          <span className="tabular ml-auto pl-4 text-ink">{format(Number(values[id]))}</span>
        </p>
      ))}
      {shown.length === 0 && <p className="text-muted">No calls</p>}
      {isSummed && shown.length > 1 && (
        <p className="mt-1 flex border-t border-line pt-1 text-ink">
          Total<span className="tabular ml-auto pl-4">{format(total)}</span>
        </p>
      )}
    </div>
  )
}
