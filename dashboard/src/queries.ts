/** react-query over the contract: the endpoint is the cache key, so whoever changes something names what is stale. */
import {
  QueryCache,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
  type UseMutationResult,
  type UseQueryResult,
} from '@tanstack/react-query'
import { api, ApiError, type Call, type Endpoint, type Item, type Reply } from './api.ts'

type Reads = Extract<Endpoint, `GET ${string}`>
type Lists = { [K in Reads]: Reply<K> extends { items: unknown[]; next: string | null } ? K : never }[Reads]

export interface ReadOptions {
  enabled?: boolean
  /** Asks again this often while the page is visible. */
  everyMs?: number
}

const FRESH_MS = 15_000
const RETRIES_MAX = 3
const RETRY_DELAY_MS_MAX = 8_000

/** `onSignedOut` is called when any answer says that the session is over. */
export function createQueryClient(onSignedOut: () => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onError: (error) => {
        if (error instanceof ApiError && error.status === 401) onSignedOut()
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        retry: (count, error) => count < RETRIES_MAX && mayPass(error),
        retryDelay: retryDelayMs,
        refetchOnWindowFocus: true,
      },
    },
  })
}

export function queryOf<K extends Reads>(endpoint: K, call: Call<K>) {
  return {
    queryKey: [endpoint, call] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) => api(endpoint, call, signal),
  }
}

export function useApi<K extends Reads>(
  endpoint: K,
  call: Call<K>,
  { enabled = true, everyMs }: ReadOptions = {},
): UseQueryResult<Reply<K>> {
  return useQuery({ ...queryOf(endpoint, call), enabled, ...(everyMs && { refetchInterval: everyMs }) })
}

export interface List<T> {
  items: T[] | undefined
  error: Error | null
  hasMore: boolean
  isLoadingMore: boolean
  loadMore(): void
  retry(): void
  updatedAtMs: number
}

interface ListPage<T> {
  items: T[]
  next: string | null
}

/** Every further page is asked for as the first was: with its filters and its size. */
export function pagesOf<K extends Lists>(endpoint: K, call: Call<K>) {
  return {
    queryKey: [endpoint, call, 'pages'] as const,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) => {
      const query = { ...call.query, ...(pageParam !== undefined && { after: pageParam }) }
      return (await api(endpoint, { ...call, query }, signal)) as ListPage<Item<K>>
    },
    getNextPageParam: (page: ListPage<Item<K>>) => page.next ?? undefined,
  }
}

/** A list with a cursor, page by page: what DataTable shows. */
export function useApiList<K extends Lists>(endpoint: K, call: Call<K>, options: ReadOptions = {}): List<Item<K>> {
  const result = useInfiniteQuery({
    ...pagesOf(endpoint, call),
    enabled: options.enabled ?? true,
    ...(options.everyMs && { refetchInterval: options.everyMs }),
  })
  return {
    items: result.data?.pages.flatMap((page) => page.items),
    error: result.error,
    hasMore: result.hasNextPage,
    isLoadingMore: result.isFetchingNextPage,
    loadMore: () => void result.fetchNextPage(),
    retry: () => void result.refetch(),
    updatedAtMs: result.dataUpdatedAt,
  }
}

/** How a list goes on: everything that a DataTable asks of it but its rows. */
export function pagingOf(list: Pick<List<unknown>, 'error' | 'hasMore' | 'isLoadingMore' | 'loadMore' | 'retry'>) {
  const { error, hasMore, isLoadingMore, loadMore: onLoadMore, retry: onRetry } = list
  return { error, onRetry, hasMore, isLoadingMore, onLoadMore }
}

/** A change. When it has succeeded, everything read from the endpoints in `changes` is read again. */
export function useChange<K extends Exclude<Endpoint, Reads>>(
  endpoint: K,
  changes: Reads[] = [],
): UseMutationResult<Reply<K>, Error, Call<K>> {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (call: Call<K>) => api(endpoint, call),
    onSuccess: () => Promise.all(changes.map((key) => client.invalidateQueries({ queryKey: [key] }))),
  })
}

/** The caller's own mistakes do not get better by asking again; the server's, the network's and asking too much at once may. */
export function mayPass(error: Error): boolean {
  if (!(error instanceof ApiError)) return true
  return error.status === 0 || error.status >= 500 || error.code === 'too_many_at_once'
}

/** One second, two, four; and not before the server says, within reason. */
export function retryDelayMs(count: number, error: Error): number {
  const told = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0
  return Math.min(Math.max(1_000 * 2 ** count, told), RETRY_DELAY_MS_MAX)
}
