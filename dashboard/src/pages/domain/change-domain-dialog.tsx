import { useForm } from 'react-hook-form'
import { Dialog } from '../../components/dialog.tsx'
import { CancelAndSubmit, Form, FormError } from '../../components/form.tsx'
import { HostField } from '../../components/host-field.tsx'
import { Notice } from '../../components/notice.tsx'
import { toast } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'

export function ChangeDomainDialog({ onClose, current }: { onClose(): void; current: string }) {
  const project = useProject()
  const form = useForm({ defaultValues: { name: '' } })
  const change = useChange('PATCH /api/projects/:project/domain', ['GET /api/projects/:project/domain', 'GET /api/me'])
  async function save(body: { name: string }): Promise<void> {
    const { displayName } = await change.mutateAsync({ params: { project: project.id }, body })
    toast(`The domain is now ${displayName}. Verify it next.`)
    onClose()
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Change the domain"
      description={`${project.name} currently uses ${current}.`}
    >
      <Form form={form} onSubmit={save}>
        <HostField
          form={form}
          name="name"
          label="New domain"
          hint="A name, or an address to take it from. Names in other scripts are fine."
        />
        <Notice tone="warn">
          The new domain has to be verified. Until then, calls of this project are refused with 403.
        </Notice>
        <FormError form={form} />
        <div className="flex justify-end gap-2">
          <CancelAndSubmit onCancel={onClose} isBusy={form.formState.isSubmitting}>
            Change domain
          </CancelAndSubmit>
        </div>
      </Form>
    </Dialog>
  )
}
