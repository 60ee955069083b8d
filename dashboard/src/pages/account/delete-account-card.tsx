import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useForm, useWatch } from 'react-hook-form'
import { api } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { endSession, useMe } from '../../session.ts'

export function DeleteAccountCard() {
  const [isOpen, setOpen] = useState(false)
  return (
    <Card title="Delete your account" className="border-bad/40!" description="This cannot be undone.">
      <div className="flex flex-wrap items-center justify-between gap-4">
        <p className="max-w-lg text-muted">
          You leave every publisher you belong to, and your access ends immediately.
        </p>
        <Button look="quiet-danger" onClick={() => setOpen(true)}>
          Delete account
        </Button>
      </div>
      {isOpen && <DeleteAccountDialog onClose={() => setOpen(false)} />}
    </Card>
  )
}

function DeleteAccountDialog({ onClose }: { onClose(): void }) {
  const { user } = useMe()
  const client = useQueryClient()
  const navigate = useNavigate()
  const form = useForm({ defaultValues: { confirm: '' } })
  async function remove(body: { confirm: string }): Promise<void> {
    const end = () => api('POST /api/me/delete', { body })
    await endSession(client, end, () => navigate({ to: '/sign-in' }))
  }
  const isTyped = useWatch({ control: form.control, name: 'confirm' }).trim() === user.email
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Delete your account?"
      description="You leave every publisher you belong to. Your name stays in audit logs and receipts."
    >
      <Form form={form} onSubmit={remove}>
        <FormField form={form} name="confirm" label={`Type ${user.email} to confirm`}>
          {(field) => <Input {...field} autoComplete="off" />}
        </FormField>
        <FormError form={form} />
        <div className="flex justify-end gap-2">
          <CancelAndSubmit onCancel={onClose} look="danger" disabled={!isTyped} isBusy={form.formState.isSubmitting}>
            Delete account
          </CancelAndSubmit>
        </div>
      </Form>
    </Dialog>
  )
}
