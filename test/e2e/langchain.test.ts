import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AIMessageChunk, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAICompletions } from '@langchain/openai'
import { z } from 'zod'
import { ERRORS } from '../../src/rules/errors.ts'
import { listMessages } from '../../src/store/calls/conversations.ts'
import { DEATHS, REFUSALS, addImpatientModel } from '../support/refusals.ts'
import { createWorld, until, type World } from '../support/world.ts'

let world: World
before(async () => {
  world = await createWorld()
  await addImpatientModel(world)
})
after(() => world.close())

/** As our quick start shows it. */
function modelWith(
  headers: Record<string, string> = world.project.headers,
  options: { model?: string; temperature?: number } = {},
) {
  return new ChatOpenAICompletions({
    model: 'sim-small',
    ...options,
    apiKey: 'unused',
    maxRetries: 0,
    configuration: {
      baseURL: `${world.url}/v1`,
      defaultHeaders: { ...headers, 'x-error-format': 'openai', Authorization: null },
    },
  })
}

function saying(text: string): string {
  return `Hello [[sim text=${encodeURIComponent(text)}]]`
}

async function collect(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined
  for await (const chunk of stream) whole = whole === undefined ? chunk : whole.concat(chunk)
  assert.ok(whole)
  return whole
}

const lookUp = tool(({ place }) => `${place}: by the river`, {
  name: 'look_up',
  description: 'Looks up a place.',
  schema: z.object({ place: z.string() }),
})

test('invoke gives text, finish reason and usage', async () => {
  const answer = await modelWith().invoke(saying('Bonjour, 世界 👋'))
  assert.equal(answer.content, 'Bonjour, 世界 👋')
  assert.equal(answer.response_metadata.finish_reason, 'stop')
  assert.ok(answer.usage_metadata && answer.usage_metadata.input_tokens > 0)
  assert.match(answer.id ?? '', /^chatcmpl-/)
})

test('stream gives the text chunk by chunk, then usage', async () => {
  const chunks: string[] = []
  let whole: AIMessageChunk | undefined
  for await (const chunk of await modelWith().stream('Hi [[sim tokens=12 cached=3 reasoning=4]]')) {
    if (chunk.text !== '') chunks.push(chunk.text)
    whole = whole === undefined ? chunk : whole.concat(chunk)
  }
  assert.equal(chunks.length, 12)
  assert.equal(whole?.text, chunks.join(''))
  assert.equal(whole?.usage_metadata?.output_tokens, 16)
  assert.equal(whole?.usage_metadata?.input_token_details?.cache_read, 3)
  assert.equal(whole?.usage_metadata?.output_token_details?.reasoning, 4)
})

test('calls that carry the same x-conversation-id form one conversation, each message once', async () => {
  const key = { projectId: world.project.id, id: 'langchain-conversation' }
  const model = modelWith({ ...world.project.headers, 'x-conversation-id': key.id })
  const messages: BaseMessage[] = [new HumanMessage(saying('first answer'))]
  messages.push(await model.invoke(messages))
  await until(async () => (await listMessages(world.store.db, key, 10)).length === 2)
  messages.push(new HumanMessage(saying('second answer')))
  assert.equal((await collect(await model.stream(messages))).content, 'second answer')
  await until(async () => (await listMessages(world.store.db, key, 10)).length >= 4)
  const stored = await listMessages(world.store.db, key, 10)
  assert.deepEqual(
    stored.map(({ role, content }) => [role, (content as { content: string }).content]),
    [
      ['user', saying('first answer')],
      ['assistant', 'first answer'],
      ['user', saying('second answer')],
      ['assistant', 'second answer'],
    ],
  )
})

for (const isStreamed of [false, true]) {
  test(`a tool is called, its result is answered, and each message is stored once${isStreamed ? ', in a stream' : ''}`, async () => {
    const key = { projectId: world.project.id, id: `langchain-tools-${isStreamed}` }
    const model = modelWith({ ...world.project.headers, 'x-conversation-id': key.id }).bindTools([lookUp])
    const messages: BaseMessage[] = [new HumanMessage('Where? [[sim tool=look_up]]')]
    const reply = isStreamed ? await collect(await model.stream(messages)) : await model.invoke(messages)
    const [call] = reply.tool_calls ?? []
    assert.equal(call?.name, 'look_up')
    assert.equal(typeof call.args.place, 'string')
    const result = await lookUp.invoke({ ...call, type: 'tool_call' })
    assert.ok(result instanceof ToolMessage)
    messages.push(reply, result)
    const answer = isStreamed ? await collect(await model.stream(messages)) : await model.invoke(messages)
    assert.ok(answer.text.length > 0)
    assert.deepEqual(answer.tool_calls, [])
    await until(async () => (await listMessages(world.store.db, key, 10)).length >= 4)
    const stored = await listMessages(world.store.db, key, 10)
    assert.deepEqual(
      stored.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'assistant'],
    )
  })
}

function assertShown(error: unknown, status: number, sentence: string): true {
  assert.ok(error instanceof Error, String(error))
  assert.ok(error.message.includes(sentence), error.message)
  assert.ok(error.message.includes(String(status)), error.message)
  assert.equal((error as { status?: number }).status, status)
  return true
}

for (const { title, status, sentence, arrange } of REFUSALS) {
  test(`${title} is shown as ${status} with our sentence`, async (t) => {
    const { headers, model: id = 'sim-small', content = 'Hi', temperature } = await arrange(world, t)
    const model = modelWith(headers, { model: id, temperature })
    await assert.rejects(model.invoke(content), (error) => assertShown(error, status, sentence))
    await assert.rejects(model.stream(content).then(collect), (error) => assertShown(error, status, sentence))
  })
}

for (const [title, model, directive] of DEATHS) {
  test(`an upstream that ${title} midway makes the stream throw after what had come, and a completion fail`, async () => {
    const prompt = `Hi [[sim ${directive}]]`
    let chunks = 0
    await assert.rejects(
      async () => {
        for await (const chunk of await modelWith(undefined, { model }).stream(prompt)) if (chunk.text !== '') chunks++
      },
      { message: ERRORS.upstream_failed.message },
    )
    assert.equal(chunks, 5)
    await assert.rejects(modelWith(undefined, { model }).invoke(prompt), (error) =>
      assertShown(error, 502, ERRORS.upstream_failed.message),
    )
  })
}
