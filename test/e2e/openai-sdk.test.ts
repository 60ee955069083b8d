import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { APIError } from 'openai'
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions'
import { ERRORS } from '../../src/rules/errors.ts'
import { listMessages } from '../../src/store/calls/conversations.ts'
import { DEATHS, REFUSALS, addImpatientModel } from '../support/refusals.ts'
import { chatBody, createWorld, until, type World } from '../support/world.ts'

let world: World
before(async () => {
  world = await createWorld()
  await addImpatientModel(world)
})
after(() => world.close())

/** As our quick start shows it. */
function clientWith(headers: Record<string, string> = world.project.headers): OpenAI {
  return new OpenAI({
    apiKey: 'unused',
    baseURL: `${world.url}/v1`,
    maxRetries: 0,
    defaultHeaders: { ...headers, 'x-error-format': 'openai', Authorization: null },
  })
}

function user(content: string): ChatCompletionMessageParam {
  return { role: 'user', content }
}

function say(text: string): ChatCompletionMessageParam {
  return user(`Hello [[sim text=${encodeURIComponent(text)}]]`)
}

const PARAMETERS = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] }
const LOOK_UP: ChatCompletionTool = { type: 'function', function: { name: 'look_up', parameters: PARAMETERS } }

test('models.list shows the models that the project may name', async () => {
  const ids: string[] = []
  for await (const model of clientWith().models.list()) {
    assert.equal(model.object, 'model')
    assert.equal(model.owned_by, 'simulator')
    ids.push(model.id)
  }
  assert.deepEqual(ids.toSorted(), ['sim-impatient', 'sim-small'])
})

test('a completion has text, finish reason and usage, and its id is also in the headers', async () => {
  const { data, response } = await clientWith()
    .chat.completions.create({ model: 'sim-small', messages: [say('Bonjour, 世界 👋')] })
    .withResponse()
  assert.equal(data.object, 'chat.completion')
  assert.equal(data.model, 'sim-small')
  assert.deepEqual(data.choices, [
    { index: 0, message: { role: 'assistant', content: 'Bonjour, 世界 👋' }, finish_reason: 'stop' },
  ])
  assert.ok(data.usage && data.usage.prompt_tokens > 0 && data.usage.completion_tokens > 0)
  assert.equal(data.usage.total_tokens, data.usage.prompt_tokens + data.usage.completion_tokens)
  assert.match(data.id, /^chatcmpl-[\w-]{24,}$/)
  assert.equal(response.headers.get('x-completion-id'), data.id)
  assert.match(response.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
})

test('a stream gives role, text and finish reason under one id, and no usage unless it was asked for', async () => {
  const stream = await clientWith().chat.completions.create({
    model: 'sim-small',
    messages: [say('one two three')],
    stream: true,
  })
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  assert.deepEqual(chunks[0]?.choices[0]?.delta, { role: 'assistant', content: '' })
  assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), 'one two three')
  assert.deepEqual(chunks.at(-1)?.choices, [{ index: 0, delta: {}, finish_reason: 'stop' }])
  assert.equal(new Set(chunks.map((chunk) => `${chunk.id} ${chunk.created} ${chunk.model}`)).size, 1)
  assert.ok(chunks.every((chunk) => chunk.usage == null))
})

test('a stream ends with usage when it was asked for, the same as the completion would report', async () => {
  const request = chatBody('tokens=12 cached=3 reasoning=4') as {
    model: string
    messages: ChatCompletionMessageParam[]
  }
  const whole = await clientWith().chat.completions.create(request)
  const stream = await clientWith().chat.completions.create({
    ...request,
    stream: true,
    stream_options: { include_usage: true },
  })
  let last
  for await (const chunk of stream) last = chunk
  assert.deepEqual(last?.choices, [])
  assert.deepEqual(last?.usage, whole.usage)
  assert.equal(whole.usage?.completion_tokens, 16)
  assert.equal(whole.usage?.prompt_tokens_details?.cached_tokens, 3)
  assert.equal(whole.usage?.completion_tokens_details?.reasoning_tokens, 4)
})

test('the streaming helper of the SDK collects the same answer', async () => {
  const runner = clientWith().chat.completions.stream({ model: 'sim-small', messages: [say('one two three')] })
  assert.equal(await runner.finalContent(), 'one two three')
})

test('calls that carry the same x-conversation-id form one conversation, each message once', async () => {
  const id = 'openai-conversation'
  const options = { headers: { 'x-conversation-id': id } }
  const messages = [say('first answer')]
  const first = await clientWith().chat.completions.create({ model: 'sim-small', messages }, options)
  const key = { projectId: world.project.id, id }
  await until(async () => (await listMessages(world.store.db, key, 10)).length === 2)
  messages.push(first.choices[0]!.message, say('second answer'))
  const stream = await clientWith().chat.completions.create({ model: 'sim-small', messages, stream: true }, options)
  for await (const chunk of stream) assert.ok(chunk)
  await until(async () => (await listMessages(world.store.db, key, 10)).length >= 4)
  const stored = await listMessages(world.store.db, key, 10)
  assert.deepEqual(
    stored.map(({ role, content }) => [role, (content as { content: string }).content]),
    [
      ['user', messages[0]?.content],
      ['assistant', 'first answer'],
      ['user', messages[2]?.content],
      ['assistant', 'second answer'],
    ],
  )
})

test('a tool call comes whole in a completion, its result is answered, and each message is stored once', async () => {
  const key = { projectId: world.project.id, id: 'openai-tools' }
  const client = clientWith({ ...world.project.headers, 'x-conversation-id': key.id })
  const messages = [user('Where? [[sim tool=look_up]]')]
  const first = await client.chat.completions.create({ model: 'sim-small', messages, tools: [LOOK_UP] })
  assert.equal(first.choices[0]?.finish_reason, 'tool_calls')
  const reply = first.choices[0].message
  const [call] = reply.tool_calls ?? []
  assert.ok(call?.type === 'function' && call.id !== '')
  assert.equal(call.function.name, 'look_up')
  assert.equal(typeof JSON.parse(call.function.arguments).place, 'string')
  messages.push(reply, { role: 'tool', tool_call_id: call.id, content: 'by the river' })
  const second = await client.chat.completions.create({ model: 'sim-small', messages, tools: [LOOK_UP] })
  assert.equal(second.choices[0]?.finish_reason, 'stop')
  assert.ok(second.choices[0].message.content)
  await until(async () => (await listMessages(world.store.db, key, 10)).length >= 4)
  const stored = await listMessages(world.store.db, key, 10)
  assert.deepEqual(
    stored.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'assistant'],
  )
})

test('a tool call comes in fragments in a stream, and the tool runner of the SDK goes round with it', async () => {
  const seen: string[] = []
  const runner = clientWith().chat.completions.runTools({
    model: 'sim-small',
    stream: true,
    messages: [user('Where? [[sim tool=look_up]]')],
    tools: [
      {
        type: 'function',
        function: {
          name: 'look_up',
          description: 'Looks up a place.',
          parameters: PARAMETERS,
          function: (given: string) => {
            seen.push(given)
            return 'by the river'
          },
        },
      },
    ],
  })
  assert.ok(await runner.finalContent())
  assert.equal(seen.length, 1)
  assert.equal(typeof JSON.parse(seen[0] ?? '').place, 'string')
})

for (const { title, status, sentence, arrange } of REFUSALS) {
  for (const stream of [false, true]) {
    test(`${title} is shown as ${status} with our sentence${stream ? ', also of a stream' : ''}`, async (t) => {
      const { headers, model = 'sim-small', content = 'Hi', temperature } = await arrange(world, t)
      const request = { model, messages: [user(content)], temperature, stream }
      await assert.rejects(clientWith(headers).chat.completions.create(request), (error) => {
        assert.ok(error instanceof APIError, String(error))
        assert.equal(error.message, `${status} ${sentence}`)
        assert.equal(error.status, status)
        assert.equal(typeof error.code, 'string')
        assert.ok(error.requestID)
        return true
      })
    })
  }
}

for (const [title, model, directive] of DEATHS) {
  test(`an upstream that ${title} midway makes the stream throw after what had come, and a completion fail`, async () => {
    const request = { model, messages: [user(`Hi [[sim ${directive}]]`)] }
    const stream = await clientWith().chat.completions.create({ ...request, stream: true })
    let chunks = 0
    await assert.rejects(
      async () => {
        for await (const chunk of stream) if (chunk.choices[0]?.delta.content) chunks++
      },
      (error) => {
        assert.ok(error instanceof APIError, String(error))
        assert.equal(error.message, ERRORS.upstream_failed.message)
        assert.equal(error.code, 'upstream_failed')
        return true
      },
    )
    assert.equal(chunks, 5)
    await assert.rejects(clientWith().chat.completions.create(request), (error) => {
      assert.ok(error instanceof APIError, String(error))
      assert.equal(error.message, `502 ${ERRORS.upstream_failed.message}`)
      return true
    })
  })
}

test('the SDK retries what may be retried by itself, and is then answered', async () => {
  const client = clientWith().withOptions({ maxRetries: 2 })
  // Parley itself tries twice, so the first two attempts are one failed call.
  const request = chatBody('tokens=5 fault=U11-503 times=2') as {
    model: string
    messages: ChatCompletionMessageParam[]
  }
  const answered = await client.chat.completions.create(request)
  assert.equal(answered.usage?.completion_tokens, 5)
})
