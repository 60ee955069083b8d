import { Badge } from '../../components/badge.tsx'
import { Card } from '../../components/card.tsx'
import { Time } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { PlainText } from '../../components/plain-text.tsx'
import { formatCounted, formatShare } from '../../formats.ts'
import { useProject } from '../../session.ts'
import type { Placement } from './use-rehearsal.ts'

const WHY: Record<Placement['risk'], string> = { sensitive: 'Near a sensitive topic', relevance: 'Fits least' }

/** Placements to judge by eye: figures cannot say whether people who know the readers would be glad of them. */
export function Placements({ placements, recommended }: { placements: Placement[]; recommended: number }) {
  return (
    <Card
      title="The riskiest placements, for you to review"
      description={`Of ${formatCounted(recommended, 'recommendation')}, the ones that came closest to being withheld and the ones that fit least. The text is from your own conversations: shown to you, and not stored again.`}
      isFlush
    >
      <ol className="divide-y divide-line border-t border-line">
        {placements.map((placement) => (
          <li key={`${placement.conversation} ${placement.at}`}>
            <PlacementRow placement={placement} />
          </li>
        ))}
      </ol>
    </Card>
  )
}

function PlacementRow({ placement }: { placement: Placement }) {
  const project = useProject()
  const { risk, conversation, at, said, answer, advertiser, headline, benefit, relevance, nearSensitive } = placement
  return (
    <article className="flex flex-col gap-3 px-5 py-4">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
        <Badge tone={risk === 'sensitive' ? 'warn' : 'neutral'}>{WHY[risk]}</Badge>
        <span>
          Relevance <span className="tabular text-ink">{relevance.toFixed(2)}</span>
        </span>
        <span>
          <span className="tabular text-ink">{formatShare(nearSensitive)}</span> of the way to a sensitive topic
        </span>
        <Link to={`/projects/${project.id}/conversations/${encodeURIComponent(conversation)}`} className="sm:ml-auto">
          <Time iso={at} />
        </Link>
      </p>
      <div className="grid gap-x-6 gap-y-3 lg:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
        <Said label="The reader" text={said} />
        <div className="flex min-w-0 flex-col gap-3">
          <Said label="The reply" text={answer} />
          <p className="border-l-2 border-earn pl-3">
            <span className="font-medium">{advertiser}</span>: {headline}
            {benefit !== '' && <span className="text-muted">, {benefit}</span>}
          </p>
        </div>
      </div>
    </article>
  )
}

function Said({ label, text }: { label: string; text: string }) {
  return (
    <div className="min-w-0">
      <p className="text-xs text-muted">{label}</p>
      <div
        tabIndex={0}
        role="group"
        aria-label={label}
        className="max-h-40 overflow-y-auto text-sm wrap-anywhere -outline-offset-2"
      >
        <PlainText text={text} />
      </div>
    </div>
  )
}
