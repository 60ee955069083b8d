import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { OpenAIEmbeddings } from '@langchain/openai'
import { embed, embedMany } from 'ai'
import OpenAI, { APIError } from 'openai'
import { tokenIdsIn, tokensIn } from '../../simulator/reply.ts'
import { DIMENSIONS, vectorFor } from '../../simulator/vectors.ts'
import { fieldsIn } from '../../src/rules/record.ts'
import { addModel, addProvider, createWorld, until, type World } from '../support/world.ts'

/** Embeddings as the users of each published SDK get them, through each wire format that has them. */

const MODELS = ['vectors', 'vectors-float', 'vectors-gemini']
const TEXTS = ['Bonjour, 世界 👋', 'the second text']

let world: World
before(async () => {
  world = await createWorld()
  const { store, secrets, simulator } = world
  await addProvider(store, secrets, 'base64', `${simulator.url}/v1`, { settings: { embeddingFormat: 'base64' } })
  await addProvider(store, secrets, 'google', `${simulator.url}/v1beta`, { kind: 'gemini' })
  const providers = ['base64', 'simulator', 'google']
  for (const [n, id] of MODELS.entries())
    await addModel(store, { id, kind: 'embedding', provider: providers[n] ?? '', contextWindow: 8_192 })
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes(`"${MODELS.at(-1)}"`)
  })
})
after(() => world.close())

function headers(): Record<string, string> {
  return { ...world.project.headers, 'x-error-format': 'openai' }
}

function openai(): OpenAI {
  const defaultHeaders = { ...headers(), Authorization: null }
  return new OpenAI({ baseURL: `${world.url}/v1`, apiKey: 'unused', maxRetries: 0, defaultHeaders })
}

const vectorsOf = (texts: readonly string[], dimensions = DIMENSIONS) =>
  texts.map((text) => vectorFor(text, dimensions, 1))
const tokensOf = (texts: readonly string[]) => texts.reduce((sum, text) => sum + tokensIn(text), 0)

for (const model of MODELS) {
  test(`openai through ${model}: numbers, whether it asks for them or for base64, which it does by itself`, async () => {
    for (const format of [{}, { encoding_format: 'float' as const }]) {
      const { data, usage, object } = await openai().embeddings.create({ model, input: TEXTS, ...format })
      assert.deepEqual(
        data.map(({ embedding }) => [...embedding]),
        vectorsOf(TEXTS),
      )
      assert.deepEqual(
        data.map(({ index }) => index),
        [0, 1],
      )
      assert.deepEqual([object, usage], ['list', { prompt_tokens: tokensOf(TEXTS), total_tokens: tokensOf(TEXTS) }])
    }
    const encoding_format = 'base64' as const
    const { data } = await openai().embeddings.create({
      model,
      input: 'one',
      dimensions: 3,
      encoding_format,
      user: 'u',
    })
    const bytes = Uint8Array.from(Buffer.from(data[0]?.embedding as unknown as string, 'base64'))
    assert.deepEqual([...new Float32Array(bytes.buffer)], vectorsOf(['one'], 3)[0])
  })

  test(`AI SDK through ${model}: embed and embedMany`, async () => {
    const parley = createOpenAICompatible({ name: 'parley', baseURL: `${world.url}/v1`, headers: headers() })
    const one = await embed({ model: parley.embeddingModel(model), value: TEXTS[0] ?? '', maxRetries: 0 })
    assert.deepEqual([one.embedding, one.usage.tokens], [vectorsOf(TEXTS)[0], tokensOf(TEXTS.slice(0, 1))])
    const many = await embedMany({ model: parley.embeddingModel(model), values: TEXTS, maxRetries: 0 })
    assert.deepEqual([many.embeddings, many.usage.tokens], [vectorsOf(TEXTS), tokensOf(TEXTS)])
  })

  test(`LangChain through ${model}: a query, and documents in batches`, async () => {
    const embeddings = new OpenAIEmbeddings({
      model,
      apiKey: 'unused',
      maxRetries: 0,
      batchSize: 3,
      dimensions: 4,
      configuration: { baseURL: `${world.url}/v1`, defaultHeaders: { ...headers(), Authorization: null } },
    })
    assert.deepEqual([...(await embeddings.embedQuery('one'))], vectorsOf(['one'], 4)[0])
    const texts = Array.from({ length: 7 }, (_, n) => `document ${n}`)
    const vectors = await embeddings.embedDocuments(texts)
    assert.deepEqual(
      vectors.map((vector) => [...vector]),
      vectorsOf(texts, 4),
    )
  })
}

test('openai: token ids, as LangChain for Python sends them, are passed on as they are', async () => {
  const input = TEXTS.map((text) => tokenIdsIn(text))
  const { data, usage } = await openai().embeddings.create({ model: 'vectors', input })
  assert.deepEqual(
    data.map(({ embedding }) => [...embedding]),
    input.map((ids) => vectorFor(ids, DIMENSIONS, 1)),
  )
  assert.equal(usage.prompt_tokens, tokensOf(TEXTS))
  assert.deepEqual(fieldsIn(world.simulator.calls.at(-1)?.body).input, input)
})

test('openai: an error is shown with our sentence and the name of the field', async () => {
  await assert.rejects(openai().embeddings.create({ model: 'vectors', input: ['a', ''] }), (error) => {
    assert.ok(error instanceof APIError)
    assert.deepEqual([error.status, error.param], [422, 'input[1]'])
    assert.match(error.message, /input\[1\] must not be an empty string\./)
    return true
  })
})
