import type { FieldPath, FieldValues, UseFormReturn } from 'react-hook-form'
import { ApiError } from '../api.ts'

/** A field that the server names and the form does not have would show nowhere, so its sentence goes above the buttons. */
export function showServerError<T extends FieldValues>(
  form: Pick<UseFormReturn<T>, 'getValues' | 'setError'>,
  error: unknown,
): void {
  const known = new Set(Object.keys(form.getValues()))
  const fields = error instanceof ApiError ? error.fields : []
  const shown = fields.filter(({ path }) => known.has(path.split('.')[0] ?? ''))
  for (const [n, { path, message }] of shown.entries()) {
    form.setError(path as FieldPath<T>, { message }, { shouldFocus: n === 0 })
  }
  const others = fields.filter((field) => !shown.includes(field))
  if (shown.length > 0 && others.length === 0) return
  // The server's own sentence tells of the first field only, which may be one that is shown.
  const told = others.map(({ path, message }) => `${path}: ${message}`).join(' ')
  const message = told || (error instanceof Error ? error.message : String(error))
  form.setError('root.server', { message })
}
