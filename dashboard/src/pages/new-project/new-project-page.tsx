import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useForm } from 'react-hook-form'
import { api } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { HostField } from '../../components/host-field.tsx'
import { Input } from '../../components/input.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { Select } from '../../components/select.tsx'
import { mayActAs } from '../../page.ts'
import { toast } from '../../components/toast.tsx'
import { placeOf, readMeAgain, useMe } from '../../session.ts'
import { FrameCard } from '../../shell/frame-card.tsx'

export function NewProjectPage() {
  const me = useMe()
  const publishers = me.publishers.filter(({ role }) => mayActAs(role, 'admin'))
  const { publisher: current, project } = placeOf(me, {})
  const client = useQueryClient()
  const navigate = useNavigate()
  const first = publishers.find(({ id }) => id === current?.id) ?? publishers[0]
  const form = useForm({ defaultValues: { publisher: first?.id ?? '', name: '', domain: '' } })

  async function create({ publisher, ...body }: { publisher: string; name: string; domain: string }): Promise<void> {
    const made = await api('POST /api/publishers/:publisher/projects', { params: { publisher }, body })
    await readMeAgain(client)
    toast(`${made.name} is created, for ${made.domain}.`)
    await navigate({ to: `/projects/${made.id}` })
  }

  const back = project && <Link to="/">Back to {project.name}</Link>
  if (first === undefined) {
    return (
      <FrameCard title="No project yet" below={back}>
        <Notice>Only owners and admins can create projects. Ask one of yours.</Notice>
      </FrameCard>
    )
  }
  return (
    <FrameCard
      title={project ? 'New project' : 'Create your first project'}
      description="A project is one site: it has a domain, keys and a wallet of its own."
      below={back}
    >
      <Form form={form} onSubmit={create}>
        {publishers.length > 1 && (
          <Field label="Publisher">
            {(control) => (
              <Select
                {...control}
                {...form.register('publisher')}
                options={publishers.map(({ id, name }) => ({ value: id, label: name }))}
              />
            )}
          </Field>
        )}
        <FormField form={form} name="name" label="Name" rules={{ required: 'Enter a name.' }}>
          {(field) => <Input {...field} placeholder="Recipes" autoComplete="off" autoFocus />}
        </FormField>
        <HostField
          form={form}
          name="domain"
          label="Domain"
          hint="Where your site runs. You verify later that it is yours."
        />
        <FormError form={form} />
        <Button type="submit" look="primary" size="lg" isBusy={form.formState.isSubmitting}>
          Create project
        </Button>
      </Form>
    </FrameCard>
  )
}
