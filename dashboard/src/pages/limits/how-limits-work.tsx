import { Card } from '../../components/card.tsx'

export function HowLimitsWork() {
  return (
    <Card title="How limits work" description="Every limit that applies to a call holds at the same time.">
      <ul className="flex list-disc flex-col gap-1.5 pl-4 text-muted marker:text-faint">
        <li>
          <strong className="font-medium text-ink">Budgets are hard.</strong> A call holds what it may cost before it is
          sent to a model, and is refused with status 403 before it could exceed a budget. Nothing is charged then.
        </li>
        <li>Days, weeks (from Monday) and months are those of UTC. What was spent before in the period counts.</li>
        <li>
          <strong className="font-medium text-ink">Rates</strong> refuse with status 429. A minute is the clock’s
          minute.
        </li>
        <li>A pair that replaces another when it is rolled shares its limits.</li>
      </ul>
    </Card>
  )
}
