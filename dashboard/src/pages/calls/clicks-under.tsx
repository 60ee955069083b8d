import type { Carried } from '../../components/carried-recommendation.tsx'
import { Money, Nothing, Time } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { StateOfClick, VerdictOfClick } from '../earnings/click-state.tsx'
import { clickAt } from '../earnings/clicks-address.ts'

/** The clicks on a reply's recommendation, each with what became of it. */
export function ClicksUnder({ clicks, projectId }: { clicks: Carried['clicks']; projectId: string }) {
  if (clicks.length === 0) return <Nothing label="none yet" />
  return (
    <ul className="flex flex-col gap-1.5">
      {clicks.map((click) => (
        <li key={click.id} className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <VerdictOfClick click={click} />
          {click.state !== 'unpaid' && (
            <>
              <Money nanos={click.shareNanos} className="text-earn" />
              <StateOfClick state={click.state} />
            </>
          )}
          <span className="text-muted">
            <Time iso={click.at} as="age" />
          </span>
          <Link {...clickAt(projectId, click.id)} aria-label={`Receipt of the click: ${click.label}`}>
            Receipt
          </Link>
        </li>
      ))}
    </ul>
  )
}
