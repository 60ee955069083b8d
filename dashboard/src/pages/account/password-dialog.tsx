import type { ReactNode } from 'react'
import { useForm } from 'react-hook-form'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { PasswordInput } from '../../components/input.tsx'

export interface PasswordDialogProps {
  title: string
  verb: string
  look?: 'primary' | 'danger'
  children: ReactNode
  onClose(): void
  onSubmit(password: string): Promise<void>
}

/** Asks for the password again before something that a found, unlocked laptop must not be able to do. */
export function PasswordDialog({ title, verb, look = 'primary', children, onClose, onSubmit }: PasswordDialogProps) {
  const form = useForm({ defaultValues: { password: '' } })
  return (
    <Dialog isOpen onClose={onClose} title={title} description={children}>
      <Form form={form} onSubmit={({ password }) => onSubmit(password)}>
        <FormField form={form} name="password" label="Your password" rules={{ required: 'Write your password.' }}>
          {(field) => <PasswordInput {...field} autoComplete="current-password" />}
        </FormField>
        <FormError form={form} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look={look} isBusy={form.formState.isSubmitting}>
            {verb}
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}
