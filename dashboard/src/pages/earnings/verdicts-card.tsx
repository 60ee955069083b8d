import { Card } from '../../components/card.tsx'
import { classes } from '../../components/classes.ts'
import { FigureLink } from '../../components/link.tsx'
import { formatCounted, formatShare } from '../../formats.ts'
import { useProject } from '../../session.ts'
import { Count } from '../usage/count.tsx'
import { clicksAt } from './clicks-address.ts'
import type { Earnings } from './earnings.ts'

/** Every verdict that there was, in words, each leading to its clicks. */
export function VerdictsCard({ earnings }: { earnings: Earnings }) {
  const project = useProject()
  const { verdicts, clicks: all, from, to } = earnings
  if (verdicts.length === 0) return null
  const most = Math.max(...verdicts.map(({ clicks }) => clicks))
  return (
    <Card
      title="Clicks by verdict"
      description="Every click leads to the offer. Only valid ones are paid for; the rest cost and earn nothing."
    >
      <ul className="flex flex-col gap-3 text-sm">
        {verdicts.map(({ verdict, label, explanation, clicks, takenBack }) => (
          <li key={verdict}>
            <div className="flex justify-between gap-4">
              <span className="font-medium">{label}</span>
              <span className="tabular whitespace-nowrap text-muted">
                <FigureLink {...clicksAt(project.id, { verdict, from, to })} of={`clicks: ${label}`}>
                  <Count of={clicks} />
                </FigureLink>{' '}
                · {formatShare(clicks / all)}
              </span>
            </div>
            <p className="text-muted">
              {explanation}{' '}
              {takenBack > 0 && (
                <FigureLink {...clicksAt(project.id, { state: 'reversed', from, to })} of="see them">
                  {formatCounted(takenBack, 'click')} taken back
                </FigureLink>
              )}
            </p>
            <div aria-hidden className="mt-1 h-1 rounded-full bg-hover">
              <div
                className={classes('h-1 min-w-0.5 rounded-full', verdict === 'valid' ? 'bg-chart-2' : 'bg-chart-6')}
                style={{ width: `${(100 * clicks) / most}%` }}
              />
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}
