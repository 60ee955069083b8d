import { useMutation } from '@tanstack/react-query'
import { KeyRound } from 'lucide-react'
import { useForm } from 'react-hook-form'
import { api } from '../api.ts'
import { Button } from '../components/button.tsx'
import { DialogFrame } from '../components/dialog-frame.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../components/form.tsx'
import { CodeInput, PasswordInput } from '../components/input.tsx'
import { Notice } from '../components/notice.tsx'
import { canUsePasskeys, proveWithPasskey } from '../passkeys.ts'
import { useMe } from '../session.ts'
import { answerProof } from './proof-requests.ts'

export function ProofDialog() {
  const { user } = useMe()
  const form = useForm({ defaultValues: { password: '', code: '' } })
  async function prove({ password, code }: { password: string; code: string }): Promise<void> {
    const digits = code.replaceAll(/\s/g, '')
    await api('POST /api/me/proof', { body: { password, ...(user.twoFactorEnabled && { code: digits }) } })
    answerProof(true)
  }
  const byPasskey = useMutation({ mutationFn: proveWithPasskey, onSuccess: () => answerProof(true) })
  const cancel = () => answerProof(false)
  return (
    <DialogFrame
      isOpen
      isSticky
      isOnTop
      onClose={cancel}
      title="Confirm it’s you"
      description="Parley asks before changes to keys, people or money, then not again for ten minutes."
    >
      <Form form={form} onSubmit={prove}>
        <input autoComplete="username" value={user.email} readOnly hidden />
        <FormField form={form} name="password" label="Your password" rules={{ required: 'Enter your password.' }}>
          {(field) => <PasswordInput {...field} autoComplete="current-password" />}
        </FormField>
        {user.twoFactorEnabled && (
          <FormField form={form} name="code" label="Six digits from your app" rules={{ required: 'Enter the code.' }}>
            {(field) => <CodeInput {...field} />}
          </FormField>
        )}
        <FormError form={form} />
        {byPasskey.error && <Notice tone="bad">{byPasskey.error.message}</Notice>}
        <div className="flex flex-wrap justify-end gap-2">
          {user.passkeys > 0 && canUsePasskeys() && (
            <Button
              className="mr-auto"
              icon={<KeyRound aria-hidden />}
              isBusy={byPasskey.isPending}
              onClick={() => byPasskey.mutate()}
            >
              Use a passkey
            </Button>
          )}
          <CancelAndSubmit onCancel={cancel} isBusy={form.formState.isSubmitting}>
            Continue
          </CancelAndSubmit>
        </div>
      </Form>
    </DialogFrame>
  )
}
