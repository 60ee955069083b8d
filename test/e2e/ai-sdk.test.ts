import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, isStepCount, streamText, tool, type ModelMessage } from 'ai'
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
function modelWith(headers: Record<string, string> = world.project.headers, id = 'sim-small') {
  const parley = createOpenAICompatible({
    name: 'parley',
    baseURL: `${world.url}/v1`,
    includeUsage: true,
    headers: { ...headers, 'x-error-format': 'openai' },
  })
  return parley(id)
}

function saying(text: string): string {
  return `Hello [[sim text=${encodeURIComponent(text)}]]`
}

const lookUp = tool({
  description: 'Looks up a place.',
  inputSchema: z.object({ place: z.string() }),
  execute: ({ place }) => `${place}: by the river`,
})

test('generateText gives text, finish reason and usage', async () => {
  const result = await generateText({ model: modelWith(), prompt: saying('Bonjour, 世界 👋'), maxRetries: 0 })
  assert.equal(result.text, 'Bonjour, 世界 👋')
  assert.equal(result.finishReason, 'stop')
  assert.equal(result.response.modelId, 'sim-small')
  assert.match(result.response.id, /^chatcmpl-/)
  assert.ok(Number(result.usage.inputTokens) > 0 && Number(result.usage.outputTokens) > 0)
})

test('streamText gives the text chunk by chunk, then finish reason and usage', async () => {
  const result = streamText({ model: modelWith(), prompt: 'Hi [[sim tokens=12 cached=3 reasoning=4]]', maxRetries: 0 })
  const chunks: string[] = []
  for await (const chunk of result.textStream) chunks.push(chunk)
  assert.equal(chunks.length, 12)
  assert.equal(await result.text, chunks.join(''))
  assert.equal(await result.finishReason, 'stop')
  const usage = await result.usage
  assert.equal(usage.outputTokens, 16)
  assert.equal(usage.inputTokenDetails.cacheReadTokens, 3)
  assert.equal(usage.outputTokenDetails.reasoningTokens, 4)
})

test('calls that carry the same x-conversation-id form one conversation, each message once', async () => {
  const key = { projectId: world.project.id, id: 'ai-conversation' }
  const headers = { 'x-conversation-id': key.id }
  const messages: ModelMessage[] = [{ role: 'user', content: saying('first answer') }]
  const first = await generateText({ model: modelWith(), messages, headers, maxRetries: 0 })
  await until(async () => (await listMessages(world.store.db, key, 10)).length === 2)
  messages.push(...first.response.messages, { role: 'user', content: saying('second answer') })
  const second = streamText({ model: modelWith(), messages, headers, maxRetries: 0 })
  assert.equal(await second.text, 'second answer')
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
    const key = { projectId: world.project.id, id: `ai-tools-${isStreamed}` }
    const call = {
      model: modelWith(),
      prompt: 'Where? [[sim tool=lookUp]]',
      tools: { lookUp },
      headers: { 'x-conversation-id': key.id },
      stopWhen: isStepCount(3),
      maxRetries: 0,
    }
    const result = isStreamed ? streamText(call) : await generateText(call)
    const steps = await result.steps
    assert.equal(steps.length, 2)
    assert.equal(steps[0]?.finishReason, 'tool-calls')
    const [outcome] = steps[0]?.toolResults ?? []
    assert.equal(outcome?.toolName, 'lookUp')
    assert.match(String(outcome?.output), /^\w+: by the river$/)
    assert.equal(steps[1]?.finishReason, 'stop')
    assert.ok((await result.text).length > 0)
    await until(async () => (await listMessages(world.store.db, key, 10)).length >= 4)
    const stored = await listMessages(world.store.db, key, 10)
    assert.deepEqual(
      stored.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'assistant'],
    )
  })
}

function assertShown(error: unknown, status: number, sentence: string): true {
  assert.ok(APICallError.isInstance(error), String(error))
  assert.equal(error.message, sentence)
  assert.equal(error.statusCode, status)
  assert.equal(error.isRetryable, status === 429 || status >= 500)
  return true
}

for (const { title, status, sentence, arrange } of REFUSALS) {
  test(`${title} is shown as ${status} with our sentence`, async (t) => {
    const { headers, model, content: prompt = 'Hi', temperature } = await arrange(world, t)
    const call = { model: modelWith(headers, model), prompt, temperature, maxRetries: 0 }
    await assert.rejects(generateText(call), (error) => assertShown(error, status, sentence))
    let shown: unknown
    await streamText({ ...call, onError: ({ error }) => void (shown = error) }).consumeStream()
    assertShown(shown, status, sentence)
  })
}

for (const [title, model, directive] of DEATHS) {
  test(`an upstream that ${title} midway is an error of the stream after what had come, and of a completion`, async () => {
    const call = { model: modelWith(undefined, model), prompt: `Hi [[sim ${directive}]]`, maxRetries: 0 }
    const told: unknown[] = []
    const result = streamText({ ...call, onError: ({ error }) => void told.push(error) })
    const parts: string[] = []
    for await (const part of result.fullStream) parts.push(part.type)
    assert.equal(parts.filter((type) => type === 'text-delta').length, 5)
    assert.ok(parts.includes('error'))
    assert.equal(told.length, 1)
    assert.ok(told[0] instanceof Error)
    assert.equal(told[0].message, ERRORS.upstream_failed.message)
    assert.equal(await result.finishReason, 'error')
    await assert.rejects(generateText(call), (error) => assertShown(error, 502, ERRORS.upstream_failed.message))
  })
}
