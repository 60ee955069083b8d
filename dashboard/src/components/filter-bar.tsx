import { Search, X } from 'lucide-react'
import { useEffect, useEffectEvent, useState, type ReactNode } from 'react'
import { IconButton } from './icon-button.tsx'
import { Input } from './input.tsx'
import { Select, type Option } from './select.tsx'
import { followed, type TypedText } from './typed-text.ts'

/** Filters in one row under the header. `onClear` appears only when there is something to clear; its room is always there. */
export function FilterBar({ children, onClear }: { children: ReactNode; onClear?: (() => void) | false | undefined }) {
  return (
    <div role="search" className="mb-4 flex flex-wrap items-center gap-2">
      {children}
      <span className={onClear ? undefined : 'invisible max-sm:hidden'}>
        <IconButton label="Clear filters" icon={<X aria-hidden />} onClick={onClear || undefined} />
      </span>
    </div>
  )
}

export interface FilterSelectProps {
  label: string
  value: string | undefined
  onChange(value: string | undefined): void
  options: Option[]
  /** Its text when nothing is chosen, such as "All models". */
  all: string
}

export function FilterSelect({ label, value, onChange, options, all }: FilterSelectProps) {
  return (
    <Select
      fit="filter"
      aria-label={label}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value || undefined)}
      options={[{ value: '', label: all }, ...options]}
    />
  )
}

export interface FilterInputProps {
  label: string
  value: string | undefined
  onChange(value: string | undefined): void
  placeholder?: string
}

const PAUSE_MS = 300

/** Tells what was typed after a short pause: every letter would be a request. */
export function FilterInput({ label, value = '', onChange, placeholder = label }: FilterInputProps) {
  const [field, setField] = useState<TypedText>({ text: value, given: value })
  const current = followed(field, value)
  if (current !== field) setField(current)
  const { text } = current
  const tell = useEffectEvent(() => {
    setField({ ...current, told: text })
    onChange(text || undefined)
  })
  useEffect(() => {
    if (text === value) return undefined
    const timer = setTimeout(tell, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, value])
  return (
    <span className="relative w-full sm:w-40 sm:max-w-56 sm:grow">
      <Search
        aria-hidden
        className="pointer-events-none absolute top-1/2 left-2.5 size-4 -translate-y-1/2 text-faint"
      />
      <Input
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={text}
        onChange={(event) => setField({ ...current, text: event.target.value })}
        className="pl-8 text-sm sm:h-8"
      />
    </span>
  )
}
