import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueryClient } from '@tanstack/react-query'
import { pagesOf } from './queries.ts'

test('every further page of a list is asked for with the filters and the size of the first', async (t) => {
  const replies = [
    { items: ['a'], next: 'cursor 1' },
    { items: ['b'], next: 'cursor 2' },
    { items: ['c'], next: null },
  ]
  const { mock } = t.mock.method(globalThis, 'fetch', () => Promise.resolve(Response.json(replies.shift())))
  const call = { params: { project: 'p' }, query: { kind: 'usage' as const, limit: 1 } }
  const pages = pagesOf('GET /api/projects/:project/ledger', call)
  const { pages: read } = await new QueryClient().fetchInfiniteQuery({ ...pages, pages: 5 })
  assert.deepEqual(
    mock.calls.map(({ arguments: [address] }) => address),
    ['', '&after=cursor+1', '&after=cursor+2'].map((after) => `/api/projects/p/ledger?kind=usage&limit=1${after}`),
  )
  assert.deepEqual(
    read.flatMap(({ items }) => items),
    ['a', 'b', 'c'],
  )
})
