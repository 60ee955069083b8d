import { Card } from '../../components/card.tsx'
import { Link } from '../../components/link.tsx'
import { formatCountExactly } from '../../formats.ts'
import { useProject } from '../../session.ts'
import type { Settings } from './settings.ts'

export function LimitsCard({ limits }: { limits: Settings['limits'] }) {
  const project = useProject()
  const rows: [string, number | string | null][] = [
    ['Requests per minute', limits.requestsPerMinute],
    ['Tokens per minute', limits.tokensPerMinute],
    ['Concurrent calls', limits.concurrentCalls],
  ]
  return (
    <Card
      title="Limits"
      description={
        <>
          Set by the operator. Calls above them are refused with status 429 and can be retried. Your own are under{' '}
          <Link to={`/projects/${project.id}/limits`}>Limits</Link>.
        </>
      }
    >
      <dl className="grid gap-3 sm:grid-cols-3">
        {rows.map(([label, limit]) => (
          <div key={label}>
            <dt className="text-sm text-muted">{label}</dt>
            <dd className="tabular font-medium">{limit === null ? 'No limit' : formatCountExactly(limit)}</dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}
