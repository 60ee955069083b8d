import { Controller } from 'react-hook-form'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Field } from '../../components/field.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { Select } from '../../components/select.tsx'
import { toast } from '../../components/toast.tsx'
import { parseMoney } from '../../formats.ts'
import { useApi, useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { CHANGED, type Monetization } from './monetization.ts'
import { RelevanceSlider } from './relevance-slider.tsx'
import type { Controls, ControlsForm } from './use-controls.ts'
import { WordList } from './word-list.tsx'

const AUDIENCES: { value: Controls['audience']; label: string }[] = [
  { value: 'general', label: 'General' },
  { value: 'teen', label: 'Teenagers' },
  { value: 'child', label: 'Children' },
]

export function ControlsCard({ controls: form, settings }: { controls: ControlsForm; settings: Monetization }) {
  const project = useProject()
  const mayChange = project.may('admin')
  const change = useChange('PATCH /api/projects/:project/monetization', [...CHANGED])
  async function save(values: Controls): Promise<void> {
    const body = { ...values, floorNanos: parseMoney(values.floorNanos) ?? '' }
    const { mode } = await change.mutateAsync({ params: { project: project.id }, body })
    form.reset(values)
    const isEnded = settings.mode === 'on' && mode === 'off'
    toast(isEnded ? 'Saved. Monetization is off now: it is for a general audience only.' : 'Controls saved.')
  }
  const footer = (
    <>
      <p className="text-sm text-muted">
        {mayChange ? 'Takes effect within seconds.' : 'Only owners and admins can change this.'}
      </p>
      <Button
        type="submit"
        form="controls"
        look="primary"
        disabled={!mayChange || !form.formState.isDirty}
        isBusy={form.formState.isSubmitting}
      >
        Save
      </Button>
    </>
  )
  return (
    <Card
      title="Frequency and relevance"
      description="How often, how close a match, and what may be recommended."
      footer={footer}
    >
      <Form form={form} onSubmit={save} id="controls">
        <fieldset disabled={!mayChange} className="flex min-w-0 flex-col gap-6">
          <Audience form={form} isOn={settings.mode === 'on'} />
          <Controller
            control={form.control}
            name="minRelevance"
            render={({ field, fieldState }) => (
              <RelevanceSlider value={field.value} onChange={field.onChange} error={fieldState.error?.message} />
            )}
          />
          <Turns form={form} />
          {!project.isSandbox && <Floor form={form} />}
          <Words form={form} />
        </fieldset>
        <FormError form={form} />
      </Form>
    </Card>
  )
}

function Audience({ form, isOn }: { form: ControlsForm; isOn: boolean }) {
  const hint = `Recommendations are for a general audience only.${isOn ? ' Choosing another audience switches them off.' : ''}`
  return (
    <FormField form={form} name="audience" label="Audience" hint={hint}>
      {(field) => <Select {...field} options={AUDIENCES} className="max-w-60" />}
    </FormField>
  )
}

const TURNS = [
  { name: 'firstTurn', label: 'Start at reply', most: 50, hint: '1 includes the first.' },
  { name: 'minTurnGap', label: 'Minimum gap', most: 50, hint: 'In replies. 1 allows every reply.' },
  { name: 'maxPerConversation', label: 'Maximum per conversation', most: 20, hint: 'Each offer appears once.' },
] as const

function Turns({ form }: { form: ControlsForm }) {
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      {TURNS.map(({ name, label, most, hint }) => (
        <FormField
          key={name}
          form={form}
          name={name}
          label={label}
          hint={hint}
          rules={{
            valueAsNumber: true,
            validate: (value) =>
              (Number.isInteger(value) && value >= 1 && value <= most) || `A whole number from 1 to ${most}.`,
          }}
        >
          {(field) => <Input {...field} type="number" min={1} max={most} className="tabular" />}
        </FormField>
      ))}
    </div>
  )
}

function Floor({ form }: { form: ControlsForm }) {
  return (
    <FormField
      form={form}
      name="floorNanos"
      label="Floor price per click in US dollars"
      hint="The least an advertiser must pay. A higher floor means fewer recommendations."
      rules={{ validate: (text) => parseMoney(text) !== undefined || 'Enter an amount like 0.10.' }}
    >
      {(field) => <Input {...field} inputMode="decimal" className="max-w-40 font-mono" />}
    </FormField>
  )
}

const WORD_LISTS = [
  {
    name: 'blockedCategories',
    label: 'Blocked categories',
    noun: 'category',
    placeholder: 'Such as Toys, or Electronics > Audio',
    hint: 'Subcategories are blocked too.',
  },
  {
    name: 'blockedDomains',
    label: 'Blocked domains',
    noun: 'domain',
    placeholder: 'Such as competitor.com',
    hint: 'No offers that link there, or to a subdomain.',
  },
  {
    name: 'excludedTopics',
    label: 'Excluded topics',
    noun: 'topic',
    placeholder: 'Such as election',
    hint: 'Conversations that use one of these words get no recommendations.',
  },
] as const

function Words({ form }: { form: ControlsForm }) {
  const project = useProject()
  const call = { params: { project: project.id } }
  const { data } = useApi('GET /api/projects/:project/monetization/categories', call)
  return WORD_LISTS.map(({ name, noun, label, hint, placeholder }) => (
    <Controller
      key={name}
      control={form.control}
      name={name}
      render={({ field, fieldState }) => (
        <Field label={label} hint={hint} error={fieldState.error?.message}>
          {(control) => (
            <WordList
              control={control}
              noun={noun}
              words={field.value}
              onChange={field.onChange}
              placeholder={placeholder}
              suggestions={name === 'blockedCategories' ? (data?.items ?? []) : []}
            />
          )}
        </Field>
      )}
    />
  ))
}
