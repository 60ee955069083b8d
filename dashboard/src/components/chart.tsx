import { lazy, Suspense } from 'react'
import type { ChartProps, ChartSeries } from './chart-data.ts'
import { ChartKeys } from './chart-keys.tsx'
import { classes } from './classes.ts'
import { Skeleton } from './skeleton.tsx'
import { Swatch } from './swatch.tsx'

const Plot = lazy(async () => ({ default: (await import('./chart-plot.tsx')).ChartPlot }))

/** One idea each, and its room is kept while it loads. Data is undefined until then. `isHero`: the one that a page is about. */
export function Chart({ data, isHero = false }: { data: ChartProps | undefined; isHero?: boolean }) {
  const height = isHero ? 'h-56 lg:h-80' : 'h-56'
  const room = <Skeleton className={classes('w-full', height)} />
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
      <div className={classes('relative', isSingle ? SINGLE_HEIGHTS[height] : height)}>
        <div aria-hidden className="h-full">
          <Suspense fallback={room}>
            <Plot {...data} />
          </Suspense>
        </div>
        <ChartKeys chart={data} />
      </div>
      {!isSingle && <Legend series={data.series} />}
    </figure>
  )
}

/** With the legend's room. */
const SINGLE_HEIGHTS = { 'h-56': 'h-69 sm:h-64', 'h-56 lg:h-80': 'h-69 sm:h-64 lg:h-88' }

/** On a phone, it has room for two lines from the start. */
function Legend({ series }: { series: ChartSeries[] }) {
  return (
    <div className="mt-3 flex min-h-10 content-start sm:min-h-5 flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
      {series.map(({ id, label, colour }) => (
        <span key={id} className="inline-flex items-center gap-1.5">
          <Swatch colour={colour} />
          {label}
        </span>
      ))}
    </div>
  )
}
