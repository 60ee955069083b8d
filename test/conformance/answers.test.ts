/** The contract's rules for the bodies of answers and their finish reasons. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after } from 'node:test'
import type { AddressInfo } from 'node:net'
import { addProject, addProvider, chatBody, createWorld, credit } from '../support/world.ts'
import { clause } from './clause.ts'
import { addModels, ask, receiptOf, stream } from './client.ts'
import { costOf, promptCostOf, promptTokensOf } from './money.ts'

const world = await createWorld()
/** The simulator withholds nothing, so this provider does. */
const filtering = createServer((request, response) => {
  request.resume()
  const chunk = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(`${chunk({ content: 'I must' }, null)}${chunk({}, 'content_filter')}data: [DONE]\n\n`)
})
await new Promise<void>((resolve) => filtering.listen(0, '127.0.0.1', resolve))
after(async () => {
  await world.close()
  filtering.closeAllConnections()
  filtering.close()
})
const { port } = filtering.address() as AddressInfo
await addProvider(world.store, world.secrets, 'filtering', `http://127.0.0.1:${port}/v1`)
await addModels(world, { id: 'filtered', provider: 'filtering' })

/** How a request ends in both ways of answering. */
async function finishesOf(body: ReturnType<typeof chatBody>, project = world.project): Promise<(string | null)[]> {
  const whole = await ask(world, body, { project })
  assert.equal(whole.status, 200, whole.text)
  return [whole.body.choices[0]?.finish_reason ?? null, ...(await streamedFinish(body, project))]
}

async function streamedFinish(body: ReturnType<typeof chatBody>, project = world.project): Promise<(string | null)[]> {
  const { chunks, events } = await stream(world, body, { project })
  assert.equal(events.at(-1), '[DONE]')
  return chunks.flatMap((chunk) => chunk.choices[0]?.finish_reason ?? [])
}

clause('bodies-completion-id-header', async () => {
  const whole = await ask(world, chatBody('tokens=2'))
  assert.equal(whole.headers.get('x-completion-id'), whole.body.id)
  const streamed = await stream(world, chatBody('tokens=2'))
  assert.equal(streamed.headers.get('x-completion-id'), streamed.chunks[0]?.id)
})

clause('bodies-id-ours', async () => {
  const ids = new Set<string>()
  for (let n = 0; n < 5; n++) {
    ids.add((await ask(world, chatBody('tokens=2'))).body.id)
    ids.add((await stream(world, chatBody('tokens=2'))).chunks[0]?.id ?? '')
  }
  assert.equal(ids.size, 10, 'each completion has its own')
  const theirs = new Set(world.simulator.calls.map((call) => call.id))
  for (const id of ids) {
    assert.match(id, /^chatcmpl-[A-Za-z0-9_-]{24,}$/)
    assert.ok(!theirs.has(id))
  }
})

clause('bodies-id-receipt', async () => {
  const { body } = await ask(world, chatBody('tokens=3'))
  const receipt = await receiptOf(world, body.id)
  assert.equal(receipt.project_id, world.project.id)
  assert.equal(receipt.charged_nanos, costOf(body.usage.prompt_tokens, 3))
  const { chunks } = await stream(world, chatBody('tokens=4'))
  assert.equal((await receiptOf(world, chunks[0]?.id ?? '')).output_tokens, 4)
})

clause('bodies-model-public', async () => {
  const { body } = await ask(world, chatBody('tokens=2'))
  assert.equal(world.simulator.calls.at(-1)?.model, 'sim', "the upstream's name of it is another")
  assert.equal(body.model, 'sim-small')
  const { text, chunks } = await stream(world, chatBody('tokens=2'))
  assert.deepEqual(new Set(chunks.map((chunk) => chunk.model)), new Set(['sim-small']))
  assert.ok(!text.includes('"sim"'))
})

clause('bodies-usage', async () => {
  for (const directive of ['tokens=9', 'utf8 tokens=30', 'tokens=9 fault=U13', 'tokens=9 cached=4', 'tokens=0']) {
    const body = chatBody(directive)
    const { usage } = (await ask(world, body)).body
    const call = world.simulator.calls.at(-1)
    const [prompt, completion] = [call?.promptTokens ?? -1, call?.generatedTokens ?? -1]
    assert.equal(prompt, promptTokensOf(body))
    assert.equal(usage.prompt_tokens, prompt, directive)
    assert.equal(usage.completion_tokens, completion, directive)
    assert.equal(usage.total_tokens, prompt + completion, directive)
  }
})

clause('bodies-usage', 'also what the model thought', async () => {
  const { usage } = (await ask(world, chatBody('tokens=5 reasoning=20'))).body
  assert.equal(usage.completion_tokens, 25)
})

clause('finish-stop', async () => assert.deepEqual(await finishesOf(chatBody('tokens=3')), ['stop', 'stop']))

clause('finish-length', async () =>
  assert.deepEqual(await finishesOf(chatBody('tokens=30', { max_tokens: 3 })), ['length', 'length']),
)

clause('finish-length-hold', async () => {
  // More than is held at first, and less than the answer takes: the hold grows once and is then used up.
  const body = chatBody('tokens=1000')
  for (const answer of [
    async (project: typeof world.project) => [(await ask(world, body, { project })).body.choices[0]?.finish_reason],
    (project: typeof world.project) => streamedFinish(body, project),
  ]) {
    const project = await addProject(world.store, world.secrets, { credits: '0' })
    await credit(world.store, project.id, promptCostOf(body) + costOf(0, 300))
    assert.deepEqual(await answer(project), ['length'])
  }
})

clause('finish-content-filter', async () =>
  assert.deepEqual(await finishesOf(chatBody('', { model: 'filtered' })), ['content_filter', 'content_filter']),
)

clause('finish-tool-calls', async () => {
  const tools = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: {} } } }]
  assert.deepEqual(await finishesOf(chatBody('tool=look_up', { tools })), ['tool_calls', 'tool_calls'])
})
