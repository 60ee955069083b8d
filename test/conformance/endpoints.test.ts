/** The specification's parts 4, 6 and 9: the two endpoints, the event stream, and the version in the path. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { setModelEnabled } from '../../src/store/catalogue/models.ts'
import { chatBody, createWorld, until } from '../support/world.ts'
import { clause } from './clause.ts'
import { addModels, ask, connectTo, contentOf, listModels, refused, requestText, send, stream } from './client.ts'
import type { ChunkBody } from './client.ts'

const world = await createWorld()
after(() => world.close())

const valid = chatBody('tokens=5')
const json = { 'content-type': 'application/json' }
const streamed = await stream(world, valid)
const models = await listModels(world)
const withoutKeys = (path: string, init: Parameters<typeof send>[2] = {}) => send(world, path, init)

clause('4-content-type', async () => {
  for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON']) {
    assert.equal((await ask(world, valid, { headers: { 'content-type': type } })).status, 200, type)
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/json', 'application/jsonlines']) {
    assert.equal((await ask(world, valid, { headers: { 'content-type': type } })).status, 415, type)
  }
})

clause('4-authenticated', async () => {
  const body = JSON.stringify(valid)
  assert.equal((await withoutKeys('/v1/chat/completions', { method: 'POST', headers: json, body })).status, 401)
  assert.equal((await withoutKeys('/v1/models')).status, 401)
})

clause('4.1-creates', async () => {
  const { status, body } = await ask(world, {
    model: 'sim-small',
    messages: [{ role: 'user', content: 'Hello [[sim text=Good%20morning]]' }],
    stream: false,
    temperature: 1,
    max_tokens: 100,
    top_p: 1,
  })
  assert.equal(status, 200)
  assert.equal(body.choices[0]?.message.content, 'Good morning')
})

clause('4.1-required-headers', async () => {
  assert.equal((await ask(world, valid, { headers: { 'x-conversation-id': 'a-conversation' } })).status, 200)
  assert.equal((await ask(world, valid)).status, 200)
  for (const name of ['x-publishable-key', 'x-secret-key']) {
    const headers = Object.fromEntries(Object.entries(world.project.headers).filter(([key]) => key !== name))
    const init = { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(valid) }
    assert.equal((await send(world, '/v1/chat/completions', init)).status, 401, name)
  }
})

clause('4.1-json-when-false', async () => {
  const { status, headers, body } = await ask(world, { ...valid, stream: false })
  assert.equal(status, 200)
  assert.match(headers.get('content-type') ?? '', /^application\/json\b/)
  assert.equal(body.object, 'chat.completion')
})

clause('4.1-json-when-omitted', async () => {
  const { status, headers, body } = await ask(world, valid)
  assert.equal(status, 200)
  assert.match(headers.get('content-type') ?? '', /^application\/json\b/)
  assert.equal(body.object, 'chat.completion')
})

clause('4.1-sse-when-true', () => {
  assert.equal(streamed.status, 200)
  assert.match(streamed.headers.get('content-type') ?? '', /^text\/event-stream\b/)
})

clause('4.1-event-lines', () => {
  const blocks = streamed.text.split('\n\n')
  assert.equal(blocks.pop(), '', 'the last event is followed by a blank line too')
  assert.ok(blocks.length > 6)
  for (const block of blocks) assert.match(block, /^data: (\{[^\n]*\}|\[DONE\])$/)
})

clause('4.1-done', () => {
  assert.ok(streamed.text.endsWith('\n\ndata: [DONE]\n\n'), streamed.text.slice(-100))
  assert.equal(streamed.events.filter((data) => data === '[DONE]').length, 1)
})

clause('4.2-lists', async () => {
  for (const { id } of models.body.data) assert.equal((await ask(world, { ...valid, model: id })).status, 200)
  assert.ok(models.body.data.length > 0)
})

clause('4.2-headers', async () => {
  assert.equal((await send(world, '/v1/models', { headers: world.project.headers })).status, 200)
})

clause('4.2-no-body', async () => {
  const connection = connectTo(world)
  const lines = Object.entries({ host: 'parley.test', ...world.project.headers }).map(([n, value]) => `${n}: ${value}`)
  connection.write(`GET /v1/models HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  await until(() => connection.text.includes('"object":"list"'))
  connection.destroy()
  assert.match(connection.text, /^HTTP\/1\.1 200 OK\r\n/)
})

clause('4.2-status-200', () => {
  assert.equal(models.status, 200)
  assert.match(models.headers.get('content-type') ?? '', /^application\/json\b/)
  assert.deepEqual(Object.keys(models.body).toSorted(), ['data', 'object'])
})

clause('4.2-cached', () => assert.match(models.headers.get('cache-control') ?? '', /\bmax-age=600\b/))

clause('4.3-unknown-404', async () => {
  const paths = ['/', '/v1', '/v1/', '/v1/chat', '/v1/completions', '/v1/conversations/a']
  for (const path of [...paths, '/v1/models/', '/v1/chat/completions/', '/v1/Models', '//v1/models', '/favicon.ico']) {
    for (const method of ['GET', 'POST']) {
      assert.equal((await send(world, path, { method, headers: world.project.headers })).status, 404, method + path)
    }
  }
})

clause('6-one-mechanism', async () => {
  const accepting = await ask(world, valid, { headers: { accept: 'text/event-stream' } })
  assert.match(accepting.headers.get('content-type') ?? '', /^application\/json\b/, 'only `stream` chooses')
  const list = await listModels(world, { headers: { accept: 'text/event-stream' } })
  assert.match(list.headers.get('content-type') ?? '', /^application\/json\b/)
})

clause('6-data-lines', () => {
  const lines = streamed.text.split('\n').filter((line) => line !== '')
  assert.equal(lines.at(-1), 'data: [DONE]')
  assert.ok(lines.length > 3)
  for (const line of lines.slice(0, -1)) {
    assert.ok(line.startsWith('data: '), line)
    assert.equal((JSON.parse(line.slice('data: '.length)) as ChunkBody).object, 'chat.completion.chunk')
  }
})

clause('6-first-role', () => assert.equal(streamed.chunks[0]?.choices[0]?.delta.role, 'assistant'))

clause('6-later-content', async () => {
  const { chunks } = await stream(world, chatBody('echo'))
  assert.equal(contentOf(chunks), 'Hello [[sim echo]]')
  for (const chunk of chunks.slice(1, -1)) assert.equal(typeof chunk.choices[0]?.delta.content, 'string')
})

clause('6-closing', () => {
  const [closing] = streamed.chunks.at(-1)?.choices ?? []
  assert.deepEqual(closing, { index: 0, delta: {}, finish_reason: 'stop' })
})

clause('6-done', () => assert.equal(streamed.events.at(-1), '[DONE]'))

clause('9-path', async () => {
  for (const path of ['/models', '/v2/models', '/v0/models', '/V1/models', '/v1beta/models']) {
    assert.equal((await send(world, path, { headers: world.project.headers })).status, 404, path)
  }
  const init = { method: 'POST', headers: { ...json, ...world.project.headers }, body: JSON.stringify(valid) }
  for (const path of ['/chat/completions', '/v2/chat/completions']) {
    assert.equal((await send(world, path, init)).status, 404, path)
  }
})

clause('9-models-change', async () => {
  const ids = async () => (await listModels(world)).body.data.map(({ id }) => id)
  const status = async () => (await refused(world, { ...valid, model: 'passing' })).status
  assert.equal(await status(), 422)
  await addModels(world, { id: 'passing', provider: 'simulator' })
  assert.equal(await status(), 200)
  await setModelEnabled(world.store.db, 'passing', false)
  await until(async () => !(await ids()).includes('passing'))
  assert.equal(await status(), 422)
})

clause('4.1-event-lines', 'also over a bare socket, in the bytes of HTTP/1.1', async () => {
  const connection = connectTo(world)
  connection.write(
    requestText(world.project, JSON.stringify({ ...valid, stream: true }), {
      connection: 'close',
    }),
  )
  await until(() => connection.isClosed)
  assert.match(connection.text, /^HTTP\/1\.1 200 OK\r\n/)
  assert.match(connection.text, /\r\n\r\n[0-9a-f]+\r\ndata: \{"id":/)
  assert.match(connection.text, /data: \[DONE\]\n\n\r\n0\r\n\r\n$/)
})
