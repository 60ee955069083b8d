import { useParams } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { CarriedState, type Carried } from '../../components/carried-recommendation.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { Duration, Money, Nothing, Time, Tokens } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { formatMoneyExactly } from '../../formats.ts'
import { UnitPrice } from '../costs/unit-price.tsx'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { TOKEN_CLASSES } from '../../token-classes.ts'
import { CallStatus } from './call-status.tsx'
import { ClicksUnder } from './clicks-under.tsx'
import { linesToCharge, savingsOf, type CallDetail, type CostLine } from './cost-lines.ts'
import { MetadataCard } from './metadata-card.tsx'
import { Waterfall } from './waterfall.tsx'

export function CallPage() {
  const project = useProject()
  const { call } = useParams({ strict: false }) as { call: string }
  const { data, error, refetch } = useApi('GET /api/projects/:project/calls/:call', {
    params: { project: project.id, call },
  })
  return (
    <>
      <p className="mb-3">
        <Link to={`/projects/${project.id}/calls`} className="inline-flex items-center gap-1.5 text-sm">
          <ArrowLeft aria-hidden className="size-4" /> Calls
        </Link>
      </p>
      <PageHeader
        title="Call"
        context={project.name}
        description={<code className="font-mono text-sm break-all">{call}</code>}
      />
      {error && !data ? (
        <Card>
          <ErrorState error={error} onRetry={() => void refetch()} />
        </Card>
      ) : data ? (
        <Details call={data} projectId={project.id} />
      ) : (
        <Card>
          <div className="min-h-96">
            <SkeletonLines count={8} />
          </div>
        </Card>
      )}
    </>
  )
}

function Details({ call, projectId }: { call: CallDetail; projectId: string }) {
  return (
    <div className="flex flex-col gap-4">
      {call.advice !== null && (
        <Notice tone={call.outcome === 'hung_up' ? 'neutral' : 'warn'}>
          <strong className="font-medium">{call.title}.</strong> {call.explanation} {call.advice}
        </Notice>
      )}
      <div className="grid gap-4 lg:grid-cols-2">
        <Card title="What happened" description={call.advice === null && call.explanation}>
          <CallFacts call={call} projectId={projectId} />
        </Card>
        <Card
          title="Where the time went"
          description={
            <>
              From the first byte to the last: <Duration ms={call.durationMs} />
            </>
          }
        >
          <Waterfall phases={call.phases} durationMs={call.durationMs} />
        </Card>
      </div>
      {call.recommendation && <RecommendationCard carried={call.recommendation} projectId={projectId} />}
      {call.metadata.length > 0 && <MetadataCard call={call} projectId={projectId} />}
      <Card title="What it cost" description={<PriceNote call={call} />}>
        <CostLines call={call} />
      </Card>
      <CodeBlock
        title={`As JSON. Your servers can fetch the receipt with GET /v1/receipts/${call.id}`}
        language="json"
        code={JSON.stringify(call, null, 2)}
      />
    </div>
  )
}

function CallFacts({ call, projectId }: { call: CallDetail; projectId: string }) {
  return (
    <Facts>
      <Fact label="Outcome">
        <CallStatus call={call} />
      </Fact>
      <Fact label="Status">
        <span className="tabular">{call.status === 0 ? 'no answer' : call.status}</span>
      </Fact>
      <Fact label="Began">
        <Time iso={call.beganAt} />
      </Fact>
      <Fact label="Settled">
        <Time iso={call.settledAt} />
      </Fact>
      <Fact label="Endpoint">
        <code className="font-mono">{call.endpoint}</code>
      </Fact>
      <Fact label="Model">{call.model}</Fact>
      <Fact label="Key">{call.keyName ?? 'Deleted'}</Fact>
      <Fact label="Streamed">{call.streamed ? 'Yes' : 'No'}</Fact>
      <Fact label="First token">
        <Duration ms={call.firstTokenMs} />
      </Fact>
      <Fact label="Finish reason">{call.finishReason ?? <Nothing />}</Fact>
      {call.errorCode !== null && (
        <Fact label="Error code">
          <Link to="/docs/errors" hash={call.errorCode} className="font-mono">
            {call.errorCode}
          </Link>
        </Fact>
      )}
      {call.errorMessage !== null && <Fact label="Error message">{call.errorMessage}</Fact>}
      <Fact label="Request">
        <Id text={call.requestId} label="Copy the request id" />
      </Fact>
      <Fact label="Conversation">
        {call.conversationId === null ? (
          <Nothing />
        ) : (
          <Link
            to={`/projects/${projectId}/conversations/${encodeURIComponent(call.conversationId)}`}
            className="break-all"
          >
            {call.conversationId}
          </Link>
        )}
      </Fact>
    </Facts>
  )
}

const SEEN: Record<Carried['state'], string> = {
  delivered: 'The reply ended with this recommendation. It cost you nothing, and the model did not write it.',
  test: 'Chosen in test mode or in the playground: no advertiser pays for it.',
}

function RecommendationCard({ carried, projectId }: { carried: Carried; projectId: string }) {
  return (
    <Card
      title="Recommendation"
      description={SEEN[carried.state]}
      action={<Link to={`/projects/${projectId}/monetization`}>Monetization</Link>}
    >
      <Facts>
        <Fact label="Offer">
          <span className="font-medium">{carried.headline}</span>
        </Fact>
        <Fact label="Advertiser">{carried.advertiser}</Fact>
        <Fact label="Label">{carried.label}</Fact>
        <Fact label="Matched">
          <span className="tabular">{carried.relevance.toFixed(2)}</span> relevance, reply {carried.turn} of its
          conversation
        </Fact>
        {carried.hint !== null && <Fact label="Advertiser’s hint">{carried.hint}</Fact>}
        <Fact label="Per click">
          <Money nanos={carried.priceNanos} isCoarse className="text-earn" />
        </Fact>
        <Fact label="State">
          <CarriedState state={carried.state} />
        </Fact>
        <Fact label="Clicks">
          <ClicksUnder clicks={carried.clicks} projectId={projectId} />
        </Fact>
      </Facts>
    </Card>
  )
}

function Id({ text, label }: { text: string; label: string }) {
  return (
    <span className="flex min-w-0 items-center gap-1">
      <code className="truncate font-mono" title={text}>
        {text}
      </code>
      <CopyButton text={text} label={label} />
    </span>
  )
}

function PriceNote({ call }: { call: CallDetail }) {
  return (
    <>
      At the price
      {call.priceEffectiveFrom !== null && (
        <>
          {' '}
          in effect since <Time iso={call.priceEffectiveFrom} />
        </>
      )}
      , per million tokens.{' '}
      {call.usageSource === 'estimated' && 'The provider did not report usage, so it was counted here. '}
      {call.isRecomputed
        ? 'Recomputed just now: it matches.'
        : 'Recomputed just now: it does not match. Contact support.'}
    </>
  )
}

function CostLines({ call }: { call: CallDetail }) {
  return (
    <table className="w-full text-sm">
      <thead className="text-left text-xs text-muted">
        <tr>
          <th scope="col" className="pb-1.5 font-medium">
            Tokens
          </th>
          <th scope="col" className="pb-1.5 text-right font-medium">
            Count
          </th>
          <th scope="col" className="pb-1.5 text-right font-medium max-sm:hidden">
            Per million
          </th>
          <th scope="col" className="pb-1.5 text-right font-medium">
            Cost
          </th>
        </tr>
      </thead>
      <tbody>
        {TOKEN_CLASSES.filter(([name]) => call.lines[name].tokens > 0).map(([name, label]) => (
          <tr key={name} className="border-t border-line">
            <td className="py-1.5">{label}</td>
            <td className="py-1.5 text-right">
              <Tokens count={call.lines[name].tokens} />
            </td>
            <td className="py-1.5 text-right max-sm:hidden">
              <UnitPrice nanos={call.lines[name].price} />
            </td>
            <td className="tabular py-1.5 text-right">{formatMoneyExactly(call.lines[name].nanos)}</td>
          </tr>
        ))}
        {linesToCharge(call).map((line) => (
          <SumLine key={line.label} {...line} />
        ))}
      </tbody>
      <tfoot>
        <tr className="border-t border-line-strong font-medium">
          <td className="pt-2" colSpan={2}>
            Charged
          </td>
          <td colSpan={2} className="tabular pt-2 text-right">
            {formatMoneyExactly(call.chargedNanos)}
          </td>
        </tr>
        {savingsOf(call).map((line) => (
          <SumLine key={line.label} {...line} />
        ))}
        {call.corrections.map(({ kind, amountNanos, createdAt }) => (
          <SumLine key={createdAt} label={`Later: ${kind.replaceAll('_', ' ')}`} nanos={amountNanos} />
        ))}
      </tfoot>
    </table>
  )
}

function SumLine({ label, nanos }: CostLine) {
  return (
    <tr className="border-t border-line text-muted">
      <td className="py-1.5" colSpan={2}>
        {label}
      </td>
      <td colSpan={2} className="tabular py-1.5 text-right">
        {formatMoneyExactly(nanos)}
      </td>
    </tr>
  )
}
