import { useState } from 'react'
import type { Reply } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Input } from '../../components/input.tsx'
import { Link } from '../../components/link.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { Switch } from '../../components/toggles.tsx'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'

type Rule = Reply<'GET /api/projects/:project/alerts'>['rules'][number]

export function RulesCard({ rules }: { rules: Rule[] }) {
  const project = useProject()
  return (
    <Card
      title="Alert rules"
      description={
        project.may('admin')
          ? 'Each alert opens once and closes once, so you get one email however the figures move.'
          : 'Only admins can change this.'
      }
    >
      <ul className="divide-y divide-line">
        {rules.map((rule) => (
          <li key={rule.kind} className="py-4 first:pt-0 last:pb-0">
            <RuleForm rule={rule} />
          </li>
        ))}
      </ul>
    </Card>
  )
}

function RuleForm({ rule }: { rule: Rule }) {
  const project = useProject()
  const mayChange = project.may('admin')
  const change = useChange('PUT /api/projects/:project/alert-rules', ['GET /api/projects/:project/alerts'])
  const chosen = rule.threshold === null || rule.threshold.isUsual ? null : rule.threshold.value

  function save(enabled: boolean, threshold: number | null, said: string): void {
    const call = { params: { project: project.id }, body: { kind: rule.kind, enabled, threshold } }
    change.mutate(call, { onSuccess: () => toast(said), onError: toastError })
  }
  return (
    <>
      <Switch
        checked={rule.isOn}
        disabled={!mayChange || change.isPending}
        label={<span className="font-medium">{rule.title}</span>}
        hint={rule.explanation}
        onChange={(isOn) => save(isOn, chosen, `${rule.title} is ${isOn ? 'on' : 'off'}.`)}
      />
      {rule.kind === 'low_balance' && (
        <p className="mt-2 text-sm">
          <Link to={`/projects/${project.id}/wallet`}>Change the amount under Wallet</Link>
        </p>
      )}
      {rule.threshold && rule.isOn && (
        <Threshold
          key={rule.threshold.value}
          title={rule.title}
          threshold={rule.threshold}
          disabled={!mayChange || change.isPending}
          onSave={(value) => save(true, value === rule.threshold?.usual ? null : value, `${rule.title} saved.`)}
        />
      )}
    </>
  )
}

interface ThresholdProps {
  title: string
  threshold: NonNullable<Rule['threshold']>
  disabled: boolean
  onSave(value: number): void
}

function Threshold({ title, threshold, disabled, onSave }: ThresholdProps) {
  const { unit, value, least, most, usual } = threshold
  const [text, setText] = useState(String(value))
  const typed = Number(text)
  const isValid = /^\d+$/.test(text) && typed >= least && typed <= most
  return (
    <form
      className="mt-2 flex flex-wrap items-center gap-2 text-sm"
      onSubmit={(event) => {
        event.preventDefault()
        if (isValid) onSave(typed)
      }}
    >
      <Input
        aria-label={`Threshold of ${title}`}
        aria-invalid={isValid ? undefined : true}
        inputMode="numeric"
        className="max-w-20 font-mono"
        value={text}
        disabled={disabled}
        onChange={(event) => setText(event.target.value)}
      />
      <span>{unit}</span>
      <Button type="submit" size="sm" disabled={disabled || !isValid || typed === value}>
        Save
      </Button>
      <span className="text-muted">
        {isValid ? `${usual}${unit} unless you change it.` : `From ${least} to ${most}.`}
      </span>
    </form>
  )
}
