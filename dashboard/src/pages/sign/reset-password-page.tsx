import { useNavigate } from '@tanstack/react-router'
import { useForm } from 'react-hook-form'
import { api } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Form, FormError } from '../../components/form.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { toast } from '../../components/toast.tsx'
import { FrameCard } from '../../shell/frame-card.tsx'
import { useLinkToken } from './link-token.ts'
import { NewPasswordField } from './new-password-field.tsx'

export function ResetPasswordPage() {
  const token = useLinkToken()
  const navigate = useNavigate()
  const form = useForm({ defaultValues: { newPassword: '' } })
  async function reset({ newPassword }: { newPassword: string }): Promise<void> {
    await api('POST /api/auth/reset-password', { body: { token, newPassword } })
    toast('Your password has been changed. Sign in with the new one.')
    await navigate({ to: '/sign-in' })
  }
  const again = <Link to="/forgot-password">Send another link</Link>
  if (token === '') {
    return (
      <FrameCard title="This link is incomplete" below={again}>
        <Notice tone="warn">Copy the whole link from the email, or request another.</Notice>
      </FrameCard>
    )
  }
  return (
    <FrameCard title="Choose a new password" description="This signs you out everywhere." below={again}>
      <Form form={form} onSubmit={reset}>
        <NewPasswordField form={form} autoFocus />
        <FormError form={form} />
        <Button type="submit" look="primary" size="lg" isBusy={form.formState.isSubmitting}>
          Change password
        </Button>
      </Form>
    </FrameCard>
  )
}
