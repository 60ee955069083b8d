import { lazy, Suspense } from 'react'
import type { ChartProps, ChartSeries } from './chart-data.ts'
import { Skeleton } from './skeleton.tsx'
import { Swatch } from './swatch.tsx'

const Plot = lazy(async () => ({ default: (await import('./chart-plot.tsx')).ChartPlot }))

/** One idea each, and its room is kept while it loads. Data is undefined until then. */
export function Chart({ data }: { data: ChartProps | undefined }) {
  const room = <Skeleton className="h-56 w-full" />
  if (data === undefined) {
    return (
      <div>
        {room}
        <Legend series={[]} />
      </div>
    )
  }
  const isSingle = data.series.length === 1
  return (
    <figure aria-label={data.label}>
      {/* A single series needs no legend: the card's title says it already, and the plot takes the room. */}
      <div aria-hidden className={isSingle ? 'h-64' : 'h-56'}>
        <Suspense fallback={room}>
          <Plot {...data} />
        </Suspense>
      </div>
      {!isSingle && <Legend series={data.series} />}
    </figure>
  )
}

function Legend({ series }: { series: ChartSeries[] }) {
  return (
    <div className="mt-3 flex min-h-5 flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
      {series.map(({ id, label, colour }) => (
        <span key={id} className="inline-flex items-center gap-1.5">
          <Swatch colour={colour} />
          {label}
        </span>
      ))}
    </div>
  )
}
