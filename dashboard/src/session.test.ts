import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueryClient } from '@tanstack/react-query'
import { endSession, meQuery, readMeAgain } from './session.ts'

const nobody = { publishers: [] } as never

test('who is signed in is read again when so wished, however fresh it is', async (t) => {
  const { mock } = t.mock.method(globalThis, 'fetch', () => Promise.resolve(Response.json({ publishers: ['new'] })))
  const client = new QueryClient()
  client.setQueryData(meQuery.queryKey, nobody)
  assert.deepEqual(await readMeAgain(client), { publishers: ['new'] })
  assert.deepEqual(client.getQueryData(meQuery.queryKey), { publishers: ['new'] })
  assert.deepEqual(
    mock.calls.map(({ arguments: [address] }) => address),
    ['/api/me'],
  )
})

test('when a session has ended, its page is left, and then nothing is remembered of what was read', async () => {
  const client = new QueryClient()
  client.setQueryData(meQuery.queryKey, nobody)
  const steps: string[] = []
  const step = (name: string) => async () => {
    steps.push(`${name}, ${client.getQueryCache().getAll().length} remembered`)
  }
  await endSession(client, step('ended'), step('left'))
  assert.deepEqual(steps, ['ended, 1 remembered', 'left, 1 remembered'])
  assert.deepEqual(client.getQueryCache().getAll(), [])
})

test('a session that could not be ended goes on as it was', async () => {
  const client = new QueryClient()
  client.setQueryData(meQuery.queryKey, nobody)
  const refused = () => Promise.reject(new Error('no connection'))
  await assert.rejects(
    endSession(client, refused, () => assert.fail('the page was left')),
    /no connection/,
  )
  assert.deepEqual(client.getQueryData(meQuery.queryKey), nobody)
})
