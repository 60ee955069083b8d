import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { api } from '../../api.ts'
import { CodeTabs } from '../../components/code-block.tsx'
import { Duration, Money, Tokens } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { SafeMarkdown } from '../../components/safe-markdown.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { useProject } from '../../session.ts'
import type { Receipt, Turn } from './chat.ts'
import type { Refusal } from './events.ts'

/** A question and its answer. Nothing stands below the text while it grows, so nothing moves. */
export function TurnView({ turn, number }: { turn: Turn; number: number }) {
  const tabs = [
    { value: 'answer', label: 'Answer', content: <Answer turn={turn} /> },
    { value: 'events', label: turn.request.stream ? 'Raw events' : 'Raw answer', content: <RawEvents turn={turn} /> },
    { value: 'code', label: 'As code', content: <AsCode turn={turn} /> },
  ]
  return (
    <li className="flex min-w-0 flex-col gap-4">
      <p className="ml-auto max-w-[85%] rounded-xl rounded-br-sm bg-accent-soft px-3.5 py-2 break-words whitespace-pre-wrap">
        <span className="sr-only">You: </span>
        {turn.question}
      </p>
      <article aria-label={`Answer ${number}`} className="min-w-0">
        <Tabs label={`Views of answer ${number}`} tabs={tabs} />
        {turn.receipt && <Figures receipt={turn.receipt} />}
      </article>
    </li>
  )
}

function Answer({ turn }: { turn: Turn }) {
  // Where pieces come faster than they can be drawn, some drawings are left out, and never a piece.
  const text = useDeferredValue(turn.text)
  return (
    <>
      {text !== '' && (
        <div data-answer>
          <SafeMarkdown text={text} />
        </div>
      )}
      {turn.state === 'asking' && <p className="text-muted">Waiting for the first word…</p>}
      {turn.state === 'stopped' && (
        <p className="mt-2 text-sm text-muted">Stopped. What the model had read and written by then was charged.</p>
      )}
      {turn.refusal && <RefusalNotice refusal={turn.refusal} />}
    </>
  )
}

/** Where what the gateway refuses can be put right. */
const FIXES: Record<string, { page: string; verb: string }> = {
  account_not_activated: { page: '/account', verb: 'Your account' },
  domain_not_verified: { page: 'domain', verb: 'Verify the domain' },
  credit_insufficient: { page: 'wallet', verb: 'Top up' },
  credit_held: { page: 'wallet', verb: 'Top up' },
  credit_owed: { page: 'wallet', verb: 'Top up' },
}

function RefusalNotice({ refusal }: { refusal: Refusal }) {
  const project = useProject()
  const fix = FIXES[refusal.code]
  const link = fix && (
    <Link to={fix.page.startsWith('/') ? fix.page : `/projects/${project.id}/${fix.page}`} look="secondary">
      {fix.verb}
    </Link>
  )
  return (
    <Notice tone="bad" action={link}>
      {refusal.message}
      {refusal.requestId && <span className="block font-mono text-xs text-muted">Request {refusal.requestId}</span>}
    </Notice>
  )
}

function Figures({ receipt }: { receipt: Receipt }) {
  const project = useProject()
  const { tokens } = receipt
  return (
    <dl className="mt-3 flex flex-wrap gap-x-5 gap-y-1 text-xs text-muted [&_dd]:text-ink [&>div]:flex [&>div]:gap-1.5">
      <div>
        <dt>Tokens in</dt>
        <dd>
          <Tokens count={tokens.input + tokens.cachedInput + tokens.cacheWrite} />
        </dd>
      </div>
      <div>
        <dt>out</dt>
        <dd>
          <Tokens count={tokens.output + tokens.reasoning} />
        </dd>
      </div>
      <div>
        <dt>Cost</dt>
        <dd>
          <Money nanos={receipt.chargedNanos} />
        </dd>
      </div>
      <div>
        <dt>First token</dt>
        <dd>
          <Duration ms={receipt.firstTokenMs} />
        </dd>
      </div>
      <div>
        <dt>Total</dt>
        <dd>
          <Duration ms={receipt.durationMs} />
        </dd>
      </div>
      <div>
        <dt className="sr-only">Log</dt>
        <dd>
          <Link to={`/projects/${project.id}/calls/${receipt.id}`}>See the call</Link>
        </dd>
      </div>
    </dl>
  )
}

function RawEvents({ turn }: { turn: Turn }) {
  return (
    <pre
      tabIndex={0}
      aria-label="Raw events"
      className="max-h-80 overflow-auto rounded-md bg-sunken p-3 font-mono text-xs"
    >
      {turn.events.length === 0 ? 'Nothing has arrived yet.' : turn.events.join('\n')}
    </pre>
  )
}

function AsCode({ turn }: { turn: Turn }) {
  const { id: project } = useProject()
  const body = turn.request
  const code = useQuery({
    queryKey: ['POST /api/projects/:project/playground/code', project, body],
    queryFn: () => api('POST /api/projects/:project/playground/code', { params: { project }, body }),
    staleTime: Infinity,
  })
  if (code.error) return <ErrorState error={code.error} onRetry={() => void code.refetch()} />
  if (!code.data) return <SkeletonLines count={6} />
  return (
    <CodeTabs
      label="Languages"
      samples={code.data.items.map(({ id, label, text, file }) => ({
        value: id,
        label,
        code: text,
        title: file ?? label,
      }))}
    />
  )
}
