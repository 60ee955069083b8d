import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueryClient } from '@tanstack/react-query'
import { endSession, meQuery, placeOf, readMeAgain, type Me } from './session.ts'

const nobody = { publishers: [], advertisers: [] } as never

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

test('a page is about what its address names, then about what was looked at last, then about what there is', (t) => {
  const publisher = (id: string, ...projects: string[]) => ({ id, projects: projects.map((name) => ({ id: name })) })
  const publishers = [publisher('empty'), publisher('a', 'a1', 'a2'), publisher('b', 'b1')]
  const me = { publishers, advertisers: [] } as unknown as Me
  let last: string | null = null
  Object.assign(globalThis, { localStorage: { getItem: () => last } })
  t.after(() => Reflect.deleteProperty(globalThis, 'localStorage'))
  const place = (params: { project?: string; publisher?: string }) => {
    const { publisher: owner, project } = placeOf(me, params)
    return [owner?.id, project?.id]
  }
  assert.deepEqual(place({}), ['a', 'a1'])
  assert.deepEqual(place({ project: 'b1' }), ['b', 'b1'])
  last = 'a2'
  assert.deepEqual(place({}), ['a', 'a2'])
  assert.deepEqual(place({ project: 'b1' }), ['b', 'b1'])
  assert.deepEqual(place({ publisher: 'b' }), ['b', 'b1'])
  assert.deepEqual(place({ publisher: 'empty' }), ['empty', undefined])
})

test('a sandbox is opened by itself only where there is nothing else', (t) => {
  Object.assign(globalThis, { localStorage: { getItem: () => null } })
  t.after(() => Reflect.deleteProperty(globalThis, 'localStorage'))
  const opened = (...projects: { id: string; isSandbox: boolean }[]) =>
    placeOf({ publishers: [{ id: 'a', projects }], advertisers: [] } as unknown as Me, {}).project?.id
  const sandbox = { id: 'sandbox', isSandbox: true }
  assert.equal(opened(sandbox), 'sandbox')
  assert.equal(opened(sandbox, { id: 'site', isSandbox: false }), 'site')
})
