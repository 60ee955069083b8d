/** The specification's part 5, and what the contract says of 401. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, mock } from 'node:test'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom } from '../../src/rules/projects/keys.ts'
import { setKeyPairActive } from '../support/key-pairs.ts'
import { listConversations, listMessages } from '../../src/store/calls/conversations.ts'
import { addKeyPair, addProject, chatBody, createWorld, until, walletOf, type TestProject } from '../support/world.ts'
import { clause } from './clause.ts'
import { ask, chargesOf, connectTo, listModels, refused, requestText, send, stream, type Answer } from './client.ts'

const world = await createWorld()
after(() => world.close())

const valid = chatBody('tokens=2')
const { publishableKey, secretKey } = world.project
const stranger = await addProject(world.store, world.secrets)

/** Both endpoints with exactly these key headers. */
async function bothWith(keys: { publishable?: string; secret?: string }): Promise<Answer<{ message: string }>[]> {
  const headers = {
    ...(keys.publishable === undefined ? {} : { 'x-publishable-key': keys.publishable }),
    ...(keys.secret === undefined ? {} : { 'x-secret-key': keys.secret }),
  }
  const post = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
  return [
    await send(world, '/v1/chat/completions', { ...post, body: JSON.stringify(valid) }),
    await send(world, '/v1/models', { headers }),
  ]
}
const statusesWith = async (keys: { publishable?: string; secret?: string }) =>
  (await bothWith(keys)).map(({ status }) => status)
const unknownPair = () => {
  const { publishable, secret } = keyPairFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), '00')
  return { publishable, secret }
}

const malformed = ['x', 'undefined', publishableKey.slice(0, -1), `${publishableKey}x`, ` ${publishableKey} y`, 'é']

clause('5-both-keys', async () => {
  assert.deepEqual(await statusesWith({ publishable: publishableKey, secret: secretKey }), [200, 200])
  assert.deepEqual(await statusesWith({}), [401, 401])
})

clause('5-both-keys', 'in headers, not in the address', async () => {
  const path = `/v1/models?x-publishable-key=${publishableKey}&x-secret-key=${secretKey}`
  assert.equal((await send(world, path)).status, 401)
})

clause('5-publishable-required', async () => assert.deepEqual(await statusesWith({ secret: secretKey }), [401, 401]))

clause('5-publishable-identifies', async () => {
  const [one, two] = [await addProject(world.store, world.secrets), await addProject(world.store, world.secrets)]
  const before = await walletOf(world.store, two.id)
  assert.equal((await ask(world, valid, { project: one })).status, 200)
  assert.equal((await chargesOf(world, one.id, 1)).length, 1)
  assert.deepEqual(await walletOf(world.store, two.id), before)
})

clause('5-publishable-public', async () => {
  for (const secret of [publishableKey, '', 'null']) {
    assert.deepEqual(await statusesWith({ publishable: publishableKey, secret }), [401, 401])
  }
})

clause('5-secret-required', async () =>
  assert.deepEqual(await statusesWith({ publishable: publishableKey }), [401, 401]),
)

clause('5-secret-authenticates', async () => {
  assert.deepEqual(await statusesWith({ publishable: publishableKey, secret: unknownPair().secret }), [401, 401])
  assert.deepEqual(await statusesWith({ publishable: publishableKey, secret: secretKey }), [200, 200])
})

clause('5-secret-not-in-logs', async () => {
  const before = world.logs.length
  await ask(world, valid)
  await stream(world, chatBody('fault=U14-rst'))
  await refused(world, '{', { headers: { 'x-conversation-id': secretKey } })
  await refused(world, { ...valid, model: secretKey })
  await send(world, `/v1/${secretKey}?key=${secretKey}`, { headers: world.project.headers })
  await refused(world, valid, { headers: { 'x-publishable-key': secretKey, 'x-secret-key': publishableKey } })
  const mistyped = `${secretKey.slice(0, -1)}-`
  await refused(world, valid, { headers: { 'x-secret-key': mistyped } })
  await until(() => world.logs.length >= before + 7)
  const logs = world.logs.join('')
  for (const key of [secretKey, secretKey.slice(9, -6)]) assert.ok(!logs.includes(key), 'the secret key was logged')
})

clause('5-secret-not-in-logs', 'nor is it sent to the provider', async () => {
  await ask(world, valid)
  const call = world.simulator.calls.at(-1)
  assert.ok(!JSON.stringify(call).includes(secretKey))
  assert.notEqual(call?.authorization, undefined, 'the provider gets a key of its own')
})

clause('5-conversation-optional', async () => {
  const project = await addProject(world.store, world.secrets)
  assert.equal((await ask(world, valid, { project })).status, 200)
  await chargesOf(world, project.id, 1)
  assert.deepEqual(await listConversations(world.store.db, project.id, 10), [])
})

clause('5-conversation-uuid', async () => {
  const headers = { 'x-conversation-id': '7f1c0c5e-6a52-4b7e-9d0b-0a2f6f4a1b11' }
  assert.equal((await ask(world, valid, { headers })).status, 200)
})

clause('5-conversation-groups', async () => {
  const headers = { 'x-conversation-id': 'grouped' }
  for (const content of ['One [[sim tokens=2]]', 'Two [[sim tokens=2]]']) {
    await ask(world, { ...valid, messages: [{ role: 'user', content }] }, { headers })
  }
  const key = { projectId: world.project.id, id: 'grouped' }
  await until(async () => (await listMessages(world.store.db, key, 10)).length === 4)
  const said = (await listMessages(world.store.db, key, 10)).map((message) => message.role)
  assert.deepEqual(said, ['user', 'assistant', 'user', 'assistant'])
})

clause('5-missing-401', async () => {
  for (const keys of [{}, { secret: secretKey }, { publishable: publishableKey }, { publishable: '', secret: '' }]) {
    assert.deepEqual(await statusesWith(keys), [401, 401], JSON.stringify(Object.keys(keys)))
  }
})

clause('5-invalid-401', async () => {
  assert.deepEqual(await statusesWith(unknownPair()), [401, 401])
  for (const key of malformed) {
    assert.deepEqual(await statusesWith({ publishable: key, secret: secretKey }), [401, 401], key)
    assert.deepEqual(await statusesWith({ publishable: publishableKey, secret: key }), [401, 401], key)
  }
  assert.deepEqual(await statusesWith({ publishable: secretKey, secret: publishableKey }), [401, 401])
})

clause('5-invalid-401', 'also a key sent twice', async () => {
  const connection = connectTo(world)
  const extra = { 'X-Secret-Key': unknownPair().secret, connection: 'close' }
  connection.write(requestText(world.project, JSON.stringify(valid), extra))
  await until(() => connection.isClosed)
  assert.match(connection.text, /^HTTP\/1\.1 401 /)
})

clause('5-mismatched-401', async () => {
  const other = await addKeyPair(world.store, world.secrets, world.project.id)
  for (const { publishableKey: publishable, secretKey: secret } of [stranger, other]) {
    assert.deepEqual(await statusesWith({ publishable, secret: secretKey }), [401, 401])
    assert.deepEqual(await statusesWith({ publishable: publishableKey, secret }), [401, 401])
  }
})

clause('5-inactive-401', async () => {
  const project = await inactiveProject()
  assert.deepEqual(await statusesWith({ publishable: project.publishableKey, secret: project.secretKey }), [401, 401])
})

clause('5-inactive-401', 'also once it has expired, to the millisecond, however lately it was looked up', async () => {
  const project = await addProject(world.store, world.secrets)
  const expiring = (at: Date) =>
    world.store.db
      .updateTable('key_pairs')
      .set({ expires_at: at })
      .where('publishable_key', '=', project.publishableKey)
      .execute()
  const keys = { publishable: project.publishableKey, secret: project.secretKey }
  const expiresMs = Date.now() + 3_600_000
  await expiring(new Date(expiresMs))
  assert.deepEqual(await statusesWith(keys), [200, 200])
  const modelsAt = async (nowMs: number) => {
    mock.timers.enable({ apis: ['Date'], now: nowMs })
    try {
      return (await listModels(world, { project })).status
    } finally {
      mock.timers.reset()
    }
  }
  assert.deepEqual([await modelsAt(expiresMs - 1), await modelsAt(expiresMs)], [200, 401])
  await expiring(new Date(Date.now() - 1))
  assert.equal((await ask(world, valid, { project })).status, 401, 'a hold asks the store, whatever is remembered')
})

clause('5-unverified-403', async () => {
  const project = await addProject(world.store, world.secrets, { isVerified: false })
  assert.deepEqual(await statusesWith({ publishable: project.publishableKey, secret: project.secretKey }), [403, 403])
})

clause('5-credit-403', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  assert.deepEqual(await statusesWith({ publishable: project.publishableKey, secret: project.secretKey }), [403, 200])
})

clause('5-new-pair', async () => {
  const project = await addProject(world.store, world.secrets)
  const replacement = { ...project, ...(await addKeyPair(world.store, world.secrets, project.id)) }
  await setKeyPairActive(world.store.db, project.publishableKey, false)
  assert.equal((await ask(world, valid, { project })).status, 401)
  assert.equal((await ask(world, valid, { project: replacement })).status, 200)
  assert.equal((await listModels(world, { project: replacement })).status, 200)
})

clause('order-401-alike', async () => {
  const cases = [
    unknownPair(),
    { publishable: publishableKey, secret: unknownPair().secret },
    { publishable: unknownPair().publishable, secret: secretKey },
    { publishable: publishableKey, secret: stranger.secretKey },
    { publishable: publishableKey, secret: 'malformed' },
    { publishable: 'malformed', secret: secretKey },
    { publishable: secretKey, secret: publishableKey },
  ]
  const seen = new Set<string>()
  for (const keys of cases) for (const answer of await bothWith(keys)) seen.add(looksLike(answer))
  assert.equal(seen.size, 1, [...seen].join('\n'))
})

clause('order-401-missing', async () => {
  const cases = [
    {},
    { publishable: publishableKey },
    { publishable: unknownPair().publishable },
    { publishable: 'malformed' },
    { secret: secretKey },
    { secret: 'malformed' },
  ]
  const seen = new Set<string>()
  for (const keys of cases) for (const answer of await bothWith(keys)) seen.add(looksLike(answer))
  assert.equal(seen.size, 1, [...seen].join('\n'))
  const [invalid] = await bothWith(unknownPair())
  assert.ok(invalid && !seen.has(looksLike(invalid)), 'missing is said, and only that')
})

clause('order-401-same-time', async () => {
  const times = { unknown: [] as number[], mismatched: [] as number[] }
  for (let n = 0; n < 30; n++) {
    const existing = await addKeyPair(world.store, world.secrets, world.project.id)
    const unknown = unknownPair()
    // Twice each: the first time nothing is cached, the second time everything may be.
    for (let repeat = 0; repeat < 2; repeat++) {
      times.mismatched.push(await timeOf(existing.publishableKey, unknown.secret))
      times.unknown.push(await timeOf(unknown.publishable, unknown.secret))
    }
  }
  const [unknownMs, mismatchedMs] = [median(times.unknown), median(times.mismatched)]
  // Wide enough for a busy machine; a slow hash for existing keys only, or a retry for missing ones, is far outside.
  assert.ok(Math.abs(unknownMs - mismatchedMs) < 3, `unknown ${unknownMs} ms, mismatched ${mismatchedMs} ms`)
})

clause('order-bearer-pair', async () => {
  const statusWith = async (headers: Record<string, string>) => (await send(world, '/v1/models', { headers })).status
  const bearer = { authorization: `Bearer ${publishableKey}:${secretKey}` }
  assert.equal(await statusWith(bearer), 200)
  assert.equal(await statusWith({ authorization: `bearer ${publishableKey}:${secretKey}` }), 200)
  const { publishable, secret } = unknownPair()
  for (const wrong of [
    { authorization: `Bearer ${publishableKey}:${secret}` },
    { authorization: `Bearer ${publishable}:${secretKey}` },
    { authorization: `Bearer ${secretKey}` },
    { authorization: `Bearer ${publishableKey}:` },
    { authorization: `Basic ${publishableKey}:${secretKey}` },
    { ...bearer, 'x-publishable-key': publishableKey },
    { ...bearer, 'x-secret-key': secretKey },
    { ...bearer, 'x-publishable-key': publishable, 'x-secret-key': secret },
  ])
    assert.equal(await statusWith(wrong), 401, JSON.stringify(Object.keys(wrong)))
})

clause('order-bearer-pair', 'and nobody can keep a gateway busy with one', async () => {
  const { performance: clock } = globalThis
  const busyMs = async (authorization: string) => {
    const before = clock.eventLoopUtilization()
    assert.equal((await send(world, '/v1/models', { headers: { authorization } })).status, 401)
    return clock.eventLoopUtilization(before).active
  }
  // A pattern that tries every way to divide the blanks takes half a second for these.
  for (const filling of [' ', ':', 'a']) assert.ok((await busyMs(`Bearer ${filling.repeat(15_000)}x`)) < 200, filling)
})

clause('order-401-inactive-proven', async () => {
  const project = await inactiveProject()
  const [proven] = await bothWith({ publishable: project.publishableKey, secret: project.secretKey })
  const [guessed] = await bothWith({ publishable: project.publishableKey, secret: unknownPair().secret })
  const [unknown] = await bothWith(unknownPair())
  assert.ok(proven && guessed && unknown)
  assert.match(proven.body.message, /inactive/)
  assert.equal(looksLike(guessed), looksLike(unknown))
  assert.notEqual(looksLike(proven), looksLike(unknown))
})

async function inactiveProject(): Promise<TestProject> {
  const project = await addProject(world.store, world.secrets)
  await setKeyPairActive(world.store.db, project.publishableKey, false)
  return project
}

/** Everything of an answer that a caller can compare, but for what differs on every response. */
function looksLike({ status, headers, text }: Answer<unknown>): string {
  const stable = [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date')
  return JSON.stringify({ status, stable, text })
}

async function timeOf(publishable: string, secret: string): Promise<number> {
  const startedMs = performance.now()
  const { status } = await send(world, '/v1/models', {
    headers: { 'x-publishable-key': publishable, 'x-secret-key': secret },
  })
  assert.equal(status, 401)
  return performance.now() - startedMs
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
