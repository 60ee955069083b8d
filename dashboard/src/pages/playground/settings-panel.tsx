import { Field } from '../../components/field.tsx'
import { Input, Textarea } from '../../components/input.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { Switch } from '../../components/toggles.tsx'
import { formatCounted } from '../../formats.ts'
import { UnitPrice } from '../costs/unit-price.tsx'
import type { Model } from '../models/found-models.ts'
import { ModelPicker } from '../models/model-picker.tsx'
import { problemIn, type Settings } from './chat.ts'

export interface SettingsPanelProps {
  settings: Settings
  /** Undefined while they are loading. */
  models: Model[] | undefined
  onChange(settings: Settings): void
  /** The model that is compared with; undefined: none is. */
  otherModel: string | undefined
  onOtherModel(model: string): void
}

export function SettingsPanel({ settings, models, onChange, otherModel, onOtherModel }: SettingsPanelProps) {
  const set = (changes: Partial<Settings>) => onChange({ ...settings, ...changes })
  const problem = problemIn(settings)
  const errorOf = (field: string) => (problem?.field === field ? problem.words : undefined)
  return (
    <aside aria-label="Settings" className="flex min-w-0 flex-col gap-5 max-lg:gap-3">
      <ModelField label="Model" value={settings.model} models={models} onChange={(model) => set({ model })} />
      {otherModel !== undefined && (
        <ModelField label="Compared with" value={otherModel} models={models} onChange={onOtherModel} />
      )}
      <details className="group lg:contents" open={isWide()}>
        <summary className="text-sm font-medium text-accent-text lg:hidden">System prompt and options</summary>
        <div className="flex flex-col gap-5 max-lg:mt-4">
          <Field label="System prompt" hint="Who the model is, and how it answers.">
            {(control) => (
              <Textarea
                {...control}
                rows={5}
                value={settings.system}
                placeholder="You are the editor of a small-town paper."
                onChange={(event) => set({ system: event.target.value })}
              />
            )}
          </Field>
          <div className="grid grid-cols-2 gap-3">
            <Field label="Temperature" error={errorOf('temperature')}>
              {(control) => (
                <Input
                  {...control}
                  inputMode="decimal"
                  value={settings.temperature}
                  placeholder="default"
                  onChange={(event) => set({ temperature: event.target.value })}
                />
              )}
            </Field>
            <Field label="Max tokens" error={errorOf('maxTokens')}>
              {(control) => (
                <Input
                  {...control}
                  inputMode="numeric"
                  value={settings.maxTokens}
                  placeholder="default"
                  onChange={(event) => set({ maxTokens: event.target.value })}
                />
              )}
            </Field>
          </div>
          <Switch
            label="Stream"
            hint="Word by word, or all at once."
            checked={settings.isStreamed}
            onChange={(isStreamed) => set({ isStreamed })}
          />
        </div>
      </details>
    </aside>
  )
}

interface ModelFieldProps {
  label: string
  value: string
  models: Model[] | undefined
  onChange(model: string): void
}

function ModelField({ label, value, models, onChange }: ModelFieldProps) {
  if (models === undefined) return <Skeleton className="h-22 w-full lg:h-32" />
  const model = models.find(({ id }) => id === value)
  return (
    <div className="min-h-22 lg:min-h-32">
      <Field label={label} hint={model ? <Facts model={model} /> : 'No models are available to this project yet.'}>
        {(control) => <ModelPicker {...control} value={value} models={models} onChange={onChange} align="end" />}
      </Field>
    </div>
  )
}

/** On a phone one line: the chat needs the room. */
function Facts({ model: { ownedBy, contextWindow, price } }: { model: Model }) {
  return (
    <span className="block max-lg:truncate">
      <UnitPrice nanos={price.input} /> in, <UnitPrice nanos={price.output} /> out per million tokens
      <span className="lg:block">
        <span className="lg:hidden"> · </span>by {ownedBy}
        {contextWindow !== null && `, reads up to ${formatCounted(contextWindow, 'token')}`}
      </span>
    </span>
  )
}

/** Beside the chat there is room for everything. */
function isWide(): boolean {
  return window.matchMedia('(min-width: 64rem)').matches
}
