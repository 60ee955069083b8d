import type { Reply } from '../api.ts'
import { Badge, Status } from './badge.tsx'
import { Money } from './figures.tsx'

export type Carried = NonNullable<Reply<'GET /api/projects/:project/calls/:call'>['recommendation']>

/** The recommendation under a reply. It has a frame of its own and says that it is sponsored: no model wrote it. */
export function CarriedRecommendation({ carried }: { carried: Carried }) {
  const { headline, advertiser, label } = carried
  const paid = carried.clicks.find(({ state }) => state === 'pending' || state === 'released')
  return (
    <div
      role="note"
      aria-label="Sponsored recommendation"
      className="flex flex-col gap-1.5 rounded-md border border-line border-l-2 border-l-earn bg-surface px-4 py-3 text-sm"
    >
      <p className="flex flex-wrap items-center gap-2 text-xs text-muted">
        <Badge tone="earn">Sponsored</Badge>
        <CarriedState state={carried.state} />
        <span>Added by Parley after the reply, not written by the model.</span>
      </p>
      <p>
        <span className="font-medium">{headline}</span> <span className="text-muted">by {advertiser}</span>
      </p>
      <p className="flex flex-wrap gap-x-4 gap-y-0.5 text-xs text-muted">
        <span>Labelled “{label}”</span>
        <span className="tabular">Relevance {carried.relevance.toFixed(2)}</span>
        {carried.hint !== null && <span>Matched by “{carried.hint}”</span>}
        <span>
          <Money nanos={carried.priceNanos} isCoarse /> per click
        </span>
        {paid && (
          <span className="text-earn">
            Clicked: earned <Money nanos={paid.shareNanos} />
          </span>
        )}
      </p>
    </div>
  )
}

export function CarriedState({ state }: { state: Carried['state'] }) {
  return state === 'test' ? <Status tone="waiting">Test</Status> : <Status tone="good">Delivered</Status>
}
