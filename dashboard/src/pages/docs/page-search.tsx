import { Search } from 'lucide-react'
import { Input } from '../../components/input.tsx'

export interface PageSearchProps {
  value: string
  onChange(value: string): void
  /** The number of sections that are left, announced by screen readers when it changes. */
  found: number
  all: number
}

/** Leaves the sections of a page that have these words in them. */
export function PageSearch({ value, onChange, found, all }: PageSearchProps) {
  return (
    <div className="mb-6 flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="relative block w-full max-w-xs">
        <Search aria-hidden className="pointer-events-none absolute top-2.5 left-2.5 size-4 text-muted" />
        <Input
          type="search"
          aria-label="Search this page"
          placeholder="Search this page"
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className="pl-8"
        />
      </span>
      <span role="status" className="text-sm text-muted">
        {value.trim() === '' ? '' : `${found} of ${all} sections`}
      </span>
    </div>
  )
}

export function hasWords(text: string, sought: string): boolean {
  const lower = text.toLowerCase()
  return sought
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word))
}
