import { useQuery } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ApiError, send } from '../../api.ts'
import type { OpenApi } from './openapi.ts'

/** For public texts that the console serves next to its API. They change only when Parley does. */
const KEPT = { staleTime: Infinity, gcTime: Infinity }

export function useGuideText(name: string) {
  return useQuery({
    ...KEPT,
    queryKey: ['guide', name],
    queryFn: async ({ signal }) => {
      const response = await fetch(`/docs/${name}.md`, { signal })
      if (!response.ok) throw new ApiError(response.status, 'This page is not part of this build.')
      return response.text()
    },
  })
}

export function useOpenApi() {
  return useQuery({
    ...KEPT,
    queryKey: ['openapi'],
    queryFn: ({ signal }) => send('GET', '/openapi.json', undefined, signal) as Promise<OpenApi>,
  })
}

/** The code that draws Markdown is larger than the rest of the page, so it is loaded alongside the text. */
export function useMarkdown() {
  return useQuery({
    ...KEPT,
    structuralSharing: false,
    queryKey: ['docs-markdown'],
    queryFn: () => import('./docs-markdown.tsx'),
  })
}

/** Goes to where the address points, once that is drawn. */
export function useScrollToHash(isDrawn: boolean): void {
  const { hash } = useLocation()
  useEffect(() => {
    if (isDrawn && hash !== '') document.getElementById(hash)?.scrollIntoView()
  }, [isDrawn, hash])
}
