import type { UseFormReturn } from 'react-hook-form'
import { FormField } from '../../components/form.tsx'
import { PasswordInput } from '../../components/input.tsx'
import { PASSWORD_RULES } from './password-rules.ts'

interface Props {
  form: UseFormReturn<{ newPassword: string }>
  /** It is what its page is for. */
  autoFocus?: boolean
}

export function NewPasswordField({ form, autoFocus }: Props) {
  return (
    <FormField
      form={form}
      name="newPassword"
      label="New password"
      hint="At least 12 characters."
      rules={PASSWORD_RULES}
    >
      {(field) => <PasswordInput {...field} autoComplete="new-password" autoFocus={autoFocus} />}
    </FormField>
  )
}
