import { useQuery } from '@tanstack/react-query'
import { CodeXml, Ellipsis, ListTree, MessageSquareText } from 'lucide-react'
import { useDeferredValue, useState, type ReactNode } from 'react'
import { api } from '../../api.ts'
import { classes } from '../../components/classes.ts'
import { CodeBlock, CodeTabs } from '../../components/code-block.tsx'
import { Duration, Money, Tokens } from '../../components/figures.tsx'
import { languageOf } from '../../components/highlight.ts'
import { IconButton } from '../../components/icon-button.tsx'
import { Link } from '../../components/link.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { Notice } from '../../components/notice.tsx'
import { SafeMarkdown } from '../../components/safe-markdown.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { useProject } from '../../session.ts'
import type { Receipt, Turn } from './chat.ts'
import type { Refusal } from './events.ts'
import type { Row } from './use-comparison.ts'

/** A question with its answer, or with those of two models. Nothing stands below a text while it grows, so nothing moves. */
export function RowView({ row: { turns }, number }: { row: Row; number: number }) {
  const [{ question }] = turns
  return (
    <li className="flex min-w-0 flex-col gap-4">
      <p className="ml-auto max-w-[85%] rounded-xl rounded-br-sm bg-accent-soft px-3.5 py-2 break-words whitespace-pre-wrap">
        <span className="sr-only">You: </span>
        {question}
      </p>
      <div className={classes('grid min-w-0 gap-4', turns.length > 1 && 'md:grid-cols-2')}>
        {turns.map((turn, n) => (
          <AnswerView
            // The first stays the first.
            // oxlint-disable-next-line react/no-array-index-key
            key={n}
            turn={turn}
            name={turns.length > 1 ? `Answer ${number} of ${turn.request.model}` : `Answer ${number}`}
            isFramed={turns.length > 1}
          />
        ))}
      </div>
    </li>
  )
}

type View = 'answer' | 'events' | 'code'

function AnswerView({ turn, name, isFramed }: { turn: Turn; name: string; isFramed: boolean }) {
  const [view, setView] = useState<View>('answer')
  return (
    <article aria-label={name} className={classes('min-w-0', isFramed && 'rounded-lg border border-line p-3.5')}>
      <div className="mb-1.5 flex items-center gap-2">
        <span aria-hidden className="size-2 shrink-0 rounded-full bg-accent" />
        <span className="min-w-0 flex-1 truncate text-sm font-medium text-muted" title={turn.request.model}>
          {turn.request.model}
        </span>
        <ViewMenu name={name} view={view} isStreamed={turn.request.stream !== false} onChange={setView} />
      </div>
      {view === 'answer' ? (
        <Answer turn={turn} />
      ) : view === 'events' ? (
        <RawEvents turn={turn} />
      ) : (
        <AsCode turn={turn} />
      )}
      {turn.receipt && <Figures receipt={turn.receipt} />}
    </article>
  )
}

interface ViewMenuProps {
  name: string
  view: View
  isStreamed: boolean
  onChange(view: View): void
}

function ViewMenu({ name, view, isStreamed, onChange }: ViewMenuProps) {
  const item = (value: View, icon: ReactNode, label: string) => (
    <MenuItem icon={icon} isChecked={view === value} onSelect={() => onChange(value)}>
      {label}
    </MenuItem>
  )
  return (
    <Menu trigger={<IconButton label={`Views of ${name.toLowerCase()}`} icon={<Ellipsis aria-hidden />} />}>
      {item('answer', <MessageSquareText aria-hidden />, 'Answer')}
      {item('events', <ListTree aria-hidden />, isStreamed ? 'Raw events' : 'Raw answer')}
      {item('code', <CodeXml aria-hidden />, 'As code')}
    </Menu>
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
      {turn.state === 'asking' && <p className="text-muted">Waiting for the first token…</p>}
      {turn.state === 'stopped' && (
        <p className="mt-2 text-sm text-muted">
          Stopped. You were charged for what the model had read and written by then.
        </p>
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
  if (turn.events.length === 0)
    return (
      <p className="text-muted">
        No events are kept here: nothing has arrived yet, or the chat was opened from a saved prompt.
      </p>
    )
  return <CodeBlock title="Raw events" code={turn.events.join('\n')} language="json" />
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
        language: languageOf(file ?? 'sh'),
      }))}
    />
  )
}
