import { ChevronsUpDown } from 'lucide-react'
import type { ComponentProps } from 'react'
import { classes } from './classes.ts'
import { CONTROL } from './input.tsx'

export interface Option {
  value: string
  label: string
}

export interface SelectProps extends ComponentProps<'select'> {
  options: Option[]
  /** `sm` fits a row of filters. */
  fit?: 'field' | 'filter'
}

/** The browser's own select: it works with every keyboard, screen reader and phone, and costs no bytes. */
export function Select({ options, fit = 'field', className, ...rest }: SelectProps) {
  const size = fit === 'field' ? 'h-9 w-full' : 'h-9 sm:h-8 text-sm w-auto max-w-full'
  return (
    <span className={classes('relative inline-flex', fit === 'field' && 'w-full', className)}>
      <select {...rest} className={classes(CONTROL, size, 'appearance-none truncate py-0 pr-8 pl-2.5')}>
        {options.map(({ value, label }) => (
          <option key={value} value={value} className="bg-raised text-ink">
            {label}
          </option>
        ))}
      </select>
      <ChevronsUpDown
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2.5 size-3.5 -translate-y-1/2 text-muted"
      />
    </span>
  )
}
