import { useInfiniteQuery } from '@tanstack/react-query'
import { api, type Item } from '../../api.ts'

export type FoundMessage = Item<'POST /api/projects/:project/message-search'>

/** The words travel in the body and stay out of the address: what people look for may be somebody's name. */
export function useMessageSearch(project: string, text: string | undefined) {
  const result = useInfiniteQuery({
    queryKey: ['POST /api/projects/:project/message-search', project, text],
    enabled: text !== undefined,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => {
      const body = { text: text ?? '', ...(pageParam !== undefined && { after: pageParam }) }
      return api('POST /api/projects/:project/message-search', { params: { project }, body }, signal)
    },
    getNextPageParam: (page) => page.next ?? undefined,
    // Each page costs the database some work; what was found stays until it is looked for again.
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  })
  return {
    items: result.data?.pages.flatMap(({ items }) => items),
    error: result.error,
    isSearching: result.isFetching && !result.isFetchingNextPage,
    hasMore: result.hasNextPage,
    isLoadingMore: result.isFetchingNextPage,
    loadMore: () => void result.fetchNextPage(),
    retry: () => void result.refetch(),
  }
}
