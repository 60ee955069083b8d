import { classes } from '../../components/classes.ts'
import { Field } from '../../components/field.tsx'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'

/** The words for a minimum: those of the highest value that it reaches. */
const WORDS: [from: number, words: string][] = [
  [0.85, 'Only near-perfect matches'],
  [0.7, 'Only very close matches'],
  [0.55, 'Only close matches'],
  [0.01, 'Good matches'],
  [0, 'Anything this installation allows'],
]
const COMPARED = 50
/** With fewer, a share says nothing. */
const COMPARED_MIN = 10

export interface RelevanceSliderProps {
  value: number
  onChange(value: number): void
  error: string | undefined
}

export function RelevanceSlider({ value, onChange, error }: RelevanceSliderProps) {
  const words = WORDS.find(([from]) => value >= from)?.[1] ?? ''
  const lately = useLatelyAbove(value)
  return (
    <Field
      label="Minimum relevance"
      aside={
        <span className="text-muted">
          {words} <span className="tabular">({value.toFixed(2)})</span>
        </span>
      }
      hint={
        <span className="block min-h-10">
          How close an offer has to be to the conversation. A higher bid never makes up for it. {lately}
        </span>
      }
      error={error}
    >
      {(control) => (
        <input
          {...control}
          type="range"
          min={0}
          max={0.95}
          step={0.05}
          value={value}
          aria-valuetext={words}
          onChange={(event) => onChange(Number(event.target.value))}
          className={classes(
            'my-2 block h-1.5 w-full appearance-none rounded-full bg-line-strong outline-offset-4 disabled:opacity-50',
            '[&::-webkit-slider-thumb]:size-5 [&::-webkit-slider-thumb]:appearance-none [&::-webkit-slider-thumb]:rounded-full [&::-webkit-slider-thumb]:bg-accent',
            '[&::-moz-range-thumb]:size-5 [&::-moz-range-thumb]:rounded-full [&::-moz-range-thumb]:border-0 [&::-moz-range-thumb]:bg-accent',
          )}
        />
      )}
    </Field>
  )
}

/** Says what the choice would have meant for the latest recommendations. */
function useLatelyAbove(least: number): string {
  const project = useProject()
  const call = { params: { project: project.id }, query: { limit: COMPARED } }
  const { data } = useApi('GET /api/projects/:project/recommendations', call)
  if (data === undefined || data.items.length < COMPARED_MIN) return ''
  const above = data.items.filter(({ relevance }) => relevance >= least).length
  return `Of the last ${data.items.length} recommendations, ${above} were at least this close.`
}
