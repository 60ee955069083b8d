import { useForm } from 'react-hook-form'
import { Dialog } from '../../components/dialog.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { Select } from '../../components/select.tsx'
import { toast } from '../../components/toast.tsx'
import type { Role } from '../../page.ts'
import type { AdvertiserRole, Team } from './team.ts'

export interface InviteDialogProps<R extends Role | AdvertiserRole> {
  isOpen: boolean
  onClose(): void
  team: Team<R>
}

export function InviteDialog<R extends Role | AdvertiserRole>({ isOpen, onClose, team }: InviteDialogProps<R>) {
  const form = useForm<{ email: string; role: Role | AdvertiserRole }>({
    defaultValues: { email: '', role: team.defaultRole },
  })
  async function send({ email, role }: { email: string; role: Role | AdvertiserRole }): Promise<void> {
    await team.invite({ email, role: role as R })
    toast(`The invitation to ${email} is on its way.`)
    form.reset()
    onClose()
  }
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={team.words.inviteTitle}
      description={`They get an email and join ${team.name} when they accept.`}
    >
      <Form form={form} onSubmit={send}>
        <FormField form={form} name="email" label="Email" rules={{ required: 'Enter an email address.' }}>
          {(field) => <Input {...field} type="email" autoComplete="off" />}
        </FormField>
        <FormField form={form} name="role" label="Role">
          {(field) => <Select {...field} options={team.roleOptions} />}
        </FormField>
        <FormError form={form} />
        <div className="flex justify-end gap-2">
          <CancelAndSubmit onCancel={onClose} isBusy={form.formState.isSubmitting}>
            Send invitation
          </CancelAndSubmit>
        </div>
      </Form>
    </Dialog>
  )
}
