import { useState } from 'react'
import { useForm } from 'react-hook-form'
import { api } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { FrameCard } from '../../shell/frame-card.tsx'

export interface SecondFactorProps {
  onDone(): Promise<void>
  onBack(): void
}

export function SecondFactor({ onDone, onBack }: SecondFactorProps) {
  const [hasLostDevice, setLostDevice] = useState(false)
  const form = useForm({ defaultValues: { code: '' } })

  async function verify({ code }: { code: string }): Promise<void> {
    const body = { code: hasLostDevice ? code.trim() : code.replaceAll(/\s/g, '') }
    if (hasLostDevice) await api('POST /api/auth/two-factor/verify-backup-code', { body })
    else await api('POST /api/auth/two-factor/verify-totp', { body })
    await onDone()
  }
  function swap(): void {
    form.reset()
    setLostDevice(!hasLostDevice)
  }

  const description = hasLostDevice
    ? 'Each recovery code works once.'
    : 'Open your authenticator app and enter the six digits it shows for Parley.'
  const digits = { inputMode: 'numeric', autoComplete: 'one-time-code', maxLength: 7 } as const
  return (
    <FrameCard
      title={hasLostDevice ? 'Use a recovery code' : 'One more step'}
      description={description}
      below={
        <button type="button" onClick={onBack} className="font-medium text-accent-text hover:underline">
          Use a different account
        </button>
      }
    >
      <Form form={form} onSubmit={verify}>
        <FormField
          form={form}
          name="code"
          label={hasLostDevice ? 'Recovery code' : 'Code'}
          rules={{ required: 'Enter the code.' }}
        >
          {(field) => (
            <Input
              key={String(hasLostDevice)}
              {...field}
              {...(hasLostDevice ? { autoComplete: 'off' } : digits)}
              autoFocus
              className="font-mono text-lg tracking-widest"
            />
          )}
        </FormField>
        <FormError form={form} />
        <Button type="submit" look="primary" size="lg" isBusy={form.formState.isSubmitting}>
          Continue
        </Button>
        <Button look="ghost" onClick={swap}>
          {hasLostDevice ? 'Use the authenticator app' : 'Use a recovery code instead'}
        </Button>
      </Form>
    </FrameCard>
  )
}
