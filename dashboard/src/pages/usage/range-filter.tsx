import { useState } from 'react'
import { Input } from '../../components/input.tsx'
import { Select, type Option } from '../../components/select.tsx'
import { DAY_MS } from '../../durations.ts'
import { isoDate, RANGE_OPTIONS, rangeOf, type RangeFilters } from './ranges.ts'

export interface RangeFilterProps {
  filters: RangeFilters
  onChange(changes: RangeFilters): void
  options?: Option[]
}

/** A named range, or two dates. Days are days in UTC, and say so. */
export function RangeFilter({ filters, onChange, options = RANGE_OPTIONS }: RangeFilterProps) {
  const range = rangeOf(filters)
  const choose = (next: string) =>
    onChange(
      next === 'custom'
        ? { range: next, from: isoDate(Date.now() - 7 * DAY_MS), to: isoDate(Date.now()) }
        : { range: next, from: '', to: '' },
    )
  return (
    <>
      <Select
        fit="filter"
        aria-label="Time range"
        value={range}
        onChange={(event) => choose(event.target.value)}
        options={options}
      />
      {range === 'custom' && (
        <span className="flex items-center gap-1.5 text-sm text-muted">
          <DateInput label="First day (UTC)" value={filters.from} onChange={(from) => onChange({ from })} />
          to
          <DateInput label="Last day (UTC)" value={filters.to} onChange={(to) => onChange({ to })} />
        </span>
      )}
    </>
  )
}

function DateInput({
  label,
  value = '',
  onChange,
}: {
  label: string
  value: string | undefined
  onChange(value: string): void
}) {
  const [today] = useState(() => isoDate(Date.now()))
  return (
    <Input
      type="date"
      aria-label={label}
      value={value.slice(0, 10)}
      max={today}
      onChange={(event) => event.target.value && onChange(event.target.value)}
      className="w-36 text-sm sm:h-8"
    />
  )
}
