import { Checkbox as BaseCheckbox } from '@base-ui/react/checkbox'
import { Switch as BaseSwitch } from '@base-ui/react/switch'
import { Check } from 'lucide-react'
import type { ReactNode } from 'react'
import { classes } from './classes.ts'

export interface ToggleProps {
  checked: boolean
  onChange(checked: boolean): void
  label: ReactNode
  hint?: ReactNode
  disabled?: boolean
  name?: string
}

/** For agreeing to something, and for choosing several of a list. */
export function Checkbox({ checked, onChange, label, hint, disabled, name }: ToggleProps) {
  return (
    <label className="flex items-start gap-2.5">
      <BaseCheckbox.Root
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        name={name}
        className={classes(
          'mt-0.5 flex size-4.5 shrink-0 items-center justify-center rounded-sm border border-line-strong bg-surface text-on-accent',
          'data-checked:border-accent data-checked:bg-accent data-disabled:opacity-50',
        )}
      >
        <BaseCheckbox.Indicator>
          <Check className="size-3.5" strokeWidth={3} aria-hidden />
        </BaseCheckbox.Indicator>
      </BaseCheckbox.Root>
      <ToggleText label={label} hint={hint} />
    </label>
  )
}

/** For what takes effect at once. */
export function Switch({ checked, onChange, label, hint, disabled, name }: ToggleProps) {
  return (
    <label className="flex items-start justify-between gap-4">
      <ToggleText label={label} hint={hint} />
      <BaseSwitch.Root
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        name={name}
        className={classes(
          'mt-0.5 flex h-5 w-9 shrink-0 rounded-full bg-faint p-0.5 transition-colors',
          'data-checked:bg-accent data-disabled:opacity-50',
        )}
      >
        <BaseSwitch.Thumb className="size-4 rounded-full bg-white shadow-sm transition-transform data-checked:translate-x-4" />
      </BaseSwitch.Root>
    </label>
  )
}

function ToggleText({ label, hint }: { label: ReactNode; hint?: ReactNode }) {
  return (
    <span className="min-w-0">
      <span className="block">{label}</span>
      {hint && <span className="block text-sm text-muted">{hint}</span>}
    </span>
  )
}
