import { Search, SearchX, X } from 'lucide-react'
import { useState, type FormEvent, type ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import { Time } from '../../components/figures.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { Input } from '../../components/input.tsx'
import { Link } from '../../components/link.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { useProject } from '../../session.ts'
import { useMessageSearch, type FoundMessage } from './use-message-search.ts'

const TEXT_MAX = 200

/** `children`: what stands below while nothing is looked for. */
export function MessageSearch({ children }: { children: ReactNode }) {
  const project = useProject()
  const [typed, setTyped] = useState('')
  const [sought, setSought] = useState<string>()
  const search = useMessageSearch(project.id, sought)
  function submit(event: FormEvent): void {
    event.preventDefault()
    const text = typed.trim()
    if (text !== '' && text === sought) search.retry()
    setSought(text || undefined)
  }
  function clear(): void {
    setTyped('')
    setSought(undefined)
  }
  return (
    <>
      <form role="search" aria-label="Messages" className="mb-2 flex items-center gap-2" onSubmit={submit}>
        <span className="relative min-w-0 flex-1 sm:max-w-120">
          <Search
            aria-hidden
            className="pointer-events-none absolute top-1/2 left-2.5 size-4 -translate-y-1/2 text-faint"
          />
          <Input
            type="search"
            aria-label="Search what was said"
            placeholder="Words, “a phrase”, -excluded"
            value={typed}
            maxLength={TEXT_MAX}
            onChange={(event) => setTyped(event.target.value)}
            className="pl-8 text-sm sm:h-8"
          />
        </span>
        <Button type="submit" size="sm" isBusy={sought !== undefined && search.isSearching}>
          Search
        </Button>
        <span className={sought === undefined ? 'invisible' : undefined}>
          <IconButton label="Show all conversations" icon={<X aria-hidden />} onClick={clear} />
        </span>
      </form>
      {sought === undefined ? children : <Results search={search} />}
    </>
  )
}

function Results({ search }: { search: ReturnType<typeof useMessageSearch> }) {
  const { items, error, hasMore, isLoadingMore, loadMore, retry } = search
  if (error && !items) return <ErrorState error={error} onRetry={retry} />
  if (!items) return <SkeletonLines count={8} />
  return (
    <section aria-label="Messages found" className="mt-4">
      <p role="status" className="mb-3 text-sm text-muted">
        {countOf(items.length, hasMore)}
      </p>
      {items.length === 0 && !hasMore && (
        <EmptyState icon={SearchX} title="Nothing found">
          Only text that is still kept is searched, by whole words. Instructions to the model are left out.
        </EmptyState>
      )}
      {items.length > 0 && (
        <ol className="divide-y divide-line rounded-lg border border-line bg-surface">
          {items.map((message) => (
            <Result key={message.seq} message={message} />
          ))}
        </ol>
      )}
      {hasMore && (
        <div className="mt-4 flex justify-center">
          <Button isBusy={isLoadingMore} onClick={loadMore}>
            {items.length === 0 ? 'Keep searching' : 'Load more'}
          </Button>
        </div>
      )}
    </section>
  )
}

function countOf(count: number, hasMore: boolean): string {
  if (count === 0)
    return hasMore ? 'Nothing in the newest messages. Older ones have not been searched yet.' : 'No messages'
  return `${count}${hasMore ? ' or more' : ''} ${count === 1 && !hasMore ? 'message' : 'messages'}, newest first`
}

const SPEAKERS: Record<string, string> = { user: 'User', assistant: 'Model', tool: 'Tool' }

function Result({ message }: { message: FoundMessage }) {
  const project = useProject()
  return (
    <li className="px-4 py-3">
      <p className="mb-1 flex flex-wrap items-baseline gap-x-2 text-sm text-muted">
        <span className="font-medium text-ink">{SPEAKERS[message.role] ?? message.role}</span>
        <Time iso={message.at} />
        <Link
          to={`/projects/${project.id}/conversations/${message.conversation}`}
          className="min-w-0 truncate font-mono text-xs"
          aria-label={`Conversation ${message.conversation}`}
        >
          {message.conversation}
        </Link>
      </p>
      <p className="break-words">
        <bdi>
          {message.snippet.map(({ text, isMatch }, n) =>
            isMatch ? (
              // Pieces have no identity but their place.
              // oxlint-disable-next-line react/no-array-index-key
              <mark key={n} className="rounded-sm bg-warn-soft px-0.5 font-medium text-ink">
                {text}
              </mark>
            ) : (
              text
            ),
          )}
        </bdi>
      </p>
    </li>
  )
}
