import { useState } from 'react'
import { useForm } from 'react-hook-form'
import { api } from '../../api.ts'
import { CopyField } from '../../components/copy-button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { CodeInput } from '../../components/input.tsx'
import { toast } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { QrCode } from './qr-code.tsx'
import { RecoveryCodesDialog } from './recovery-codes.tsx'

interface Enrolment {
  uri: string
  recoveryCodes: string[]
}

/** The QR code and a first code from the app, then the recovery codes: each step proves the one before. */
export function EnableTwoFactorDialog({ onClose }: { onClose(): void }) {
  const [enrolment, setEnrolment] = useState<Enrolment>()
  const [isConfirmed, setConfirmed] = useState(false)
  if (enrolment === undefined) return <BeginDialog onClose={onClose} onBegun={setEnrolment} />
  if (isConfirmed) return <RecoveryCodesDialog codes={enrolment.recoveryCodes} onClose={onClose} />
  return <ScanDialog uri={enrolment.uri} onClose={onClose} onConfirmed={() => setConfirmed(true)} />
}

function BeginDialog({ onClose, onBegun }: { onClose(): void; onBegun(enrolment: Enrolment): void }) {
  const form = useForm()
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Turn on two-factor sign-in"
      description="You need an authenticator app, such as the one in your password manager."
    >
      <Form form={form} onSubmit={async () => onBegun(await api('POST /api/me/two-factor', {}))}>
        <FormError form={form} />
        <div className="flex justify-end gap-2">
          <CancelAndSubmit onCancel={onClose} isBusy={form.formState.isSubmitting}>
            Continue
          </CancelAndSubmit>
        </div>
      </Form>
    </Dialog>
  )
}

function ScanDialog({ uri, onClose, onConfirmed }: { uri: string; onClose(): void; onConfirmed(): void }) {
  const form = useForm({ defaultValues: { code: '' } })
  const confirm = useChange('POST /api/me/two-factor/confirm', ['GET /api/me'])
  async function verify({ code }: { code: string }): Promise<void> {
    await confirm.mutateAsync({ body: { code: code.replaceAll(/\s/g, '') } })
    toast('Two-factor sign-in is on.')
    onConfirmed()
  }
  const secret = new URL(uri).searchParams.get('secret') ?? ''
  return (
    <Dialog
      isOpen
      isSticky
      onClose={onClose}
      title="Scan the code"
      description="Use your authenticator app, or type the secret into it."
    >
      <Form form={form} onSubmit={verify}>
        <QrCode text={uri} />
        <CopyField text={secret} label="the secret" />
        <FormField form={form} name="code" label="Six digits from the app" rules={{ required: 'Enter the code.' }}>
          {(field) => <CodeInput {...field} />}
        </FormField>
        <FormError form={form} />
        <div className="flex justify-end gap-2">
          <CancelAndSubmit onCancel={onClose} isBusy={form.formState.isSubmitting}>
            Turn on
          </CancelAndSubmit>
        </div>
      </Form>
    </Dialog>
  )
}
