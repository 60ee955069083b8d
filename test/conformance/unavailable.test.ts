/** The contract on 503: when Parley itself cannot serve. */
import assert from 'node:assert/strict'
import { after, mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { addProject, chatBody, complete, createWorld, until } from '../support/world.ts'
import { clause } from './clause.ts'
import { ask, connectTo, listModels, refused, requestText, stream, type Answer, type ErrorBody } from './client.ts'
import { startCuttable, startGateway } from './second-gateway.ts'

const world = await createWorld()
after(() => world.close())

const valid = chatBody('tokens=2')

function assertUnavailable({ status, headers, body }: Answer<ErrorBody>, name = ''): void {
  assert.equal(status, 503, name)
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d{0,2}$/, name)
  assert.deepEqual(Object.keys(body).toSorted(), ['error', 'message', 'statusCode'], name)
  assert.equal(body.error, 'Service Unavailable', name)
}

clause('order-store-503', async () => {
  const gateway = await startCuttable(world)
  assert.equal((await ask(gateway, valid)).status, 200)
  gateway.relay.cut()
  const answers = await Promise.all([
    refused(gateway, valid),
    refused(gateway, { ...valid, stream: true }),
    refused(gateway, valid, { headers: { 'x-conversation-id': 'a' } }),
  ])
  answers.forEach((answer, n) => assertUnavailable(answer, String(n)))
  gateway.relay.mend()
  await until(async () => (await ask(gateway, valid)).status === 200)
})

clause('order-store-not-401', async () => {
  let passedMs = 0
  const { now } = performance
  mock.method(performance, 'now', () => now.call(performance) + passedMs)
  const gateway = await startCuttable(world)
  const unseen = await addProject(world.store, world.secrets)
  assert.equal((await listModels(gateway)).status, 200)
  gateway.relay.cut()
  const answers = await Promise.all([
    refused(gateway, valid),
    refused(gateway, valid, { project: unseen }),
    listModels(gateway, { project: unseen }),
  ])
  answers.forEach((answer, n) => assertUnavailable(answer, String(n)))
  // Longer than any answer of the store is taken for fresh.
  passedMs += 2_500
  assertUnavailable(await refused(gateway, valid))
  assert.equal((await listModels(gateway)).status, 200, 'who was known a moment ago is believed')
  const forged = { ...world.project.headers, 'x-secret-key': unseen.secretKey }
  assertUnavailable(await listModels(gateway, { headers: forged }), 'and nobody else')
  passedMs += 60_000
  assertUnavailable(await listModels(gateway), 'but not for longer than a minute')
  gateway.relay.mend()
  await until(async () => (await listModels(gateway, { project: unseen })).status === 200)
  assert.equal((await listModels(gateway)).status, 200)
  mock.restoreAll()
})

clause('order-shutdown-503', async () => {
  const gateway = await startGateway(world, { PARLEY_DRAIN_GRACE_MS: '100' })
  const answers = [refused(gateway, chatBody('fault=U5')), refused(gateway, chatBody('fault=U5', { stream: true }))]
  await until(() => world.simulator.openCalls() === 2)
  const stopped = gateway.stop()
  for (const answer of answers) assertUnavailable(await answer)
  await stopped
})

clause('order-shutdown-503', 'also to a request on a connection that is still busy', async () => {
  const gateway = await startGateway(world, { PARLEY_DRAIN_GRACE_MS: '1500' })
  const connection = connectTo(gateway)
  connection.write(requestText(world.project, JSON.stringify(chatBody('tokens=20 gap=30', { stream: true }))))
  await until(() => connection.text.includes('data: '))
  const stopped = gateway.stop()
  await sleep(100)
  // Only the end of the grace ends it.
  connection.write(requestText(world.project, JSON.stringify(chatBody('fault=U5'))))
  await until(() => connection.isClosed)
  await stopped
  const [first = '', second = ''] = connection.text.split(/(?=HTTP\/1\.1 )/)
  assert.match(first, /data: \[DONE\]/)
  assert.match(second, /^HTTP\/1\.1 503 /)
  const [head = '', body = ''] = second.split('\r\n\r\n')
  assert.match(head, /\r\nretry-after: \d+/i)
  assert.match(head, /\r\nx-request-id: \S+/i)
  assert.deepEqual(Object.keys(JSON.parse(body) as object).toSorted(), ['error', 'message', 'statusCode'])
})

/** A gateway for one call at a time, with two of others running: beside one, another project still gets in. */
async function overloaded(act: (gateway: Awaited<ReturnType<typeof startGateway>>) => Promise<void>): Promise<void> {
  const gateway = await startGateway(world, { PARLEY_CALLS_MAX: '1' })
  const hangUp = new AbortController()
  const others = [await addProject(world.store, world.secrets), await addProject(world.store, world.secrets)]
  const running = others.map((project) =>
    assert.rejects(complete(gateway, chatBody('fault=U5'), { project, signal: hangUp.signal })),
  )
  await until(() => world.simulator.openCalls() === 2)
  try {
    await act(gateway)
  } finally {
    hangUp.abort()
    await Promise.all(running)
  }
  await until(async () => (await ask(gateway, valid)).status === 200)
}

clause('order-overload-503', () =>
  overloaded(async (gateway) => {
    assertUnavailable(await refused(gateway, valid), 'JSON')
    const { status } = await stream(gateway, valid)
    assert.equal(status, 503)
    assert.equal((await listModels(gateway)).status, 200)
  }),
)

clause('order-share-429', async () => {
  const gateway = await startGateway(world, { PARLEY_CALLS_MAX: '5' })
  const hangUp = new AbortController()
  const running = assert.rejects(complete(gateway, chatBody('fault=U5'), { signal: hangUp.signal }))
  await until(() => world.simulator.openCalls() === 1)
  const { status, headers } = await refused(gateway, '{')
  assert.equal(status, 429, 'a fifth of the places, and before the body')
  assert.match(headers.get('retry-after') ?? '', /^[1-9]/)
  const neighbour = await addProject(world.store, world.secrets)
  assert.equal((await ask(gateway, valid, { project: neighbour })).status, 200)
  hangUp.abort()
  await running
})

clause('order-rate-429', async () => {
  const gateway = await startGateway(world, { PARLEY_KEY_PAIR_REQUESTS_PER_SECOND: '1' })
  const project = await addProject(world.store, world.secrets)
  const startedMs = performance.now()
  let answer = await refused(gateway, '{', { project })
  let read = 0
  for (; answer.status === 400; read++) answer = await refused(gateway, '{', { project })
  assert.equal(answer.status, 429, 'those that were refused count')
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]/)
  const most = 10 + (performance.now() - startedMs) / 1_000
  assert.ok(read >= 10 && read <= most, `${read} were read, of ${most} that the rate allows`)
})

clause('order-unpaid-403', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  const long = `{${' '.repeat(64 * 1024)}`
  assert.equal((await refused(world, long, { project })).status, 403, 'and not 400: it is not read')
  assert.equal((await refused(world, '{', { project })).status, 400)
  assert.equal((await refused(world, long)).status, 400)
})

clause('order-overload-last', () =>
  overloaded(async (gateway) => {
    const statusOf = async (body: unknown, headers = {}) => (await refused(gateway, body, { headers })).status
    assert.equal(await statusOf('{'), 400)
    assert.equal(await statusOf({ ...valid, model: undefined }), 400)
    assert.equal(await statusOf({ ...valid, temperature: 9 }), 422)
    assert.equal(await statusOf(valid, { 'x-conversation-id': '?' }), 404)
    assert.equal(await statusOf({ ...valid, model: 'nothing' }), 422)
  }),
)
