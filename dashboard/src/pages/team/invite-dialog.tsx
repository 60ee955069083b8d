import { useForm } from 'react-hook-form'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { Select } from '../../components/select.tsx'
import { toast } from '../../components/toast.tsx'
import type { Role } from '../../page.ts'
import { useChange } from '../../queries.ts'
import { ROLE_OPTIONS } from './roles.ts'

export interface InviteDialogProps {
  isOpen: boolean
  onClose(): void
  publisher: { id: string; name: string; may(role: Role): boolean }
}

export function InviteDialog({ isOpen, onClose, publisher }: InviteDialogProps) {
  const form = useForm<{ email: string; role: Role }>({ defaultValues: { email: '', role: 'developer' } })
  const invite = useChange('POST /api/publishers/:publisher/invitations', ['GET /api/publishers/:publisher/team'])
  const options = ROLE_OPTIONS.filter(({ value }) => value !== 'owner' || publisher.may('owner'))
  async function send(body: { email: string; role: Role }): Promise<void> {
    await invite.mutateAsync({ params: { publisher: publisher.id }, body })
    toast(`The invitation to ${body.email} is on its way.`)
    form.reset()
    onClose()
  }
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Invite to the team"
      description={`They get an email and join ${publisher.name} when they accept.`}
    >
      <Form form={form} onSubmit={send}>
        <FormField form={form} name="email" label="Email" rules={{ required: 'Enter an email address.' }}>
          {(field) => <Input {...field} type="email" autoComplete="off" />}
        </FormField>
        <FormField form={form} name="role" label="Role">
          {(field) => <Select {...field} options={options} />}
        </FormField>
        <FormError form={form} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" isBusy={form.formState.isSubmitting}>
            Send invitation
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}
