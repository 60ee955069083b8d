/** The contract's order of checks, row by row, and pairwise where two could be confused. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { after } from 'node:test'
import { refusedPort } from '../../simulator/unreachable.ts'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom } from '../../src/rules/projects/keys.ts'
import { deleteConversation } from '../../src/store/calls/conversations.ts'
import { setKeyPairActive } from '../support/key-pairs.ts'
import { updateProject } from '../../src/store/projects/projects.ts'
import {
  addDeployment,
  addLoneModel,
  addModel,
  addProject,
  addProvider,
  chatBody,
  createWorld,
  credit,
  until,
} from '../support/world.ts'
import { clause } from './clause.ts'
import { addModels, ask, connectTo, listModels, minuteWithRoom, refused, requestText, send, stream } from './client.ts'
import { promptCostOf } from './money.ts'

const world = await createWorld()
after(() => world.close())

const valid = chatBody('tokens=2')
const path = '/v1/chat/completions'
const nobody = keyPairFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), '00')
const wrongKeys = { 'x-publishable-key': nobody.publishable, 'x-secret-key': nobody.secret }
const post = (body: string, headers: Record<string, string>) =>
  send(world, path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
const statusOf = async (...parameters: Parameters<typeof refused> extends [unknown, ...infer Rest] ? Rest : never) =>
  (await refused(world, ...parameters)).status

const penniless = await addProject(world.store, world.secrets, { credits: '0' })
const unverified = await addProject(world.store, world.secrets, { isVerified: false })
const notActivated = await addProject(world.store, world.secrets, { isActivated: false })
await addProvider(world.store, world.secrets, 'refusing', `http://127.0.0.1:${await refusedPort()}/v1`)
await addProvider(world.store, world.secrets, 'locked', `${world.simulator.url}/v1`, { apiKey: 'bad-key' })
await addModel(world.store, { id: 'refused', provider: 'refusing' })
await addModel(world.store, { id: 'locked', provider: 'locked' })
await addModel(world.store, { id: 'two-routes', provider: 'refusing' })
await addDeployment(world.store, { id: 'two-routes', provider: 'simulator', deployment: { position: 1 } })
await addModel(world.store, { id: 'three-routes', provider: 'refusing' })
await addDeployment(world.store, { id: 'three-routes', provider: 'locked', deployment: { position: 1 } })
await addDeployment(world.store, { id: 'three-routes', provider: 'simulator', deployment: { position: 2 } })
await addModels(world, { id: 'impatient', provider: 'simulator', deployment: { firstTokenTimeoutMs: 100 } })
const conversation = { 'x-conversation-id': 'to-be-deleted' }
await ask(world, valid, { headers: conversation })
await until(() => deleteConversation(world.store.db, { projectId: world.project.id, id: 'to-be-deleted' }))

clause('order-path-404', async () => {
  for (const headers of [{}, wrongKeys, unverified.headers, world.project.headers]) {
    assert.equal((await send(world, '/v1/nothing', { headers })).status, 404)
    assert.equal((await send(world, '/v1/nothing', { method: 'POST', headers, body: '{' })).status, 404)
  }
})

clause('order-method-405', async () => {
  for (const headers of [{}, wrongKeys, world.project.headers]) {
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const { status, headers: answered } = await send(world, path, { method, headers })
      assert.deepEqual([status, answered.get('allow')], [405, 'POST'], method)
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const { status, headers: answered } = await send(world, '/v1/models', { method, headers })
      assert.equal(status, 405, method)
      assert.match(answered.get('allow') ?? '', /^GET\b/, method)
    }
  }
})

clause('order-method-405', 'also with a query, and for methods that nobody uses', async () => {
  assert.equal((await send(world, '/v1/models?limit=1', { method: 'POST' })).status, 405)
  assert.equal((await send(world, '/v1/models', { method: 'PROPFIND' })).status, 405)
})

clause('order-keys-401', async () => {
  const { publishableKey, secretKey } = world.project
  const inactive = await addProject(world.store, world.secrets)
  await setKeyPairActive(world.store.db, inactive.publishableKey, false)
  const keys: [publishable: string, secret: string][] = [
    ['', secretKey],
    [publishableKey, ''],
    ['malformed', secretKey],
    [publishableKey, 'malformed'],
    [nobody.publishable, nobody.secret],
    [penniless.publishableKey, secretKey],
    [inactive.publishableKey, inactive.secretKey],
  ]
  for (const [publishable, secret] of keys) {
    const headers = { 'x-publishable-key': publishable, 'x-secret-key': secret }
    assert.equal(await statusOf(valid, { headers }), 401, publishable)
  }
})

clause('order-keys-before-body-read', async () => {
  const connection = connectTo(world)
  const headers = { ...wrongKeys, 'content-length': String(7 * 1024 * 1024) }
  connection.write(requestText({ ...world.project, headers }, ''))
  await until(() => connection.text.includes('\r\n\r\n'))
  connection.destroy()
  assert.match(connection.text, /^HTTP\/1\.1 401 /)
})

clause('order-keys-before-body', async () => {
  const tooLarge = ' '.repeat(8 * 1024 * 1024 + 1)
  for (const headers of [{}, wrongKeys]) {
    assert.equal((await post('{', headers)).status, 401)
    assert.equal((await post('{}', headers)).status, 401)
    assert.equal((await post(JSON.stringify({ ...valid, temperature: 9 }), headers)).status, 401)
    assert.equal((await post('x', { ...headers, 'content-type': 'text/plain' })).status, 401)
    assert.equal((await post(JSON.stringify(valid), { ...headers, 'x-conversation-id': '?' })).status, 401)
  }
  const connection = connectTo(world)
  connection.write(requestText({ ...world.project, headers: wrongKeys }, tooLarge))
  await until(() => connection.text.includes('\r\n\r\n'))
  connection.destroy()
  assert.match(connection.text, /^HTTP\/1\.1 401 /)
})

clause('order-keys-before-account', async () => {
  const project = await addProject(world.store, world.secrets, { isVerified: false, isActivated: false })
  await setKeyPairActive(world.store.db, project.publishableKey, false)
  assert.equal(await statusOf(valid, { project }), 401)
  assert.equal((await listModels(world, { project })).status, 401)
  const headers = { 'x-secret-key': nobody.secret }
  assert.equal(await statusOf(valid, { project: unverified, headers }), 401)
})

clause('order-account-403', async () => {
  assert.equal(await statusOf(valid, { project: notActivated }), 403)
  assert.equal((await listModels(world, { project: notActivated })).status, 403)
})

clause('order-domain-403', async () => {
  assert.equal(await statusOf(valid, { project: unverified }), 403)
  assert.equal((await listModels(world, { project: unverified })).status, 403)
})

clause('order-account-before-body', async () => {
  for (const project of [unverified, notActivated]) {
    assert.equal(await statusOf('{', { project }), 403)
    assert.equal(await statusOf({ ...valid, temperature: 9 }, { project }), 403)
    assert.equal(await statusOf('x', { project, headers: { 'content-type': 'text/plain' } }), 403)
    assert.equal(await statusOf({ ...valid, model: 'nothing' }, { project }), 403)
    assert.equal(await statusOf(valid, { project, headers: { 'x-conversation-id': '?' } }), 403)
  }
})

clause('order-content-type-415', async () => {
  const body = JSON.stringify(valid)
  for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/xml', 'application/problem+json']) {
    assert.equal((await post(body, { ...world.project.headers, 'content-type': type })).status, 415, type)
  }
})

clause('order-size-413', async () => {
  const body = JSON.stringify(valid)
  const most = 8 * 1024 * 1024
  assert.equal(await statusOf(body.padEnd(most)), 200, 'exactly 8 MiB is not over it')
  assert.equal(await statusOf(body.padEnd(most + 1)), 413)
})

clause('order-size-413', 'also of a body that does not say its length', async () => {
  const url = new URL(path, world.url)
  const headers = { 'content-type': 'application/json', ...world.project.headers, 'transfer-encoding': 'chunked' }
  const status = await new Promise<number>((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on('error', reject)
    // Not ended: a server that waits for the end of a body without limit never answers.
    request.write(' '.repeat(8 * 1024 * 1024 + 1))
  })
  assert.equal(status, 413)
})

clause('order-type-before-size', async () => {
  const connection = connectTo(world)
  const tooLarge = String(9 * 1024 * 1024)
  connection.write(requestText(world.project, '', { 'content-type': 'text/plain', 'content-length': tooLarge }))
  await until(() => connection.text.includes('\r\n\r\n'))
  connection.destroy()
  assert.match(connection.text, /^HTTP\/1\.1 415 /)
})

clause('order-size-before-json', async () => assert.equal(await statusOf('{'.padEnd(8 * 1024 * 1024 + 1)), 413))

clause('order-json-400', async () => {
  for (const body of ['', '{', '{"model":', 'model=sim-small', 'NaN']) assert.equal(await statusOf(body), 400, body)
})

clause('order-object-400', async () => {
  for (const body of ['[]', 'null', '"text"', '7', 'true', JSON.stringify([valid])]) {
    assert.equal(await statusOf(body), 400, body)
  }
})

clause('order-model-400', async () => {
  for (const model of [undefined, null, '', 7, [], {}]) {
    assert.equal(await statusOf({ ...valid, model }), 400, JSON.stringify(model))
  }
})

clause('order-messages-400', async () => {
  for (const messages of [undefined, null, [], {}, 'Hello', 7]) {
    assert.equal(await statusOf({ ...valid, messages }), 400, JSON.stringify(messages))
  }
})

clause('order-role-422', async () => {
  for (const role of [undefined, null, 'robot', 1]) {
    assert.equal(await statusOf({ ...valid, messages: [{ role, content: 'Hello' }] }), 422, JSON.stringify(role))
  }
})

clause('order-content-422', async () => {
  for (const content of [undefined, null, 7, {}, [], [7]]) {
    assert.equal(await statusOf({ ...valid, messages: [{ role: 'user', content }] }), 422, JSON.stringify(content))
  }
})

clause('order-temperature-422', async () => {
  for (const temperature of [-0.1, 2.1, '1', true]) assert.equal(await statusOf({ ...valid, temperature }), 422)
})

clause('order-top-p-422', async () => {
  for (const top_p of [0, 0.5, 1]) assert.equal(await statusOf({ ...valid, top_p }), 200, String(top_p))
  for (const top_p of [-0.1, 1.1, '1']) assert.equal(await statusOf({ ...valid, top_p }), 422, String(top_p))
})

clause('order-max-tokens-422', async () => {
  for (const max_tokens of [1, 10]) assert.equal(await statusOf({ ...valid, max_tokens }), 200)
  for (const max_tokens of [0, -1, 1.5, '1', true]) assert.equal(await statusOf({ ...valid, max_tokens }), 422)
})

clause('order-stream-422', async () => {
  for (const value of ['true', 1, {}]) assert.equal(await statusOf({ ...valid, stream: value }), 422)
})

clause('order-400-before-422', async () => {
  const invalid = { temperature: 9, top_p: 9, max_tokens: 0, stream: 'yes', n: 2 }
  assert.equal(await statusOf({ ...invalid, messages: valid.messages }), 400)
  assert.equal(await statusOf({ ...invalid, model: 'sim-small' }), 400)
  assert.equal(await statusOf({ ...invalid, model: 'sim-small', messages: [] }), 400)
  assert.equal(await statusOf({ messages: [{ role: 'robot' }] }), 400)
})

clause('order-body-before-conversation', async () => {
  for (const headers of [{ 'x-conversation-id': '?' }, conversation]) {
    assert.equal(await statusOf('{', { headers }), 400)
    assert.equal(await statusOf({ ...valid, model: '' }, { headers }), 400)
    assert.equal(await statusOf({ ...valid, temperature: 9 }, { headers }), 422)
    assert.equal(await statusOf('x', { headers: { ...headers, 'content-type': 'text/plain' } }), 415)
  }
})

clause('order-conversation-404-shape', async () => {
  const shaped = (id: string) => statusOf(valid, { headers: { 'x-conversation-id': id } })
  for (const id of ['a', 'A-Z.a_z:0-9', 'x'.repeat(128)]) assert.equal(await shaped(id), 200, id)
  for (const id of ['', 'x'.repeat(129), 'a b', 'a/b', 'a,b', 'é', '{id}', 'a\tb', "a'b"]) {
    assert.equal(await shaped(id), 404, id)
  }
})

clause('order-conversation-404-deleted', async () =>
  assert.equal(await statusOf(valid, { headers: conversation }), 404),
)

clause('order-conversation-before-model', async () => {
  for (const headers of [{ 'x-conversation-id': '?' }, conversation]) {
    assert.equal(await statusOf({ ...valid, model: 'nothing' }, { headers }), 404)
  }
})

clause('order-model-422', async () => {
  for (const model of ['nothing', 'sim', 'SIM-SMALL', 'sim-small ', '__proto__']) {
    assert.equal(await statusOf({ ...valid, model }), 422, model)
  }
})

clause('order-model-422', 'also of a model that only other projects may use', async () => {
  const project = await addProject(world.store, world.secrets)
  await updateProject(world.store.db, project.id, { allowed_models: ['another'] })
  assert.deepEqual((await listModels(world, { project })).body.data, [])
  assert.equal(await statusOf(valid, { project }), 422)
})

clause('order-window-422', async () => {
  await addModels(world, { id: 'narrow', provider: 'simulator', contextWindow: 1_000 })
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  const before = world.simulator.calls.length
  // A body over 64 KiB is not read for an empty wallet.
  const almostPoor = await addProject(world.store, world.secrets, { credits: '0.000000001' })
  for (const words of [1_001, 10_000, 30_000, 400_000]) {
    const messages = [{ role: 'user', content: ' word'.repeat(words) }]
    const who = { project: words > 10_000 ? almostPoor : project }
    assert.equal(await statusOf({ ...valid, model: 'narrow', messages }, who), 422, `${words} tokens`)
  }
  assert.equal(world.simulator.calls.length, before)
  const fitting = [{ role: 'user', content: ' word'.repeat(900) }]
  assert.equal(await statusOf({ ...valid, model: 'narrow', messages: fitting }, { project }), 403, 'then the wallet')
  assert.equal(await statusOf({ ...valid, model: 'narrow', messages: fitting }), 200)
})

/** A project that has used up its only request of this minute. */
async function rateLimited(credits: bigint) {
  await minuteWithRoom(5)
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  await credit(world.store, project.id, credits)
  await updateProject(world.store.db, project.id, { requests_per_minute: 1 })
  assert.equal(await statusOf(valid, { project }), 200)
  return project
}

clause('order-model-before-limits', async () => {
  const project = await rateLimited(1_000_000_000n)
  assert.equal(await statusOf({ ...valid, model: 'nothing' }, { project }), 422)
  assert.equal(await statusOf(valid, { project }), 429)
})

clause('order-model-before-wallet', async () => {
  assert.equal(await statusOf({ ...valid, model: 'nothing' }, { project: penniless }), 422)
  assert.equal(await statusOf(valid, { project: penniless }), 403)
})

clause('order-requests-429', async () => {
  const project = await rateLimited(1_000_000_000n)
  for (const stream of [false, true]) {
    const { status, headers } = await refused(world, { ...valid, stream }, { project })
    assert.equal(status, 429)
    assertSeconds(headers.get('retry-after'), 60)
  }
})

clause('order-tokens-429', async () => {
  await minuteWithRoom(5)
  const project = await addProject(world.store, world.secrets)
  await updateProject(world.store.db, project.id, { tokens_per_minute: 20n })
  assert.equal(await statusOf(chatBody('tokens=20'), { project }), 200)
  const { status, headers } = await refused(world, valid, { project })
  assert.equal(status, 429)
  assertSeconds(headers.get('retry-after'), 60)
})

clause('order-concurrency-429', async () => {
  const project = await addProject(world.store, world.secrets)
  await updateProject(world.store.db, project.id, { concurrent_calls: 1 })
  const hangUp = new AbortController()
  const running = ask(world, chatBody('fault=U5'), { project, signal: hangUp.signal })
  await until(() => world.simulator.openCalls() === 1)
  const { status, headers } = await refused(world, valid, { project })
  assert.equal(status, 429)
  assertSeconds(headers.get('retry-after'), 60)
  hangUp.abort()
  await assert.rejects(running)
  await until(async () => (await statusOf(valid, { project })) === 200)
})

clause('order-limits-before-wallet', async () => {
  const project = await rateLimited(promptCostOf(valid) + 8_000n)
  assert.equal(await statusOf(valid, { project }), 429, 'not 403, although the wallet is now empty')
})

clause('order-wallet-403', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  await credit(world.store, project.id, promptCostOf(valid) + 3_999n)
  const calls = world.simulator.calls.length
  assert.equal(await statusOf(valid, { project }), 403)
  assert.equal(await statusOf({ ...valid, max_tokens: 1 }, { project }), 403)
  assert.equal(world.simulator.calls.length, calls)
})

clause('order-wallet-least', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  await credit(world.store, project.id, promptCostOf(valid) + 4_000n)
  const { status, body } = await ask(world, valid, { project })
  assert.equal(status, 200)
  assert.equal(body.usage.completion_tokens, 1)
})

clause('order-wallet-held-403', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  await credit(world.store, project.id, promptCostOf(valid) * 3n)
  const hangUp = new AbortController()
  const running = ask(world, chatBody('fault=U5'), { project, signal: hangUp.signal })
  await until(() => world.simulator.openCalls() === 1)
  const held = await refused(world, valid, { project })
  assert.equal(held.status, 403)
  assertSeconds(held.headers.get('retry-after'), 60)
  hangUp.abort()
  await assert.rejects(running)
  const insufficient = await refused(world, valid, { project: penniless })
  assert.equal(insufficient.headers.get('retry-after'), null)
  assert.notEqual(held.body.message, insufficient.body.message)
  await until(async () => (await statusOf(valid, { project })) === 200)
})

clause('order-wallet-before-upstream', async () => {
  const calls = world.simulator.calls.length
  assert.equal(await statusOf(chatBody('fault=U11-500'), { project: penniless }), 403)
  assert.equal(world.simulator.calls.length, calls)
})

clause('order-upstream-502', async () => {
  const faults = ['U11-500', 'U11-502', 'U12-json', 'U12-sse', 'U16-gzip', 'U17-status', 'U18']
  for (const fault of faults) {
    for (const stream of [false, true]) {
      const model = await addLoneModel(world)
      assert.equal(await statusOf(chatBody(`fault=${fault}`, { model, stream })), 502, `${fault} ${String(stream)}`)
    }
  }
  for (const model of ['refused', 'locked']) assert.equal(await statusOf({ ...valid, model }), 502, model)
  assert.equal(await statusOf(chatBody('fault=U5', { model: 'impatient' })), 502)
})

clause('order-rate-limited-503', async () => {
  for (const stream of [false, true]) {
    const model = await addLoneModel(world)
    const { status, headers, body } = await refused(world, chatBody('fault=U10', { model, stream }), {
      headers: { 'x-error-format': 'openai' },
    })
    assert.deepEqual([status, (body.error as unknown as { code: string }).code], [503, 'provider_rate_limited'])
    assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  }
})

clause('order-upstream-next-route', async () => {
  assert.equal(await statusOf({ ...valid, model: 'two-routes' }), 200)
  const { status, chunks } = await stream(world, { ...valid, model: 'two-routes' })
  assert.equal(status, 200)
  assert.equal(chunks[0]?.model, 'two-routes')
})

clause('order-upstream-502', 'only when every route failed, also of a model with three', async () => {
  assert.equal(await statusOf({ ...valid, model: 'three-routes' }), 200)
})

clause('order-models-checks', async () => {
  const project = await rateLimited(promptCostOf(valid) + 8_000n)
  const headers = { 'x-conversation-id': '?', 'content-type': 'text/plain' }
  assert.equal((await listModels(world, { project, headers })).status, 200)
  assert.equal((await send(world, '/v1/models', { method: 'PUT' })).status, 405)
  assert.equal((await send(world, '/v1/models')).status, 401)
  for (const refusing of [unverified, notActivated]) {
    assert.equal((await listModels(world, { project: refusing })).status, 403)
  }
})

function assertSeconds(value: string | null, most: number): void {
  assert.match(value ?? '', /^\d+$/)
  assert.ok(Number(value) >= 1 && Number(value) <= most, String(value))
}
