import { useForm } from 'react-hook-form'
import { api } from '../../api.ts'
import { Dialog } from '../../components/dialog.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { Select } from '../../components/select.tsx'
import { useProject } from '../../session.ts'
import type { NewKeyPair } from './key-pair.ts'

const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
]

export function NewKeyDialog({ onClose, onCreated }: { onClose(): void; onCreated(pair: NewKeyPair): void }) {
  const project = useProject()
  const form = useForm({ defaultValues: { name: '', expiresInDays: '' } })
  // Not through the cache of mutations: it would keep the secret.
  async function create({ name, expiresInDays }: { name: string; expiresInDays: string }): Promise<void> {
    const body = { name, expiresInDays: expiresInDays === '' ? null : Number(expiresInDays) }
    onCreated(await api('POST /api/projects/:project/keys', { params: { project: project.id }, body }))
  }
  return (
    <Dialog isOpen onClose={onClose} title="New key pair" description="You see the secret key once, right after this.">
      <Form form={form} onSubmit={create}>
        <FormField
          form={form}
          name="name"
          label="Name"
          hint="What uses it, such as “web server” or “nightly import”."
          rules={{ required: 'Enter a name.', maxLength: { value: 100, message: 'At most 100 characters.' } }}
        >
          {(field) => <Input {...field} autoComplete="off" />}
        </FormField>
        <FormField form={form} name="expiresInDays" label="Expires">
          {(field) => <Select {...field} options={EXPIRIES} />}
        </FormField>
        <FormError form={form} />
        <div className="flex justify-end gap-2">
          <CancelAndSubmit onCancel={onClose} isBusy={form.formState.isSubmitting}>
            Create key pair
          </CancelAndSubmit>
        </div>
      </Form>
    </Dialog>
  )
}
