import { useState } from 'react'
import { useForm } from 'react-hook-form'
import { api } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { FrameCard } from '../../shell/frame-card.tsx'

export function ForgotPasswordPage() {
  const [sentTo, setSentTo] = useState<string>()
  const form = useForm({ defaultValues: { email: '' } })
  async function ask(body: { email: string }): Promise<void> {
    await api('POST /api/auth/request-password-reset', { body })
    setSentTo(body.email.trim())
  }
  return (
    <FrameCard
      title="Reset your password"
      description="We’ll email you a link to choose a new one."
      below={<Link to="/sign-in">Back to sign in</Link>}
    >
      {sentTo === undefined ? (
        <Form form={form} onSubmit={ask}>
          <FormField form={form} name="email" label="Email" rules={{ required: 'Enter your email address.' }}>
            {(field) => <Input {...field} type="email" autoComplete="username" autoFocus />}
          </FormField>
          <FormError form={form} />
          <Button type="submit" look="primary" size="lg" isBusy={form.formState.isSubmitting}>
            Send link
          </Button>
        </Form>
      ) : (
        <Notice tone="good">If {sentTo} has an account, an email with a link is on its way.</Notice>
      )}
    </FrameCard>
  )
}
