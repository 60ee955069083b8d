import type { ReactNode } from 'react'
import type { FieldPath, FieldValues, RegisterOptions, UseFormRegisterReturn, UseFormReturn } from 'react-hook-form'
import { Button, type ButtonProps } from './button.tsx'
import { classes } from './classes.ts'
import { Field, type FieldControl } from './field.tsx'
import { Notice } from './notice.tsx'
import { showServerError } from './server-error.ts'

export interface FormProps<T extends FieldValues> {
  form: UseFormReturn<T>
  /** Errors that it throws are shown beside the fields that the server names, or above the buttons. */
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

interface CancelAndSubmitProps extends Pick<
  ButtonProps,
  'look' | 'isBusy' | 'disabled' | 'form' | 'className' | 'children'
> {
  onCancel(): void
}

/** The two buttons that end a form in a dialog. */
export function CancelAndSubmit({ onCancel, look = 'primary', ...submit }: CancelAndSubmitProps) {
  return (
    <>
      <Button onClick={onCancel}>Cancel</Button>
      <Button {...submit} type="submit" look={look} />
    </>
  )
}
