import { Card } from '../../components/card.tsx'

export function HowLimitsWork() {
  return (
    <Card title="How limits work" description="All limits that apply to a call hold together.">
      <ul className="flex list-disc flex-col gap-1.5 pl-4 text-muted marker:text-faint">
        <li>
          <strong className="font-medium text-ink">Budgets are hard.</strong> A call holds what it may cost before it is
          sent to a model, and is refused with status 403 before it could exceed a budget. Nothing is charged then.
        </li>
        <li>Days, weeks (from Monday) and months are those of UTC. Spend from earlier in the period counts.</li>
        <li>
          <strong className="font-medium text-ink">Rates</strong> refuse with status 429. Minutes are clock minutes.
        </li>
        <li>When a pair is rolled, the new pair shares the limits of the old one.</li>
      </ul>
    </Card>
  )
}
