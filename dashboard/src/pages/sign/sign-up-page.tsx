import { useNavigate } from '@tanstack/react-router'
import { useForm } from 'react-hook-form'
import { api } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { Input, PasswordInput } from '../../components/input.tsx'
import { Link } from '../../components/link.tsx'
import { FrameCard } from '../../shell/frame-card.tsx'
import { PASSWORD_RULES } from './password-rules.ts'

interface NewAccount {
  name: string
  publisher: string
  email: string
  password: string
}

export function SignUpPage() {
  const navigate = useNavigate()
  const form = useForm<NewAccount>({ defaultValues: { name: '', publisher: '', email: '', password: '' } })

  async function signUp({ publisher, ...rest }: NewAccount): Promise<void> {
    const body = { ...rest, ...(publisher.trim() !== '' && { publisher }) }
    await api('POST /api/auth/sign-up/email', { body })
    await navigate({ to: '/check-mail', search: { email: rest.email.trim() } })
  }

  return (
    <FrameCard
      title="Create an account"
      description="Chat completions for your site: one API, prepaid, billed to the token."
      below={
        <>
          Have an account? <Link to="/sign-in">Sign in</Link>. Here to advertise? Create an account first, then open{' '}
          <Link to="/advertise">Advertise</Link>.
        </>
      }
    >
      <Form form={form} onSubmit={signUp}>
        <FormField form={form} name="name" label="Your name" rules={{ required: 'Enter your name.' }}>
          {(field) => <Input {...field} autoComplete="name" autoFocus />}
        </FormField>
        <FormField
          form={form}
          name="publisher"
          label="Publisher"
          hint="Your company or site. Your own name if left empty."
        >
          {(field) => <Input {...field} autoComplete="organization" />}
        </FormField>
        <FormField form={form} name="email" label="Email" rules={{ required: 'Enter your email address.' }}>
          {(field) => <Input {...field} type="email" autoComplete="email" />}
        </FormField>
        <FormField form={form} name="password" label="Password" hint="At least 12 characters." rules={PASSWORD_RULES}>
          {(field) => <PasswordInput {...field} autoComplete="new-password" />}
        </FormField>
        <FormError form={form} />
        <Button type="submit" look="primary" size="lg" isBusy={form.formState.isSubmitting}>
          Create account
        </Button>
      </Form>
    </FrameCard>
  )
}
