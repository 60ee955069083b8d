import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, type Call, type Item, type Reply } from '../../api.ts'
import { isListLive } from './live.ts'

const ENDPOINT = 'GET /api/projects/:project/calls'
export type CallItem = Item<typeof ENDPOINT>
type Query = NonNullable<Call<typeof ENDPOINT>['query']>
type Page = Reply<typeof ENDPOINT>

const LIVE_EVERY_MS = 2_000
/** New calls are shown while the reader is at the top; further down they would push away what is read. */
const TOP_PX = 200

export interface Calls {
  items: CallItem[] | undefined
  error: Error | null
  hasMore: boolean
  isLoadingMore: boolean
  /** The filters match rarely: everything since then was searched, and `loadMore` goes on. */
  searchedTo: string | null
  isLive: boolean
  loadMore(): void
  retry(): void
}

/** The log, page by page. While it is live, only the first page is asked for again. */
export function useCalls(projectId: string, query: Query, wantsLive: boolean): Calls {
  const isAtTop = useAtTop()
  const client = useQueryClient()
  const call = JSON.stringify({ params: { project: projectId }, query })
  const result = useInfiniteQuery({
    queryKey: [ENDPOINT, call, 'pages'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => ask(call, pageParam, signal),
    getNextPageParam: (page: Page) => page.next ?? undefined,
  })
  const isLive = isListLive({
    wantsLive,
    isAtTop,
    pages: result.data?.pages.length ?? 0,
    isLoadingMore: result.isFetchingNextPage,
  })
  useEffect(() => {
    if (!isLive) return undefined
    const stop = new AbortController()
    const timer = setInterval(() => {
      if (document.visibilityState !== 'visible') return
      ask(call, undefined, stop.signal).then(
        (page) => client.setQueryData([ENDPOINT, call, 'pages'], { pages: [page], pageParams: [undefined] }),
        // A failed request is repeated in two seconds; the list stays as it is.
        () => undefined,
      )
    }, LIVE_EVERY_MS)
    return () => {
      clearInterval(timer)
      stop.abort()
    }
  }, [isLive, call, client])
  const last = result.data?.pages.at(-1)
  return {
    items: result.data?.pages.flatMap(({ items }) => items),
    error: result.error,
    hasMore: result.hasNextPage,
    isLoadingMore: result.isFetchingNextPage,
    searchedTo: last?.searchedTo ?? null,
    isLive,
    loadMore: () => void result.fetchNextPage(),
    retry: () => void result.refetch(),
  }
}

/** The call is text, so that an effect sees whether it is another one. */
function ask(call: string, after: string | undefined, signal: AbortSignal): Promise<Page> {
  const { params, query } = JSON.parse(call) as { params: { project: string }; query: Query }
  return api(ENDPOINT, { params, query: { ...query, ...(after !== undefined && { after }) } }, signal)
}

function useAtTop(): boolean {
  const [isAtTop, setAtTop] = useState(true)
  useEffect(() => {
    const look = () => setAtTop(window.scrollY < TOP_PX)
    look()
    window.addEventListener('scroll', look, { passive: true })
    return () => window.removeEventListener('scroll', look)
  }, [])
  return isAtTop
}
