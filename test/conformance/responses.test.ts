/** The contract's rules for the Responses API, where they are not those of every endpoint. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { listMessages } from '../../src/store/calls/conversations.ts'
import { addProject, chatBody, createWorld, until, walletOf, type TestProject } from '../support/world.ts'
import { clause } from './clause.ts'
import { ask, send } from './client.ts'

const world = await createWorld()
after(() => world.close())

interface ResponseBody {
  id: string
  object: string
  status: string
  message: string
  incomplete_details: unknown
  usage: { input_tokens: number; output_tokens: number }
  output: { content?: { text: string }[] }[]
  error: { param: string; message: string } | null
}

function respond(fields: object, headers: Record<string, string> = {}, project: TestProject = world.project) {
  return send<ResponseBody>(world, '/v1/responses', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-error-format': 'openai', ...project.headers, ...headers },
    body: JSON.stringify({ model: 'sim-small', ...fields }),
  })
}

interface Event {
  type: string
  sequence_number: number
  response?: ResponseBody
}

async function eventsOf(script: string): Promise<{ text: string; events: Event[] }> {
  const { text } = await respond({ input: `Hi [[sim ${script}]]`, stream: true })
  const events = text.split('\n\n').flatMap((event) => {
    const [, name, data] = /^event: (\S+)\ndata: (.*)$/.exec(event) ?? []
    if (data === undefined) return []
    const parsed = JSON.parse(data) as Event
    assert.equal(parsed.type, name)
    return [parsed]
  })
  return { text, events }
}

const script = 'tokens=5'
const whole = await respond({ input: `Hi [[sim ${script}]]` })
const streamed = await eventsOf(script)

clause('responses-body', () => {
  assert.equal(whole.status, 200)
  assert.equal(whole.body.object, 'response')
  assert.equal(whole.body.status, 'completed')
  assert.match(whole.body.id, /^resp_[0-9a-f]{32}$/)
  assert.equal(whole.headers.get('x-completion-id'), whole.body.id)
})

clause('responses-events', () => {
  const { events } = streamed
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, n) => n),
  )
  assert.equal(events[0]?.type, 'response.created')
  assert.equal(events.at(-1)?.type, 'response.completed')
  assert.equal(events.filter(({ type }) => type === 'response.output_text.delta').length, 5)
  const { id, object } = events.at(-1)?.response ?? assert.fail()
  assert.ok(events.every(({ response }) => response === undefined || (response.id === id && object === 'response')))
})

clause('responses-no-done', () => assert.ok(!streamed.text.includes('[DONE]')))

clause('responses-error-event', async () => {
  const { events } = await eventsOf('tokens=9 fault=U14-eof')
  assert.deepEqual(
    events.slice(-2).map(({ type }) => type),
    ['error', 'response.failed'],
  )
  assert.equal(events.at(-1)?.response?.status, 'failed')
})

clause('responses-incomplete', async () => {
  const { body } = await respond({ input: 'Hi [[sim tokens=50]]', max_output_tokens: 20 })
  assert.deepEqual([body.status, body.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }])
  assert.equal(body.usage.output_tokens, 20)
})

clause('responses-keys-401', async () => {
  const { status } = await send(world, '/v1/responses', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{',
  })
  assert.equal(status, 401)
})

clause('responses-required-400', async () => {
  assert.equal((await respond({ temperature: 9 })).status, 400)
  assert.equal((await respond({ model: undefined, input: 'Hi', temperature: 9 })).status, 400)
})

clause('responses-own-names', async () => {
  const { status, body } = await respond({ input: 'Hi', max_output_tokens: 0 })
  assert.deepEqual([status, body.error?.param], [422, 'max_output_tokens'])
  const message = body.error?.message
  assert.equal(message, 'max_output_tokens must be greater than 0.')
})

clause('responses-stateless', async () => {
  for (const field of [{ store: true }, { previous_response_id: 'resp_1' }, { background: true }]) {
    const { status, body } = await respond({ input: 'Hi', ...field })
    assert.deepEqual([status, body.error?.param], [422, Object.keys(field)[0]])
    assert.match(body.error?.message ?? '', /Send|Stream/)
  }
})

clause('responses-wallet-403', async () => {
  const poor = await addProject(world.store, world.secrets, { credits: '0' })
  assert.equal((await respond({ input: 'Hi' }, {}, poor)).status, 403)
})

async function costOf(work: () => Promise<unknown>): Promise<bigint> {
  const settled = async () => {
    await until(async () => (await walletOf(world.store, world.project.id)).openHolds === 0)
    return (await walletOf(world.store, world.project.id)).balance
  }
  const before = await settled()
  await work()
  return before - (await settled())
}

clause('responses-charged', async () => {
  const { messages } = chatBody(script) as { messages: { content: string }[] }
  const chat = await costOf(() => ask(world, chatBody(script)))
  assert.equal(await costOf(() => respond({ input: messages[0]?.content })), chat)
  assert.equal(await costOf(() => respond({ input: messages[0]?.content, stream: true })), chat)
  assert.ok(chat > 0n)
})

clause('responses-receipt', async () => {
  const { status, body } = await send<{ id: string; endpoint: string }>(world, `/v1/receipts/${whole.body.id}`, {
    headers: world.project.headers,
  })
  assert.deepEqual([status, body.id, body.endpoint], [200, whole.body.id, '/v1/responses'])
})

clause('responses-once', async () => {
  const key = { 'idempotency-key': 'conformance-responses' }
  const first = await respond({ input: 'Hi [[sim tokens=4]]' }, key)
  const cost = await costOf(async () => {
    const again = await respond({ input: 'Hi [[sim tokens=4]]' }, key)
    assert.deepEqual(again.body, first.body)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
  })
  assert.equal(cost, 0n)
})

clause('responses-conversation', async () => {
  const headers = { 'x-conversation-id': 'conformance-responses' }
  const key = { projectId: world.project.id, id: headers['x-conversation-id'] }
  const first = await respond({ input: 'One [[sim text=Aye]]' }, headers)
  await until(async () => (await listMessages(world.store.db, key, 10)).length === 2)
  const said = first.body.output[0]?.content?.[0]?.text
  const messages = [
    { role: 'user', content: 'One [[sim text=Aye]]' },
    { role: 'assistant', content: said },
    { role: 'user', content: 'Two [[sim text=Yes]]' },
  ]
  await ask(world, { model: 'sim-small', messages }, { headers })
  await until(async () => (await listMessages(world.store.db, key, 10)).length >= 4)
  assert.equal((await listMessages(world.store.db, key, 10)).length, 4)
})
