import { useNavigate, useParams } from '@tanstack/react-router'
import { ArrowLeft, ChevronDown, FileJson, FileText, MessagesSquare, Trash2 } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { addressOf, type Reply } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Money, Nothing, Time, Tokens } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { Menu, MenuDivider, MenuItem } from '../../components/menu.tsx'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { useIsMarkdownReady } from '../../components/safe-markdown.tsx'
import { Skeleton, SkeletonLines } from '../../components/skeleton.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { toast } from '../../components/toast.tsx'
import { formatCounted } from '../../formats.ts'
import { useApi, useApiList, type List } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { netOf } from '../earnings/net.ts'
import { Count } from '../usage/count.tsx'
import { hasEarned } from './earned.ts'
import { MessageView, type Message } from './message.tsx'
import { useDeletion } from './use-deletion.ts'

const MESSAGES_PER_PAGE = 100

export function ConversationPage() {
  const project = useProject()
  const { conversation: id = '' } = useParams({ strict: false }) as { conversation?: string }
  const params = { project: project.id, conversation: id }
  const { data, error, refetch } = useApi('GET /api/projects/:project/conversations/:conversation', { params })
  const messages = useApiList('GET /api/projects/:project/conversations/:conversation/messages', {
    params,
    query: { limit: MESSAGES_PER_PAGE },
  })
  const back = `/projects/${project.id}/conversations`
  return (
    // A title may take several lines: what was drawn before it is known makes room by going away.
    <div key={data ? 'there' : 'loading'} className="mx-auto max-w-3xl">
      <Link to={back} className="mb-3 inline-flex items-center gap-1.5 text-sm text-muted">
        <ArrowLeft className="size-3.5" aria-hidden /> Conversations
      </Link>
      <PageHeader
        title={data?.title ?? (data ? 'Conversation' : '…')}
        context={project.name}
        description={<Id id={id} />}
        action={<Actions id={id} back={back} />}
      />
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {(data || !error) && (
        <>
          <Facts conversation={data} />
          {data && messages.items && <TextNotice days={data.contentRetentionDays} messages={messages.items} />}
          <Messages list={messages} projectId={project.id} />
        </>
      )}
    </div>
  )
}

function Id({ id }: { id: string }) {
  return (
    <span className="flex min-w-0 items-center gap-1">
      <code className="truncate font-mono text-sm">{id}</code>
      <CopyButton text={id} label="Copy the conversation id" />
    </span>
  )
}

function Actions({ id, back }: { id: string; back: string }) {
  const project = useProject()
  const navigate = useNavigate()
  const [isDeleting, setDeleting] = useState(false)
  const params = { project: project.id, conversation: id }
  const remove = useDeletion()
  const path = 'GET /api/projects/:project/conversations/:conversation'
  const save = (file: 'json' | 'md') => window.location.assign(addressOf(`${path}/conversation.${file}`, { params }))
  async function confirm(): Promise<void> {
    await remove.mutateAsync({ params })
    toast('The conversation is deleted.')
    await navigate({ to: back } as never)
  }
  return (
    <>
      <Menu
        trigger={
          <Button>
            Export and delete <ChevronDown aria-hidden />
          </Button>
        }
      >
        <MenuItem icon={<FileText aria-hidden />} onSelect={() => save('md')}>
          Download Markdown
        </MenuItem>
        <MenuItem icon={<FileJson aria-hidden />} onSelect={() => save('json')}>
          Download JSON
        </MenuItem>
        {project.may('admin') && (
          <>
            <MenuDivider />
            <MenuItem tone="bad" icon={<Trash2 aria-hidden />} onSelect={() => setDeleting(true)}>
              Delete conversation
            </MenuItem>
          </>
        )}
      </Menu>
      <ConfirmDialog
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title="Delete this conversation?"
        verb="Delete conversation"
        typed={id}
        onConfirm={confirm}
      >
        Its text is erased and cannot be restored. Its calls stay in the log and the ledger, without text. From then on,
        the id returns 404.
      </ConfirmDialog>
    </>
  )
}

type Conversation = Reply<'GET /api/projects/:project/conversations/:conversation'>

function Facts({ conversation }: { conversation: Conversation | undefined }) {
  const { chargedNanos, inputTokens, outputTokens } = conversation ?? {}
  return (
    <dl className="mb-6 grid grid-cols-3 gap-x-6 gap-y-3 border-y border-line py-3.5 sm:grid-cols-5">
      <Fact label="Cost" of={conversation}>
        {chargedNanos == null ? <NotCounted /> : <Money nanos={chargedNanos} />}
      </Fact>
      {conversation && hasEarned(conversation) && <Earned conversation={conversation} />}
      <Fact label="Calls" of={conversation}>
        <Count of={conversation?.calls ?? 0} />
      </Fact>
      <Fact label="Tokens in" of={conversation}>
        {inputTokens == null ? <NotCounted /> : <Tokens count={inputTokens} />}
      </Fact>
      <Fact label="Tokens out" of={conversation}>
        {outputTokens == null ? <NotCounted /> : <Tokens count={outputTokens} />}
      </Fact>
      <Fact label="Last activity" of={conversation}>
        <Time iso={conversation?.lastCallAt} as="age" />
      </Fact>
    </dl>
  )
}

/** The earnings from clicks on its recommendations, and its cost after them. */
function Earned({ conversation }: { conversation: Conversation }) {
  const { chargedNanos, earnedNanos, paidClicks } = conversation
  const net = chargedNanos === null ? undefined : netOf({ costNanos: chargedNanos, earnedNanos })
  return (
    <>
      <Fact label={`Earned by ${formatCounted(paidClicks, 'click')}`} of={conversation}>
        <Money nanos={earnedNanos} className="text-earn" />
      </Fact>
      <Fact label={net?.label ?? 'Net cost'} of={conversation}>
        {net ? <Money nanos={net.nanos} /> : <NotCounted />}
      </Fact>
    </>
  )
}

function Fact({ label, of, children }: { label: string; of: Conversation | undefined; children: ReactNode }) {
  return (
    <div>
      <dt className="text-sm text-muted">{label}</dt>
      <dd className="tabular min-h-6 font-medium">{of ? children : <Skeleton className="my-1 h-4 w-14" />}</dd>
    </div>
  )
}

/** For the first seconds after a call. */
function NotCounted() {
  return <Nothing label="not counted yet" />
}

function TextNotice({ days, messages }: { days: number; messages: Message[] }) {
  const hasExpired = messages.some(({ text }) => text === 'expired')
  const isMissing = messages.some(({ text }) => text === 'not_kept')
  if (!hasExpired && !isMissing) return null
  return (
    <div className="mb-6">
      <Notice>
        {hasExpired
          ? 'Some of the text was deleted when its retention period ended. '
          : 'Some of the text was not kept. '}
        {days === 0
          ? 'This project keeps no text of conversations.'
          : `This project keeps text for ${formatCounted(days, 'day')}.`}
      </Notice>
    </div>
  )
}

function Messages({ list, projectId }: { list: List<Message>; projectId: string }) {
  const isReady = useIsMarkdownReady()
  if (list.error && !list.items) return <ErrorState error={list.error} onRetry={list.retry} />
  if (!list.items || !isReady) return <SkeletonLines count={12} />
  if (list.items.length === 0) {
    return (
      <EmptyState icon={MessagesSquare} title="No messages">
        The calls of this conversation left no messages.
      </EmptyState>
    )
  }
  return (
    <>
      <ol aria-label="Messages" className="flex flex-col gap-6">
        {list.items.map((message) => (
          <MessageView key={message.seq} message={message} projectId={projectId} />
        ))}
      </ol>
      {list.hasMore && (
        <div className="mt-6 flex justify-center">
          <Button isBusy={list.isLoadingMore} onClick={list.loadMore}>
            Load more
          </Button>
        </div>
      )}
    </>
  )
}
