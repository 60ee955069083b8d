const WIDTH = 88
const HEIGHT = 28
const EDGE = 2

/** How a figure came about, beside it. Decoration: the chart has the numbers. */
export function Sparkline({ values }: { values: readonly (number | null)[] }) {
  const known = values.filter((value) => value !== null)
  const highest = Math.max(...known, 0)
  if (known.length < 2 || highest <= 0) return <svg aria-hidden width={WIDTH} height={HEIGHT} className="shrink-0" />
  const at = (n: number, value: number) => {
    const x = EDGE + (n * (WIDTH - 2 * EDGE)) / (values.length - 1)
    const y = HEIGHT - EDGE - (value / highest) * (HEIGHT - 2 * EDGE)
    return `${x.toFixed(1)} ${y.toFixed(1)}`
  }
  // A moment without a value, such as the speed of no calls, is left out, and its neighbours are joined.
  const line = values.flatMap((value, n) => (value === null ? [] : [at(n, value)])).join(' L')
  return (
    <svg
      aria-hidden
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      className="shrink-0 text-accent-text"
    >
      <path
        d={`M${line}`}
        fill="none"
        stroke="currentColor"
        strokeWidth={1.5}
        strokeLinejoin="round"
        strokeLinecap="round"
      />
    </svg>
  )
}
