import { useForm } from 'react-hook-form'
import { api } from '../../api.ts'
import { Dialog } from '../../components/dialog.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { Select } from '../../components/select.tsx'
import { useProject } from '../../session.ts'
import type { KeyPair, NewKeyPair } from './key-pair.ts'

const OVERLAPS = [
  { value: '0', label: 'Not at all: end it now' },
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '24 hours' },
  { value: '604800', label: '7 days' },
]

export interface RollDialogProps {
  pair: KeyPair
  onClose(): void
  onRolled(pair: NewKeyPair): void
}

export function RollDialog({ pair, onClose, onRolled }: RollDialogProps) {
  const project = useProject()
  const form = useForm({ defaultValues: { overlap: '86400' } })
  async function roll({ overlap }: { overlap: string }): Promise<void> {
    const params = { project: project.id, key: pair.id }
    const rolled = await api('POST /api/projects/:project/keys/:key/roll', {
      params,
      body: { overlapSeconds: Number(overlap) },
    })
    onClose()
    onRolled(rolled)
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Roll ${pair.name}`}
      description="Creates a new pair with the same name. The old pair keeps working for a while, so that you can replace it everywhere without an outage."
    >
      <Form form={form} onSubmit={roll}>
        <FormField
          form={form}
          name="overlap"
          label="The old pair works for another"
          hint="If someone else may have the secret, end it now."
        >
          {(field) => <Select {...field} options={OVERLAPS} />}
        </FormField>
        <FormError form={form} />
        <div className="flex justify-end gap-2">
          <CancelAndSubmit onCancel={onClose} isBusy={form.formState.isSubmitting}>
            Roll key pair
          </CancelAndSubmit>
        </div>
      </Form>
    </Dialog>
  )
}
