import { useState } from 'react'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { FilterInput } from '../../components/filter-bar.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { Checkbox, Switch } from '../../components/toggles.tsx'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { choicesOf, type Choice } from './model-choices.ts'
import type { Settings } from './settings.ts'

/** With more than this, a list needs a search. */
const SEARCHED_FROM = 9

export function ModelsCard({ settings }: { settings: Settings }) {
  const project = useProject()
  const mayChange = project.may('admin')
  const [isAll, setAll] = useState(settings.allowedModels === null)
  const [chosen, setChosen] = useState(() => new Set(settings.allowedModels))
  const change = useChange('PATCH /api/projects/:project/settings', [
    'GET /api/projects/:project/settings',
    'GET /api/projects/:project',
  ])
  const allowedModels = isAll ? null : [...chosen].toSorted()
  const isDirty = JSON.stringify(allowedModels) !== JSON.stringify(settings.allowedModels?.toSorted() ?? null)
  function save(): void {
    const saved = { onSuccess: () => toast('Models saved.'), onError: toastError }
    change.mutate({ params: { project: project.id }, body: { allowedModels } }, saved)
  }
  const footer = (
    <>
      <p className="text-sm text-muted">
        {isAll || chosen.size > 0
          ? 'A call that names another model is refused with status 422.'
          : 'Choose at least one model.'}
      </p>
      <Button
        look="primary"
        disabled={!mayChange || !isDirty || (!isAll && chosen.size === 0)}
        isBusy={change.isPending}
        onClick={save}
      >
        Save
      </Button>
    </>
  )
  return (
    <Card title="Models" description="Which models this project’s calls may use." footer={footer}>
      <div className="flex flex-col gap-4">
        <Switch
          checked={isAll}
          onChange={setAll}
          disabled={!mayChange}
          label="All models"
          hint="Including models added later."
        />
        {!isAll && (
          <ModelList
            choices={choicesOf(settings)}
            chosen={chosen}
            disabled={!mayChange}
            onChange={(id, isChosen) =>
              setChosen(isChosen ? chosen.union(new Set([id])) : chosen.difference(new Set([id])))
            }
          />
        )}
      </div>
    </Card>
  )
}

interface ModelListProps {
  choices: Choice[]
  chosen: Set<string>
  disabled: boolean
  onChange(id: string, isChosen: boolean): void
}

function ModelList({ choices, chosen, disabled, onChange }: ModelListProps) {
  const [search, setSearch] = useState<string>()
  const shown = choices.filter(({ id }) => search === undefined || id.toLowerCase().includes(search.toLowerCase()))
  return (
    <div className="flex flex-col gap-3 border-t border-line pt-4">
      {choices.length >= SEARCHED_FROM && <FilterInput label="Find a model" value={search} onChange={setSearch} />}
      <div role="group" aria-label="Models" className="grid gap-x-6 gap-y-3 sm:grid-cols-2">
        {shown.map(({ id, hint, isServed }) => (
          <Checkbox
            key={id}
            checked={chosen.has(id)}
            disabled={disabled}
            onChange={(isChosen) => onChange(id, isChosen)}
            label={
              <span className="flex flex-wrap items-center gap-2">
                <code className="font-mono text-sm [overflow-wrap:anywhere]">{id}</code>
                {!isServed && <Badge tone="warn">Not available now</Badge>}
              </span>
            }
            hint={hint}
          />
        ))}
        {shown.length === 0 && <p className="text-muted">No models match.</p>}
      </div>
    </div>
  )
}
