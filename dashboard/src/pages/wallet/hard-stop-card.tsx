import { Card } from '../../components/card.tsx'
import { useProject } from '../../session.ts'

export function HardStopCard() {
  const { isSandbox } = useProject()
  return (
    <Card title="When credit runs out" description="A hard stop: the wallet never goes below zero.">
      <ul className="flex list-disc flex-col gap-1.5 pl-4 text-muted marker:text-faint">
        <li>
          Before a call, what it is likely to cost is <strong className="font-medium text-ink">held</strong>, and more
          while it goes on. When it ends, the exact cost is charged and the rest is released.
        </li>
        <li>
          A call whose prompt the available credit does not cover is refused with{' '}
          <strong className="font-medium text-ink">status 403</strong>. Nothing is sent to a model, nothing is charged.
          An answer that outgrows the credit is cut off there, and you pay for what was written.
        </li>
        {!isSandbox && <li>A top-up counts within seconds, and calls are answered again automatically.</li>}
      </ul>
    </Card>
  )
}
