import { useState } from 'react'
import type { Reply } from '../../api.ts'
import { CopyField } from '../../components/copy-button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { Nothing, Time } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { formatMoneyExactly } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { StateOfClick, VerdictOfClick } from './click-state.tsx'

type Receipt = Reply<'GET /api/projects/:project/clicks/:click'>

export interface ClickDialogProps {
  projectId: string
  /** Undefined closes it. */
  click: string | undefined
  onClose(): void
}

/** The receipt of a click: what its advertiser and the operator see of it, too. */
export function ClickDialog({ projectId, click, onClose }: ClickDialogProps) {
  // The content stays there while the dialog closes.
  const [last, setLast] = useState(click)
  if (click !== undefined && click !== last) setLast(click)
  const asked = { params: { project: projectId, click: last ?? '' } }
  const { data, error, refetch } = useApi('GET /api/projects/:project/clicks/:click', asked, {
    enabled: last !== undefined,
  })
  return (
    <Dialog
      isOpen={click !== undefined}
      onClose={onClose}
      title="Receipt of a click"
      description="You, the advertiser and the operator see the same record of it."
      size="lg"
    >
      {error && !data ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <Details receipt={data} projectId={projectId} />
      ) : (
        <SkeletonLines count={10} />
      )}
    </Dialog>
  )
}

function Details({ receipt, projectId }: { receipt: Receipt; projectId: string }) {
  const { at, shownAt, explanation, headline, advertiser, priceNanos, shareNanos, call, reference } = receipt
  return (
    <div className="flex flex-col gap-5">
      <p className="rounded-lg border border-line bg-sunken p-4 text-sm">
        <VerdictOfClick click={receipt} /> <span className="text-muted">{explanation}</span>
      </p>
      <Facts>
        <Fact label="Clicked">
          <Time iso={at} />
        </Fact>
        <Fact label="Recommended">{shownAt === null ? <Nothing /> : <Time iso={shownAt} />}</Fact>
        <Fact label="Offer">{headline}</Fact>
        <Fact label="Advertiser">{advertiser.name}</Fact>
        <Fact label="Price">
          <span className="tabular">{formatMoneyExactly(priceNanos)}</span>
        </Fact>
        <Fact label="Your share">
          <span className="tabular">{formatMoneyExactly(shareNanos)}</span>
        </Fact>
        <Fact label="State">
          <State receipt={receipt} />
        </Fact>
        <Fact label="In the ledger">
          {reference === null ? <Nothing /> : <code className="font-mono [overflow-wrap:anywhere]">{reference}</code>}
        </Fact>
        <Fact label="Call">
          {call === null ? <Nothing /> : <Link to={`/projects/${projectId}/calls/${call}`}>See the call</Link>}
        </Fact>
      </Facts>
      <CopyField text={receipt.id} label="the click id" />
    </div>
  )
}

function State({ receipt: { state, releasesAt } }: { receipt: Receipt }) {
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      <StateOfClick state={state} />
      {state === 'pending' && releasesAt !== null && (
        <span className="text-muted">
          goes to the wallet within an hour of <Time iso={releasesAt} />
        </span>
      )}
      {state === 'reversed' && <span className="text-muted">the advertiser has the price again</span>}
    </span>
  )
}
