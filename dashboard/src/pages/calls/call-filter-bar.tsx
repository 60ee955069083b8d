import { ChevronDown, X } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { classes } from '../../components/classes.ts'
import { FilterBar, FilterInput, FilterSelect, type FilterSelectProps } from '../../components/filter-bar.tsx'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { chipsOf, COSTS, type CallFilterName, type Chip, type ChosenFilters } from './call-filters.ts'

export interface CallFilterBarProps {
  filters: ChosenFilters
  onChange(changes: ChosenFilters): void
  onClear: (() => void) | false
}

/** On a phone all but the id is folded away, so that the calls are on the first screen. */
export function CallFilterBar({ filters, onChange, onClear }: CallFilterBarProps) {
  const [isOpen, setOpen] = useState(false)
  const [openedMs] = useState(() => Date.now())
  const set = (name: CallFilterName) => (value: string | undefined) => onChange({ [name]: value ?? '' })
  return (
    <FilterBar onClear={onClear}>
      <span className="contents max-sm:flex max-sm:w-full max-sm:gap-2">
        <FilterInput
          label="Request or completion id"
          placeholder="Request id"
          value={filters.id}
          onChange={set('id')}
        />
        <Button
          className="sm:hidden"
          aria-expanded={isOpen}
          icon={<ChevronDown className={isOpen ? 'rotate-180' : undefined} aria-hidden />}
          onClick={() => setOpen(!isOpen)}
        >
          Filters
        </Button>
      </span>
      <span className={classes('contents', !isOpen && 'max-sm:hidden')}>
        <Choices filters={filters} onChange={onChange} />
      </span>
      {chipsOf(filters, openedMs).map((chip) => (
        <ChipButton key={chip.words} chip={chip} onChange={onChange} />
      ))}
    </FilterBar>
  )
}

function Choices({ filters, onChange }: Pick<CallFilterBarProps, 'filters' | 'onChange'>) {
  const project = useProject()
  const { data } = useApi('GET /api/projects/:project/call-filters', { params: { project: project.id } })
  const set = (name: CallFilterName) => (value: string | undefined) => onChange({ [name]: value ?? '' })
  const choice = (name: CallFilterName) => ({ value: filters[name], onChange: set(name) })
  const models = (data?.models ?? []).toSorted().map((model) => ({ value: model, label: model }))
  const keys = (data?.keys ?? []).map(({ id, name }) => ({ value: id, label: name }))
  return (
    <>
      <FilterChoice
        label="Time"
        all="Any time"
        value={filters.since}
        // A time from the list takes the place of one that a figure led here with.
        onChange={(since) => onChange({ since: since ?? '', from: '', to: '' })}
        options={SINCES}
      />
      <FilterChoice label="Outcome" all="All outcomes" options={OUTCOMES} {...choice('outcome')} />
      <FilterChoice label="Status" all="All statuses" options={STATUSES} {...choice('status')} />
      <FilterChoice label="Model" all="All models" options={models} {...choice('model')} />
      <FilterChoice label="Key" all="All keys" options={keys} {...choice('key')} />
      <FilterChoice label="Streamed" all="Any delivery" options={STREAMED} {...choice('streamed')} />
      <FilterChoice
        label="Cost"
        all="Any cost"
        options={COSTS}
        onChange={set('min_cost')}
        value={COSTS.find(({ value }) => value === filters.min_cost)?.value}
      />
      <FilterInput label="Error code" {...choice('error_code')} />
      <span className="flex gap-2 max-sm:w-full">
        <FilterInput label="Metadata key" {...choice('metadata_key')} />
        <FilterInput label="Metadata value" {...choice('metadata_value')} />
      </span>
      {filters.conversation !== undefined && <FilterInput label="Conversation id" {...choice('conversation')} />}
    </>
  )
}

/** As wide with its options as before they are known: filters must not move when those arrive. */
function FilterChoice(props: FilterSelectProps) {
  return (
    <span className="w-40 max-sm:w-[calc(50%-0.25rem)] [&_select]:w-full [&>span]:w-full">
      <FilterSelect {...props} />
    </span>
  )
}

function ChipButton({ chip: { words, names }, onChange }: { chip: Chip; onChange: CallFilterBarProps['onChange'] }) {
  return (
    <button
      type="button"
      onClick={() => onChange(Object.fromEntries(names.map((name) => [name, ''])))}
      className="inline-flex h-8 items-center gap-1.5 rounded-md bg-accent-soft px-2.5 text-sm font-medium text-accent-text hover:bg-hover"
    >
      <span className="sr-only">Remove the filter: </span>
      {words}
      <X className="size-3.5" aria-hidden />
    </button>
  )
}

const SINCES = [
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
]
const OUTCOMES = [
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
  { value: 'hung_up', label: 'Caller hung up' },
  { value: 'hold_used_up', label: 'Credit ran out' },
  { value: 'upstream_failed', label: 'Model failed' },
  { value: 'truncated', label: 'Answer cut off' },
  { value: 'timed_out', label: 'Took too long' },
  { value: 'gateway_failed', label: 'Failed on our side' },
  { value: 'gateway_died', label: 'Interrupted' },
]
const STATUSES = [
  ...['200', '499', '500', '502', '503', '504'].map((value) => ({ value, label: value })),
  { value: '0', label: 'No answer' },
  { value: 'other', label: 'Any other' },
]
const STREAMED = [
  { value: 'true', label: 'Streamed' },
  { value: 'false', label: 'Not streamed' },
]
