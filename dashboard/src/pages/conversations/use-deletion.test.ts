import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { pagesOf } from '../../queries.ts'
import { useDeletion } from './use-deletion.ts'

test('after a conversation was deleted the list is read again, and not when it could not be', async (t) => {
  const answers = [new Response('', { status: 503 }), Response.json({ done: true })]
  t.mock.method(globalThis, 'fetch', () => Promise.resolve(answers.shift()))
  const client = new QueryClient()
  const { queryKey } = pagesOf('GET /api/projects/:project/conversations', { params: { project: 'p' }, query: {} })
  client.setQueryData(queryKey, { pages: [], pageParams: [] })
  const deletions: ReturnType<typeof useDeletion>[] = []
  const Page = () => {
    deletions.push(useDeletion())
    return null
  }
  renderToString(createElement(QueryClientProvider, { client }, createElement(Page)))
  const remove = () => deletions[0]?.mutateAsync({ params: { project: 'p', conversation: 'c' } }) ?? assert.fail()
  await assert.rejects(remove, { status: 503 })
  assert.equal(client.getQueryState(queryKey)?.isInvalidated, false)
  await remove()
  assert.equal(client.getQueryState(queryKey)?.isInvalidated, true)
})
