import { Card } from '../../components/card.tsx'

export function HardStopCard() {
  return (
    <Card title="When credit runs out" description="A hard stop: the wallet never goes below zero.">
      <ul className="flex list-disc flex-col gap-1.5 pl-4 text-muted marker:text-faint">
        <li>
          Before a call, what it is likely to cost is <strong className="font-medium text-ink">held</strong>, and more
          while it goes on. When it has ended, the exact cost is charged and the rest is free again.
        </li>
        <li>
          A call whose prompt the available credit does not cover is refused with{' '}
          <strong className="font-medium text-ink">status 403</strong>. Nothing is sent to a model, nothing is charged.
          An answer that outgrows the credit ends there, with what was paid for.
        </li>
        <li>A top-up counts within seconds, and calls are served again by themselves.</li>
      </ul>
    </Card>
  )
}
