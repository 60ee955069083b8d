import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Field } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { formatCounted } from '../../formats.ts'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import type { Settings } from './settings.ts'

const DAYS = [0, 1, 7, 30, 90, 180, 365]

export function RetentionCard({ settings }: { settings: Settings }) {
  const project = useProject()
  const mayChange = project.may('admin')
  const before = settings.contentRetentionDays
  const [days, setDays] = useState(before)
  const change = useChange('PATCH /api/projects/:project/settings', [
    'GET /api/projects/:project/settings',
    'GET /api/projects/:project',
  ])
  function save(): void {
    const saved = { onSuccess: () => toast('Retention saved.'), onError: toastError }
    change.mutate({ params: { project: project.id }, body: { contentRetentionDays: days } }, saved)
  }
  const options = [...new Set([...DAYS, before])].toSorted((a, b) => a - b)
  const footer = (
    <>
      <p className="text-sm text-muted">
        {mayChange ? 'Counts and costs are always kept.' : 'Only admins can change this.'}
      </p>
      <Button
        look={days < before ? 'danger' : 'primary'}
        disabled={!mayChange || days === before}
        isBusy={change.isPending}
        onClick={save}
      >
        {days < before ? 'Keep for a shorter time' : 'Save'}
      </Button>
    </>
  )
  return (
    <Card
      title="Text of conversations"
      description="How long conversation text and call metadata are kept."
      footer={footer}
    >
      <Field label="Keep the text" hint={<span className="block min-h-10">{effectOf(days, before)}</span>}>
        {(control) => (
          <Select
            {...control}
            className="max-w-60"
            disabled={!mayChange}
            value={String(days)}
            onChange={(event) => setDays(Number(event.target.value))}
            options={options.map((each) => ({ value: String(each), label: nameOf(each) }))}
          />
        )}
      </Field>
    </Card>
  )
}

function nameOf(days: number): string {
  if (days === 0) return 'Not at all'
  return `For ${formatCounted(days, 'day')}`
}

function effectOf(days: number, before: number): string {
  if (days < before && days === 0)
    return 'All stored text is erased within minutes and cannot be restored. New text is not stored.'
  if (days < before)
    return `Text older than ${formatCounted(days, 'day')} is erased within minutes and cannot be restored.`
  if (days > before && before > 0) return 'Applies to new messages. Existing text is erased on its original date.'
  return days === 0
    ? 'Only who spoke, when, and what it cost is stored.'
    : 'Afterwards, only who spoke, when, and what it cost is kept.'
}
