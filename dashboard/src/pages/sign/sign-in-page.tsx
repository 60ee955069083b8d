import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { useForm } from 'react-hook-form'
import { api } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { Input, PasswordInput } from '../../components/input.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { safeNext } from '../../safe-next.ts'
import { FrameCard } from '../../shell/frame-card.tsx'
import { SecondFactor } from './second-factor.tsx'
import { usePasskeySignIn } from './use-passkey-sign-in.ts'

export function SignInPage() {
  const { next } = useSearch({ strict: false }) as { next?: string }
  const [needsCode, setNeedsCode] = useState(false)
  const enter = useEnter(next)
  const form = useForm({ defaultValues: { email: '', password: '' } })
  const passkey = usePasskeySignIn(enter)
  if (needsCode) return <SecondFactor onDone={enter} onBack={() => setNeedsCode(false)} />

  async function signIn(body: { email: string; password: string }): Promise<void> {
    passkey.stop()
    const { twoFactor } = await api('POST /api/auth/sign-in/email', { body })
    if (twoFactor) setNeedsCode(true)
    else await enter()
  }

  return (
    <FrameCard
      title="Sign in"
      below={
        <>
          New to Parley? <Link to="/sign-up">Create an account</Link>
        </>
      }
    >
      <Form form={form} onSubmit={signIn}>
        <FormField form={form} name="email" label="Email" rules={{ required: 'Enter your email address.' }}>
          {(field) => <Input {...field} type="email" autoComplete="username webauthn" autoFocus />}
        </FormField>
        <FormField
          form={form}
          name="password"
          label="Password"
          aside={<Link to="/forgot-password">Forgot password?</Link>}
          rules={{ required: 'Enter your password.' }}
        >
          {(field) => <PasswordInput {...field} autoComplete="current-password" />}
        </FormField>
        <FormError form={form} />
        <Button type="submit" look="primary" size="lg" isBusy={form.formState.isSubmitting}>
          Sign in
        </Button>
        {passkey.isPossible && (
          <>
            {passkey.error && <Notice tone="bad">{passkey.error.message}</Notice>}
            <Button size="lg" icon={<KeyRound aria-hidden />} isBusy={passkey.isBusy} onClick={passkey.ask}>
              Sign in with a passkey
            </Button>
          </>
        )}
      </Form>
    </FrameCard>
  )
}

/** Forgets the data of an earlier user, then goes on to where the link led. */
function useEnter(next: string | undefined): () => Promise<void> {
  const client = useQueryClient()
  const navigate = useNavigate()
  return async () => {
    client.clear()
    await navigate({ href: safeNext(next), replace: true })
  }
}
