import { useState, type KeyboardEvent } from 'react'
import type { ChartProps } from './chart-data.ts'
import { movedAlong, readingOf, wordsOf } from './chart-reading.ts'
import { ChartTip } from './chart-tip.tsx'
import { classes } from './classes.ts'
import { AREA } from './chart-area.ts'

/**
 * The bars for the keyboard: one stop of the Tab key, arrow keys go from bar to bar, and Enter leads where a click does. What the
 * tooltip shows is the value of a slider, which screen readers say whenever it changes.
 */
export function ChartKeys({ chart }: { chart: ChartProps }) {
  const { kind, points, every, onPick } = chart
  const [chosen, setChosen] = useState<number>()
  const [hasFocus, setFocus] = useState(false)
  const index = Math.min(chosen ?? points.length - 1, points.length - 1)
  const point = points[index]
  if (point === undefined) return null
  const reading = readingOf(chart, point.at, point.values)

  function onKey(event: KeyboardEvent): void {
    const next = movedAlong(event.key, index, points.length)
    if (next !== undefined) setChosen(next)
    else if (event.key === 'Enter' && onPick && point) onPick(point.at)
    else return
    event.preventDefault()
  }
  // The middle of a bar, or a point of a line, which begins and ends at the edges.
  const share = kind === 'bars' || points.length === 1 ? (index + 0.5) / points.length : index / (points.length - 1)
  const left = `calc(${AREA.left}px + (100% - ${AREA.left + AREA.right}px) * ${share})`
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label={every === 'hour' ? 'Hour' : 'Day'}
      aria-valuemin={1}
      aria-valuemax={points.length}
      aria-valuenow={index + 1}
      aria-valuetext={wordsOf(reading)}
      onKeyDown={onKey}
      onFocus={() => setFocus(true)}
      onBlur={() => setFocus(false)}
      className="pointer-events-none absolute inset-0 rounded-sm"
    >
      {hasFocus && (
        <div aria-hidden className="absolute inset-0 focus-visible:block">
          <span className="absolute w-px bg-line-strong" style={{ left, top: AREA.top, bottom: AREA.bottom }} />
          <div
            className={classes(
              'absolute z-10 w-max',
              share > 0.5 ? '-translate-x-[calc(100%+0.5rem)]' : 'translate-x-2',
            )}
            style={{ left, top: AREA.top }}
          >
            <ChartTip reading={reading} />
          </div>
        </div>
      )}
    </div>
  )
}
