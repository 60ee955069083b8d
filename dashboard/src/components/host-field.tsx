import { useWatch, type FieldPath, type FieldValues, type UseFormReturn } from 'react-hook-form'
import { pastedHost } from '../pasted-host.ts'
import { FormField } from './form.tsx'
import { Input } from './input.tsx'

export interface HostFieldProps<T extends FieldValues> {
  form: UseFormReturn<T>
  name: FieldPath<T>
  label: string
  hint: string
  autoFocus?: boolean
}

/** Takes a domain. A whole address may be pasted: the hint then says which host is taken from it. */
export function HostField<T extends FieldValues>({ form, name, label, hint, autoFocus }: HostFieldProps<T>) {
  const host = pastedHost(String(useWatch({ control: form.control, name })))
  return (
    <FormField
      form={form}
      name={name}
      label={label}
      hint={host === undefined ? hint : `Takes the host of this address: ${host}`}
      rules={{ required: 'Enter a domain like example.com.' }}
    >
      {(field) => (
        <Input
          {...field}
          placeholder="example.com"
          inputMode="url"
          autoCapitalize="none"
          spellCheck={false}
          autoFocus={autoFocus}
        />
      )}
    </FormField>
  )
}
