import { Bookmark, Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useForm } from 'react-hook-form'
import { api, type Item } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Time } from '../../components/figures.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { Input } from '../../components/input.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { useApi, useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import type { AskedPrompt, SavedPrompt } from './chat.ts'

type Listed = Item<'GET /api/projects/:project/saved-prompts'>

export interface OpenPrompt {
  id: string
  name: string
}

interface SavedPromptsDialogProps {
  /** The prompt in the playground now. */
  asked: AskedPrompt
  mayBeSaved: boolean
  /** The prompt that it was opened from, or saved as. */
  opened: OpenPrompt | undefined
  onOpened(prompt: OpenPrompt | undefined): void
  onOpen(prompt: SavedPrompt): void
  onClose(): void
}

const LIST = ['GET /api/projects/:project/saved-prompts', 'GET /api/projects/:project/saved-prompts/:prompt'] as const

type Step = { kind: 'list' } | { kind: 'save' } | { kind: 'rename' | 'delete'; prompt: Listed }

/** One dialog with a list, and in its place the one question that something in it asks. */
export function SavedPromptsDialog(props: SavedPromptsDialogProps) {
  const [step, setStep] = useState<Step>({ kind: 'list' })
  const back = () => setStep({ kind: 'list' })
  const { title, description } = headOf(step)
  return (
    <Dialog isOpen onClose={props.onClose} title={title} description={description}>
      {step.kind === 'list' ? (
        <List {...props} onStep={setStep} />
      ) : step.kind === 'save' ? (
        <SaveForm {...props} onBack={back} />
      ) : step.kind === 'rename' ? (
        <RenameForm {...props} prompt={step.prompt} onBack={back} />
      ) : (
        <DeleteQuestion {...props} prompt={step.prompt} onBack={back} />
      )}
    </Dialog>
  )
}

function headOf(step: Step): { title: string; description: string } {
  switch (step.kind) {
    case 'list':
      return { title: 'Saved prompts', description: 'Shared with everyone who can see this project.' }
    case 'save':
      return { title: 'Save this prompt?', description: 'With its model, system prompt, messages and options.' }
    case 'rename':
      return { title: `Rename “${step.prompt.name}”?`, description: 'Everyone on the team sees the new name.' }
    case 'delete':
      return {
        title: `Delete “${step.prompt.name}”?`,
        description: 'It is gone for the whole team, and cannot be restored.',
      }
  }
}

type ListProps = SavedPromptsDialogProps & { onStep(step: Step): void }

function SaveButtons({ asked, mayBeSaved, opened, onClose, onStep, isFull }: ListProps & { isFull: boolean }) {
  const { id: project } = useProject()
  const change = useChange('PUT /api/projects/:project/saved-prompts/:prompt', [...LIST])
  const isSavable = mayBeSaved && (asked.system !== '' || asked.messages.length > 0)
  function saveOver(prompt: OpenPrompt): void {
    const saved = {
      onSuccess: () => {
        toast(`“${prompt.name}” saved.`)
        onClose()
      },
      onError: toastError,
    }
    change.mutate({ params: { project, prompt: prompt.id }, body: asked }, saved)
  }
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        look="primary"
        icon={<Bookmark aria-hidden />}
        disabled={!isSavable || isFull}
        onClick={() => onStep({ kind: 'save' })}
      >
        Save this prompt…
      </Button>
      {opened && (
        <Button
          className="min-w-0 shrink"
          disabled={!isSavable}
          isBusy={change.isPending}
          onClick={() => saveOver(opened)}
        >
          <span className="truncate">Save over “{opened.name}”</span>
        </Button>
      )}
    </div>
  )
}

function List(props: ListProps) {
  const { onOpen, onClose, onStep } = props
  const project = useProject()
  const mayChange = project.may('developer')
  const { data, error, refetch } = useApi('GET /api/projects/:project/saved-prompts', {
    params: { project: project.id },
  })
  async function open(id: string): Promise<void> {
    try {
      const params = { project: project.id, prompt: id }
      onOpen(await api('GET /api/projects/:project/saved-prompts/:prompt', { params }))
      onClose()
    } catch (failure) {
      toastError(failure)
    }
  }
  if (error && !data) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (!data) return <SkeletonLines count={4} />
  return (
    <div className="flex flex-col gap-4">
      {mayChange && <SaveButtons {...props} isFull={data.items.length >= data.most} />}
      {data.items.length === 0 ? (
        <EmptyState icon={Bookmark} title="No saved prompts yet">
          Write a system prompt or a message in the playground, and save it here for the whole team.
        </EmptyState>
      ) : (
        <ul aria-label="Saved prompts" className="-mx-2 flex max-h-96 flex-col overflow-y-auto">
          {data.items.map((prompt) => (
            <PromptRow
              key={prompt.id}
              prompt={prompt}
              mayChange={mayChange}
              onOpen={() => void open(prompt.id)}
              onStep={onStep}
            />
          ))}
        </ul>
      )}
      {data.items.length >= data.most && (
        <p className="text-sm text-muted">A project has at most {data.most} saved prompts. Delete some to save more.</p>
      )}
    </div>
  )
}

interface PromptRowProps {
  prompt: Listed
  mayChange: boolean
  onOpen(): void
  onStep(step: Step): void
}

function PromptRow({ prompt, mayChange, onOpen, onStep }: PromptRowProps) {
  const { name, model, savedBy, savedAt } = prompt
  return (
    <li className="flex items-center gap-1 rounded-md pr-1 hover:bg-hover">
      <button type="button" onClick={onOpen} className="min-w-0 flex-1 rounded-md px-2 py-2 text-left">
        <span className="sr-only">Open </span>
        <span className="block truncate font-medium">{name}</span>
        <span className="block truncate text-sm text-muted">
          <span className="font-mono text-xs">{model}</span> · <Time iso={savedAt} as="age" />
          {savedBy !== null && ` by ${savedBy}`}
        </span>
      </button>
      {mayChange && (
        <>
          <IconButton
            label={`Rename ${name}`}
            icon={<Pencil aria-hidden />}
            onClick={() => onStep({ kind: 'rename', prompt })}
          />
          <IconButton
            label={`Delete ${name}`}
            icon={<Trash2 aria-hidden />}
            onClick={() => onStep({ kind: 'delete', prompt })}
          />
        </>
      )}
    </li>
  )
}

function SaveForm({ asked, onOpened, onClose, onBack }: SavedPromptsDialogProps & { onBack(): void }) {
  const { id: project } = useProject()
  const save = useChange('POST /api/projects/:project/saved-prompts', [...LIST])
  async function submit(name: string): Promise<void> {
    const { id } = await save.mutateAsync({ params: { project }, body: { ...asked, name } })
    onOpened({ id, name })
    toast(`“${name}” saved.`)
    onClose()
  }
  return <NameForm name="" verb="Save prompt" onSubmit={submit} onBack={onBack} />
}

interface AboutOne extends SavedPromptsDialogProps {
  prompt: Listed
  onBack(): void
}

function RenameForm({ prompt, opened, onOpened, onBack }: AboutOne) {
  const { id: project } = useProject()
  const rename = useChange('PATCH /api/projects/:project/saved-prompts/:prompt', [...LIST])
  async function submit(name: string): Promise<void> {
    await rename.mutateAsync({ params: { project, prompt: prompt.id }, body: { name } })
    if (opened?.id === prompt.id) onOpened({ ...opened, name })
    toast(`Renamed to “${name}”.`)
    onBack()
  }
  return <NameForm name={prompt.name} verb="Rename" onSubmit={submit} onBack={onBack} />
}

interface NameFormProps {
  name: string
  verb: string
  onSubmit(name: string): Promise<void>
  onBack(): void
}

function NameForm({ name, verb, onSubmit, onBack }: NameFormProps) {
  const form = useForm({ defaultValues: { name } })
  return (
    <Form form={form} onSubmit={(values) => onSubmit(values.name.trim())}>
      <FormField form={form} name="name" label="Name" rules={{ required: 'Enter a name.' }}>
        {/* oxlint-disable-next-line jsx-a11y/no-autofocus -- the button that had the focus is gone */}
        {(field) => <Input {...field} autoFocus autoComplete="off" maxLength={100} />}
      </FormField>
      <FormError form={form} />
      <div className="flex justify-end gap-2">
        <CancelAndSubmit onCancel={onBack} isBusy={form.formState.isSubmitting}>
          {verb}
        </CancelAndSubmit>
      </div>
    </Form>
  )
}

function DeleteQuestion({ prompt, opened, onOpened, onBack }: AboutOne) {
  const { id: project } = useProject()
  const remove = useChange('DELETE /api/projects/:project/saved-prompts/:prompt', [...LIST])
  function confirm(): void {
    const done = {
      onSuccess: () => {
        if (opened?.id === prompt.id) onOpened(undefined)
        toast(`“${prompt.name}” deleted.`)
        onBack()
      },
      onError: toastError,
    }
    remove.mutate({ params: { project, prompt: prompt.id } }, done)
  }
  return (
    <div className="flex justify-end gap-2">
      {/* oxlint-disable-next-line jsx-a11y/no-autofocus -- the button that had the focus is gone */}
      <Button autoFocus onClick={onBack}>
        Cancel
      </Button>
      <Button look="danger" isBusy={remove.isPending} onClick={confirm}>
        Delete prompt
      </Button>
    </div>
  )
}
