import { CircleAlert } from 'lucide-react'
import { useId, type ReactNode } from 'react'

/** Connects a control with its label, its hint and its error. Spread it onto the control. */
export interface FieldControl {
  id: string
  'aria-describedby': string | undefined
  'aria-invalid': true | undefined
}

export interface FieldProps {
  label: ReactNode
  hint?: ReactNode
  error?: string | undefined
  /** At the right of the label, such as a link to another page. */
  aside?: ReactNode
  children(control: FieldControl): ReactNode
}

export function Field({ label, hint: told, error, aside, children }: FieldProps) {
  const id = useId()
  // A rule that is broken is said once.
  const hint = told === error ? undefined : told
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="min-w-0">
      <div className="mb-1.5 flex items-baseline justify-between gap-3">
        <label htmlFor={id} className="text-sm font-medium">
          {label}
        </label>
        {aside && <span className="text-sm">{aside}</span>}
      </div>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': error ? true : undefined })}
      {error && (
        <p id={`${id}-error`} role="alert" className="mt-1.5 flex items-start gap-1.5 text-sm text-bad">
          <CircleAlert className="mt-0.5 size-3.5 shrink-0" aria-hidden />
          {error}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} className="mt-1.5 text-sm text-muted">
          {hint}
        </p>
      )}
    </div>
  )
}
