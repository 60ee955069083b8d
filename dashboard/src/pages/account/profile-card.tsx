import { useForm } from 'react-hook-form'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Field } from '../../components/field.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { toast } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useMe } from '../../session.ts'

export function ProfileCard() {
  const { user } = useMe()
  const form = useForm({ defaultValues: { name: user.name } })
  const change = useChange('PATCH /api/me', ['GET /api/me'])
  async function save(body: { name: string }): Promise<void> {
    await change.mutateAsync({ body })
    form.reset(body)
    toast('Profile saved.')
  }
  const { isDirty, isSubmitting } = form.formState
  const footer = (
    <>
      <p className="text-sm text-muted">Your team sees both.</p>
      <Button type="submit" form="profile" look="primary" disabled={!isDirty} isBusy={isSubmitting}>
        Save
      </Button>
    </>
  )
  return (
    <Card title="Profile" footer={footer}>
      <Form form={form} onSubmit={save} id="profile" className="sm:grid sm:grid-cols-2">
        <FormField form={form} name="name" label="Name" rules={{ required: 'Enter your name.' }}>
          {(field) => <Input {...field} autoComplete="name" />}
        </FormField>
        <Field label="Email">{(control) => <Input {...control} value={user.email} disabled />}</Field>
        <FormError form={form} />
      </Form>
    </Card>
  )
}
