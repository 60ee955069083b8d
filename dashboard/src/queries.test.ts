import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './api.ts'
import { mayPass, pagesOf, retryDelayMs } from './queries.ts'

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

test('a read is asked again when the server was busy or too much was asked at once, and not when it was refused', () => {
  const passing = [new ApiError(503, 'Busy.'), new ApiError(429, 'Wait.', { code: 'too_many_at_once' }), new Error('x')]
  for (const error of passing) assert.ok(mayPass(error), error.message)
  const final = [
    new ApiError(429, 'Wait.', { code: 'too_many_attempts' }),
    new ApiError(404, 'No.'),
    new ApiError(401, 'No.'),
  ]
  for (const error of final) assert.ok(!mayPass(error), String(error.code))
})

test('it waits a second, then two, then four, and as long as it was told, but never long', () => {
  assert.deepEqual(
    [0, 1, 2, 9].map((count) => retryDelayMs(count, new Error('x'))),
    [1_000, 2_000, 4_000, 8_000],
  )
  const told = (retryAfterSeconds: number) => retryDelayMs(0, new ApiError(503, 'Busy.', { retryAfterSeconds }))
  assert.deepEqual([told(0), told(2), told(900)], [1_000, 2_000, 8_000])
})
