import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useForm } from 'react-hook-form'
import { api } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { Input, PasswordInput } from '../../components/input.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { FrameCard } from '../../shell/frame-card.tsx'
import { addressIn, useLinkToken } from './link-token.ts'
import { NewPasswordField } from './new-password-field.tsx'

/**
 * A link alone confirms nothing: scanners of mail open every link in it, and a stranger may have signed up with the
 * address. It takes the password of the account, or another one in its place.
 */
export function ConfirmPage() {
  const token = useLinkToken()
  const client = useQueryClient()
  const [isNew, setNew] = useState(false)
  const [answer, setAnswer] = useState<{ activated: boolean }>()
  if (token === '') return <NoToken />
  if (answer) return <Confirmed activated={answer.activated} />

  async function confirm(body: { password: string } | { newPassword: string }): Promise<void> {
    setAnswer(await api('POST /api/auth/verify-email', { body: { token, ...body } }))
    client.clear()
  }
  const address = addressIn(token)
  return isNew ? (
    <NewPassword address={address} onSubmit={(newPassword) => confirm({ newPassword })} onBack={() => setNew(false)} />
  ) : (
    <KnownPassword address={address} onSubmit={(password) => confirm({ password })} onOther={() => setNew(true)} />
  )
}

interface KnownPasswordProps {
  address: string
  onSubmit(password: string): Promise<void>
  onOther(): void
}

function KnownPassword({ address, onSubmit, onOther }: KnownPasswordProps) {
  const form = useForm({ defaultValues: { password: '' } })
  return (
    <FrameCard
      title="Confirm your email address"
      description="Enter the password you chose when you signed up."
      below={
        <button type="button" onClick={onOther} className="font-medium text-accent-text hover:underline">
          I did not sign up, or forgot the password
        </button>
      }
    >
      <Form form={form} onSubmit={({ password }) => onSubmit(password)}>
        <Address address={address} />
        <FormField form={form} name="password" label="Password" rules={{ required: 'Enter your password.' }}>
          {(field) => <PasswordInput {...field} autoComplete="current-password" autoFocus />}
        </FormField>
        <FormError form={form} />
        <Button type="submit" look="primary" size="lg" isBusy={form.formState.isSubmitting}>
          Confirm address
        </Button>
      </Form>
    </FrameCard>
  )
}

interface NewPasswordProps {
  address: string
  onSubmit(newPassword: string): Promise<void>
  onBack(): void
}

function NewPassword({ address, onSubmit, onBack }: NewPasswordProps) {
  const form = useForm({ defaultValues: { newPassword: '' } })
  return (
    <FrameCard
      title="Claim this account"
      description="Anyone who signed up with your address is signed out, and their password stops working."
      below={
        <button type="button" onClick={onBack} className="font-medium text-accent-text hover:underline">
          I know the password
        </button>
      }
    >
      <Form form={form} onSubmit={({ newPassword }) => onSubmit(newPassword)}>
        <Address address={address} />
        <NewPasswordField form={form} autoFocus />
        <FormError form={form} />
        <Button type="submit" look="primary" size="lg" isBusy={form.formState.isSubmitting}>
          Set password and confirm
        </Button>
      </Form>
    </FrameCard>
  )
}

/** To be read, and for password managers to know whose password it is. */
function Address({ address }: { address: string }) {
  return (
    <Field label="Email">
      {(control) => (
        <Input {...control} value={address} readOnly autoComplete="username" className="bg-sunken! text-muted!" />
      )}
    </Field>
  )
}

function Confirmed({ activated }: { activated: boolean }) {
  return (
    <FrameCard title="Confirmed">
      <div className="flex flex-col gap-5">
        {activated ? (
          <Notice tone="good">Your address is confirmed and the account is active.</Notice>
        ) : (
          <Notice tone="warn">
            Your address is confirmed. The account is awaiting approval; you can set everything up in the meantime.
          </Notice>
        )}
        <Link to="/" look="primary" className="h-10">
          Go to the console
        </Link>
      </div>
    </FrameCard>
  )
}

function NoToken() {
  return (
    <FrameCard title="This link is incomplete" below={<Link to="/sign-in">Sign in</Link>}>
      <Notice tone="warn">Copy the whole link from the email, or sign in and request another.</Notice>
    </FrameCard>
  )
}
