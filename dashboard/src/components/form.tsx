import type { ReactNode } from 'react'
import type { FieldPath, FieldValues, RegisterOptions, UseFormRegisterReturn, UseFormReturn } from 'react-hook-form'
import { ApiError } from '../api.ts'
import { classes } from './classes.ts'
import { Field, type FieldControl } from './field.tsx'
import { Notice } from './notice.tsx'

export interface FormProps<T extends FieldValues> {
  form: UseFormReturn<T>
  /** What it throws is shown: beside the fields that the server names, or above the buttons. */
  onSubmit(values: T): Promise<unknown>
  children: ReactNode
  className?: string
  /** For a button that stands outside of it, such as in a card's footer. */
  id?: string
}

export function Form<T extends FieldValues>({ form, onSubmit, children, className, id }: FormProps<T>) {
  const submit = form.handleSubmit(async (values) => {
    try {
      await onSubmit(values)
    } catch (error) {
      showServerError(form, error)
    }
  })
  return (
    <form
      id={id}
      noValidate
      onSubmit={(event) => void submit(event)}
      className={classes('flex flex-col gap-5', className)}
    >
      {children}
    </form>
  )
}

/** The sentence that belongs to no field. Stands above the buttons, where the eye is after pressing one. */
export function FormError<T extends FieldValues>({ form }: { form: UseFormReturn<T> }) {
  const message = form.formState.errors.root?.server?.message
  return message ? <Notice tone="bad">{message}</Notice> : null
}

export interface FormFieldProps<T extends FieldValues, N extends FieldPath<T>> {
  form: UseFormReturn<T>
  name: N
  label: ReactNode
  hint?: ReactNode
  aside?: ReactNode
  rules?: RegisterOptions<T, N>
  children(control: FieldControl & UseFormRegisterReturn<N>): ReactNode
}

export function FormField<T extends FieldValues, N extends FieldPath<T>>(props: FormFieldProps<T, N>) {
  const { form, name, rules, children, ...rest } = props
  const error = form.getFieldState(name, form.formState).error?.message
  return (
    <Field {...rest} error={error}>
      {(control) => children({ ...control, ...form.register(name, rules) })}
    </Field>
  )
}

/** A field that the server names and the form does not have would show nowhere, so its sentence goes above the buttons. */
export function showServerError<T extends FieldValues>(form: UseFormReturn<T>, error: unknown): void {
  const known = new Set(Object.keys(form.getValues()))
  const fields = error instanceof ApiError ? error.fields : []
  const shown = fields.filter(({ path }) => known.has(path.split('.')[0] ?? ''))
  for (const [n, { path, message }] of shown.entries()) {
    form.setError(path as FieldPath<T>, { message }, { shouldFocus: n === 0 })
  }
  if (shown.length > 0 && shown.length === fields.length) return
  const message = error instanceof Error ? error.message : String(error)
  form.setError('root.server', { message })
}
