import { ChevronRight, Wrench } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Item } from '../../api.ts'
import { CarriedRecommendation } from '../../components/carried-recommendation.tsx'
import { classes } from '../../components/classes.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { Duration, Money, Time, Tokens } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { NotLoadedImage, PlainText } from '../../components/plain-text.tsx'
import { SafeMarkdown } from '../../components/safe-markdown.tsx'

export type Message = Item<'GET /api/projects/:project/conversations/:conversation/messages'>

/** One message. What a user wrote stands at the right, what a model answered at the left; the rest is folded away. */
export function MessageView({ message, projectId }: { message: Message; projectId: string }) {
  if (message.role === 'user') return <UserMessage message={message} />
  if (message.role === 'assistant') return <Reply message={message} projectId={projectId} />
  const title =
    message.role === 'system' ? 'Instructions' : message.role === 'tool' ? 'Result of the tool' : message.role
  return (
    <li>
      <Folded title={title} hint={hintOf(message)}>
        <Body message={message} isMarkdown={message.role === 'system'} />
      </Folded>
    </li>
  )
}

function UserMessage({ message }: { message: Message }) {
  return (
    <li className="flex flex-col items-end gap-1">
      <div className="max-w-[85%] rounded-xl rounded-br-sm bg-accent-soft px-4 py-2.5">
        <span className="sr-only">The user said:</span>
        <Body message={message} />
      </div>
      <p className="text-xs text-muted">
        <Time iso={message.at} />
      </p>
    </li>
  )
}

function Reply({ message, projectId }: { message: Message; projectId: string }) {
  return (
    <li className="flex flex-col gap-2">
      <p className="flex items-center gap-2 text-sm font-medium text-muted">
        <span aria-hidden className="size-2 rounded-full bg-accent" />
        <span className="sr-only">Reply of </span>
        {message.call?.model ?? 'Assistant'}
      </p>
      <div className="flex flex-col gap-3">
        <Body message={message} isMarkdown />
        {message.toolCalls.map((call) => (
          <Folded key={call.id} icon={<Wrench className="size-3.5" aria-hidden />} title={call.name} hint="tool call">
            <CodeBlock code={indented(call.arguments)} title="arguments" language="json" />
          </Folded>
        ))}
      </div>
      {message.recommendation && <CarriedRecommendation carried={message.recommendation} />}
      {message.call && <Costs call={message.call} projectId={projectId} />}
    </li>
  )
}

function Costs({ call, projectId }: { call: NonNullable<Message['call']>; projectId: string }) {
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-muted">
      <Money nanos={call.chargedNanos} className="font-mono" />
      <span>
        <Tokens count={call.inputTokens} /> in, <Tokens count={call.outputTokens} /> out
      </span>
      <Duration ms={call.durationMs} />
      <Link to={`/projects/${projectId}/calls/${call.id}`}>See the call</Link>
    </p>
  )
}

const GONE = {
  not_kept: 'The text was not kept.',
  expired: 'The text was deleted when its retention period ended.',
}

function Body({ message, isMarkdown = false }: { message: Message; isMarkdown?: boolean }) {
  if (message.text !== 'kept') return <p className="text-muted italic">{GONE[message.text]}</p>
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {message.parts.map((part, n) => (
        // Nothing is ever added to a message or moved in it.
        // oxlint-disable-next-line react/no-array-index-key
        <Part key={n} part={part} isMarkdown={isMarkdown} />
      ))}
      {message.refusal !== null && <PlainText text={message.refusal} />}
    </div>
  )
}

function Part({ part, isMarkdown }: { part: Message['parts'][number]; isMarkdown: boolean }) {
  if (part.kind === 'image') return <NotLoadedImage address={part.address} />
  if (part.kind === 'other') return <p className="text-muted italic">Content of type {part.text}.</p>
  return isMarkdown ? <SafeMarkdown text={part.text} /> : <PlainText text={part.text} />
}

interface FoldedProps {
  title: string
  hint: string
  icon?: ReactNode
  children: ReactNode
}

function Folded({ title, hint, icon, children }: FoldedProps) {
  return (
    <details className="group rounded-lg border border-line bg-surface">
      <summary
        className={classes(
          'flex min-h-9 list-none items-center gap-2 rounded-lg px-3 text-sm text-muted hover:text-ink',
          '[&::-webkit-details-marker]:hidden',
        )}
      >
        <ChevronRight className="size-3.5 shrink-0 transition-transform group-open:rotate-90" aria-hidden />
        {icon}
        <span className="max-w-3/5 shrink-0 truncate font-medium text-ink">{title}</span>
        <span className="min-w-0 truncate">{hint}</span>
      </summary>
      <div className="border-t border-line px-4 py-3">{children}</div>
    </details>
  )
}

const HINT_LENGTH = 90

/** The beginning of the text, so that one need not open it to know. */
function hintOf(message: Message): string {
  if (message.text !== 'kept') return GONE[message.text]
  const text = message.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join(' ')
  return text.replaceAll(/\s+/g, ' ').slice(0, HINT_LENGTH)
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}
