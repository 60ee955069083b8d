import { useForm } from 'react-hook-form'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Form, FormError } from '../../components/form.tsx'
import { toast } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { NewPasswordField } from '../sign/new-password-field.tsx'

export function PasswordCard() {
  const form = useForm({ defaultValues: { newPassword: '' } })
  const change = useChange('POST /api/me/password', ['GET /api/me/sessions'])
  async function save(body: { newPassword: string }): Promise<void> {
    await change.mutateAsync({ body })
    form.reset()
    toast('Your password has been changed. You are signed out everywhere else.')
  }
  const footer = (
    <>
      <p className="text-sm text-muted">Signs you out everywhere else.</p>
      <Button type="submit" form="password" isBusy={form.formState.isSubmitting}>
        Change password
      </Button>
    </>
  )
  return (
    <Card title="Password" footer={footer}>
      <Form form={form} onSubmit={save} id="password" className="sm:grid sm:grid-cols-2">
        <NewPasswordField form={form} />
        <FormError form={form} />
      </Form>
    </Card>
  )
}
