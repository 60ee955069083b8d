import type { Item } from '../../api.ts'
import { Field } from '../../components/field.tsx'
import { Input, Textarea } from '../../components/input.tsx'
import { Select } from '../../components/select.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { Switch } from '../../components/toggles.tsx'
import { formatCount, formatMoney } from '../../formats.ts'
import { problemIn, type Settings } from './chat.ts'

type Model = Item<'GET /api/projects/:project/models'>

export interface SettingsPanelProps {
  settings: Settings
  /** Undefined while they are loading. */
  models: Model[] | undefined
  onChange(settings: Settings): void
}

export function SettingsPanel({ settings, models, onChange }: SettingsPanelProps) {
  const set = (changes: Partial<Settings>) => onChange({ ...settings, ...changes })
  const problem = problemIn(settings)
  const errorOf = (field: string) => (problem?.field === field ? problem.words : undefined)
  return (
    <aside aria-label="Settings" className="flex flex-col gap-5">
      <ModelField settings={settings} models={models} onChange={(model) => set({ model })} />
      <details className="group lg:contents" open={isWide()}>
        <summary className="text-sm font-medium text-accent-text lg:hidden">System prompt and options</summary>
        <div className="flex flex-col gap-5 max-lg:mt-4">
          <Field label="System prompt" hint="Who the model is to be, and how it answers.">
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

function ModelField({
  settings,
  models,
  onChange,
}: {
  settings: Settings
  models: Model[] | undefined
  onChange(model: string): void
}) {
  if (models === undefined) return <Skeleton className="h-28 w-full" />
  const model = models.find(({ id }) => id === settings.model)
  return (
    <div className="min-h-28">
      <Field label="Model" hint={model ? priceOf(model) : 'No model is served to this project yet.'}>
        {(control) => (
          <Select
            {...control}
            value={settings.model}
            onChange={(event) => onChange(event.target.value)}
            options={models.map(({ id }) => ({ value: id, label: id }))}
          />
        )}
      </Field>
    </div>
  )
}

function priceOf({ inputNanos, outputNanos, contextWindow }: Model): string {
  const price = `${formatMoney(inputNanos)} in, ${formatMoney(outputNanos)} out per million tokens`
  return contextWindow === null ? `${price}.` : `${price}; reads up to ${formatCount(contextWindow)}.`
}

/** Beside the chat there is room for everything. */
function isWide(): boolean {
  return window.matchMedia('(min-width: 64rem)').matches
}
