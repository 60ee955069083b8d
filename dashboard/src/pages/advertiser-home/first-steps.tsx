import { Check, Circle } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { Link } from '../../components/link.tsx'
import type { Overview } from './overview.ts'

/** The steps that are missing before anything can be recommended. Gone once all are done. */
export function FirstSteps({ data, base }: { data: Overview; base: string }) {
  const steps = [
    { isDone: data.campaigns > 0, text: 'Create a campaign', to: `${base}/campaigns` },
    { isDone: data.offers > 0, text: 'Add a product feed to it', to: `${base}/feeds` },
    { isDone: BigInt(data.balanceNanos) > 0n, text: 'Add credit to the wallet', to: `${base}/wallet` },
    { isDone: data.isDomainVerified, text: 'Verify your domain', to: `${base}/settings` },
    { isDone: data.status === 'active', text: 'Be activated by the operator', to: undefined },
  ]
  if (steps.every(({ isDone }) => isDone)) return null
  return (
    <Card title="Before your first recommendation" description="Nothing is recommended until all of these are done.">
      <ul className="flex flex-col gap-2">
        {steps.map(({ isDone, text, to }) => (
          <li key={text} className="flex items-center gap-2.5">
            {isDone ? (
              <Check className="size-4 shrink-0 text-good" aria-hidden />
            ) : (
              <Circle className="size-4 shrink-0 text-faint" aria-hidden />
            )}
            <span className={isDone ? 'text-muted' : ''}>
              <span className="sr-only">{isDone ? 'Done: ' : 'To do: '}</span>
              {to === undefined || isDone ? text : <Link to={to}>{text}</Link>}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}
