import { useQueryClient } from '@tanstack/react-query'
import { useForm } from 'react-hook-form'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { CopyField } from '../../components/copy-button.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast } from '../../components/toast.tsx'
import { useApi, useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { DeleteProjectCard } from './delete-project-card.tsx'
import { LimitsCard } from './limits-card.tsx'
import { ModelsCard } from './models-card.tsx'
import { RetentionCard } from './retention-card.tsx'

export function ProjectSettingsPage() {
  const project = useProject()
  return (
    <>
      <PageHeader
        title="Project settings"
        context={project.name}
        description="The project’s name, which models it may use, and how long it keeps conversations."
      />
      <div className="flex max-w-3xl flex-col gap-6">
        <NameCard key={project.id} />
        <Loaded />
      </div>
    </>
  )
}

/** Everything that is read from the server comes at once, below what is there already: nothing moves. */
function Loaded() {
  const project = useProject()
  const call = { params: { project: project.id } }
  const { data, error, refetch } = useApi('GET /api/projects/:project/settings', call)
  if (error && !data) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (!data) {
    return (
      <Card title="Models">
        <SkeletonLines count={12} />
      </Card>
    )
  }
  return (
    <>
      <ModelsCard key={`models ${JSON.stringify(data.allowedModels)}`} settings={data} />
      <RetentionCard key={`retention ${data.contentRetentionDays}`} settings={data} />
      <LimitsCard limits={data.limits} />
      <Card title="Project id" description="Identifies the project in scripts and to support.">
        <CopyField text={project.id} label="project id" />
      </Card>
      {project.may('owner') && <DeleteProjectCard settings={data} />}
    </>
  )
}

function NameCard() {
  const project = useProject()
  const client = useQueryClient()
  const rename = useChange('PATCH /api/projects/:project', ['GET /api/me'])
  const form = useForm({ defaultValues: { name: project.name } })
  const mayChange = project.may('admin')
  async function save(body: { name: string }): Promise<void> {
    await rename.mutateAsync({ params: { project: project.id }, body })
    await client.invalidateQueries({ queryKey: ['GET /api/projects/:project'] })
    form.reset(body)
    toast('Name saved.')
  }
  const footer = (
    <>
      <p className="text-sm text-muted">
        {mayChange ? 'Shown in the console and in emails.' : 'Only admins can change this.'}
      </p>
      <Button
        type="submit"
        form="project-name"
        look="primary"
        disabled={!mayChange || !form.formState.isDirty}
        isBusy={form.formState.isSubmitting}
      >
        Save
      </Button>
    </>
  )
  return (
    <Card title="Name" footer={footer}>
      <Form form={form} onSubmit={save} id="project-name">
        <FormField form={form} name="name" label="Project name" rules={{ required: 'Enter a name.' }}>
          {(field) => <Input {...field} disabled={!mayChange} className="max-w-sm" />}
        </FormField>
        <FormError form={form} />
      </Form>
    </Card>
  )
}
