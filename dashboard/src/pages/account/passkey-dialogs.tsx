import { useForm, type UseFormReturn } from 'react-hook-form'
import { api } from '../../api.ts'
import { Dialog } from '../../components/dialog.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { toast } from '../../components/toast.tsx'
import { createPasskey } from '../../passkeys.ts'
import { useChange } from '../../queries.ts'
import { deviceOf } from './device.ts'

export function AddPasskeyDialog({ onClose }: { onClose(): void }) {
  const form = useForm({ defaultValues: { name: deviceOf(navigator.userAgent) } })
  const add = useChange('POST /api/me/passkeys', ['GET /api/me/passkeys', 'GET /api/me'])
  async function save({ name }: { name: string }): Promise<void> {
    const credential = await createPasskey(await api('POST /api/me/passkeys/options', {}))
    await add.mutateAsync({ body: { name, credential } })
    toast(`${name} can sign you in from now on.`)
    onClose()
  }
  return (
    <Dialog
      isOpen
      isSticky
      onClose={onClose}
      title="Add a passkey"
      description="Your browser asks where to keep it: on this device, a phone, a security key or in your password manager."
    >
      <NameForm form={form} verb="Add passkey" onSubmit={save} onClose={onClose} />
    </Dialog>
  )
}

export function RenamePasskeyDialog({ passkey, onClose }: { passkey: { id: string; name: string }; onClose(): void }) {
  const form = useForm({ defaultValues: { name: passkey.name } })
  const rename = useChange('PATCH /api/me/passkeys/:passkey', ['GET /api/me/passkeys'])
  async function save(body: { name: string }): Promise<void> {
    await rename.mutateAsync({ params: { passkey: passkey.id }, body })
    onClose()
  }
  return (
    <Dialog isOpen onClose={onClose} title={`Rename ${passkey.name}`}>
      <NameForm form={form} verb="Rename" onSubmit={save} onClose={onClose} />
    </Dialog>
  )
}

interface NameFormProps {
  form: UseFormReturn<{ name: string }>
  verb: string
  onSubmit(values: { name: string }): Promise<void>
  onClose(): void
}

function NameForm({ form, verb, onSubmit, onClose }: NameFormProps) {
  return (
    <Form form={form} onSubmit={onSubmit}>
      <FormField
        form={form}
        name="name"
        label="Name"
        hint="How you will recognise it in this list."
        rules={{ required: 'Enter a name.', maxLength: { value: 100, message: 'At most 100 characters.' } }}
      >
        {(field) => <Input {...field} autoComplete="off" />}
      </FormField>
      <FormError form={form} />
      <div className="flex justify-end gap-2">
        <CancelAndSubmit onCancel={onClose} isBusy={form.formState.isSubmitting}>
          {verb}
        </CancelAndSubmit>
      </div>
    </Form>
  )
}
