/** The data of a chart; the library that draws it is loaded with the first one. */
export interface ChartSeries {
  id: string
  label: string
  colour: string
}

export interface ChartPoint {
  /** ISO */
  at: string
  values: Record<string, number>
}

export interface ChartProps {
  /** The chart in a sentence, for people who cannot see it. */
  label: string
  kind: 'bars' | 'lines'
  series: ChartSeries[]
  points: ChartPoint[]
  every: 'hour' | 'day'
  format(value: number): string
  /** Somebody chose a bar of this series, or a moment of all of them. */
  onPick?(at: string, series?: string): void
}
