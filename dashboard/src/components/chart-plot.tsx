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
  type DotItemDotProps,
} from 'recharts'
import { AREA } from './chart-area.ts'
import { alone, scaleOf, tickOf } from './chart-axes.ts'
import type { ChartProps } from './chart-data.ts'
import { readingOf } from './chart-reading.ts'
import { ChartTip } from './chart-tip.tsx'

type Row = Record<string, number | string>

const INK = { fontSize: 11, fill: 'var(--muted)' }
const MARGIN = { top: AREA.top, right: AREA.right, bottom: 0, left: 0 }
/** Beyond this, bars are thinner than the gaps between them. */
const BARS_MAX = 100

/** The only file that knows the chart library. It gets no role of its own: the figure around it says what it shows. */
export function ChartPlot(props: ChartProps) {
  const { kind, series, points, onPick } = props
  const rows: Row[] = points.map(({ at, values }) => ({ at, ...values }))
  const parts = partsOf(props)
  const shared = { data: rows, margin: MARGIN, accessibilityLayer: false }
  const pickMoment = onPick && {
    className: 'cursor-pointer',
    onClick: ({ activeLabel }: { activeLabel?: string | number | undefined }) =>
      activeLabel !== undefined && onPick(String(activeLabel)),
  }
  return (
    <ResponsiveContainer width="100%" height="100%">
      {kind === 'lines' ? (
        <LineChart {...shared} {...pickMoment}>
          {parts}
          {series.map(({ id, colour }) => (
            <Line
              key={id}
              dataKey={id}
              stroke={colour}
              strokeWidth={1.75}
              dot={dotFor(alone(points, id), colour)}
              connectNulls={false}
              isAnimationActive={false}
            />
          ))}
        </LineChart>
      ) : points.length > BARS_MAX ? (
        <AreaChart {...shared} {...pickMoment}>
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
            <Bar
              key={id}
              dataKey={id}
              stackId="all"
              fill={colour}
              maxBarSize={48}
              isAnimationActive={false}
              {...(onPick && {
                className: 'cursor-pointer',
                onClick: ({ payload }: { payload?: Row }) => payload && onPick(String(payload.at), id),
              })}
            />
          ))}
        </BarChart>
      )}
    </ResponsiveContainer>
  )
}

/** Only points that nothing is joined with have one: where every point had one, the line could not be seen. */
function dotFor(places: ReadonlySet<number>, colour: string) {
  return function Dot({ cx, cy, index }: DotItemDotProps) {
    if (cx === undefined || cy === undefined || !places.has(index)) return <g key={index} />
    return <circle key={index} cx={cx} cy={cy} r={3} fill={colour} />
  }
}

/** Axes, grid and tooltip, the same for every kind. */
function partsOf(chart: ChartProps) {
  const { kind, series, points, every, format } = chart
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
      height={AREA.bottom}
      axisLine={{ stroke: 'var(--line-strong)' }}
    />,
    <YAxis
      key="y"
      tickFormatter={format}
      tick={INK}
      tickLine={false}
      axisLine={false}
      width={AREA.left}
      {...scaleOf(highest)}
    />,
    <Tooltip
      key="tip"
      isAnimationActive={false}
      cursor={{ fill: 'var(--hover)', stroke: 'var(--line-strong)', fillOpacity: 0.6 }}
      content={({ label, payload }) =>
        label === undefined || label === '' ? null : (
          <ChartTip reading={readingOf(chart, String(label), rowOf(payload))} />
        )
      }
    />,
  ]
}

function rowOf(payload: unknown): Row {
  const [first] = (payload ?? []) as { payload?: Row }[]
  return first?.payload ?? {}
}
