import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { GoogleGenAI } from '@google/genai'
import { ask } from './probe.ts'
import { createSimulator } from './server.ts'

const simulator = await createSimulator()
after(() => simulator.close())

const EXPRESS = '/v1/publishers/google/models/sim:generateContent'
const OF_PROJECT = '/v1/projects/p/locations/l/publishers/google/models/sim:generateContent'

test("Google's own client reads both kinds of answer in express mode", async () => {
  const httpOptions = { baseUrl: simulator.url, apiVersion: 'v1' }
  const { models } = new GoogleGenAI({ vertexai: true, apiKey: 'k', httpOptions })
  const question = { model: 'sim', contents: 'Hello [[sim text=Bonjour]]' }
  assert.equal((await models.generateContent(question)).text, 'Bonjour')
  let said = ''
  for await (const part of await models.generateContentStream(question)) said += part.text ?? ''
  assert.equal(said, 'Bonjour')
})

async function statusOf(path: string, headers: Record<string, string>, more: Record<string, unknown> = {}) {
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }]
  return (await ask(simulator.url, { path, headers, body: { contents, ...more } })).status
}

test('an API key opens express mode alone, and a token only the project', async () => {
  const key = { 'x-goog-api-key': 'k', authorization: '' }
  const token = { authorization: 'Bearer t' }
  assert.equal(await statusOf(EXPRESS, key), 200)
  assert.equal(await statusOf(EXPRESS, token), 401)
  assert.equal(await statusOf(OF_PROJECT, token), 200)
  assert.equal(await statusOf(OF_PROJECT, key), 401)
  assert.equal(await statusOf(OF_PROJECT, { authorization: 'Bearer bad-key' }), 401)
})

test('calls of functions have no ids, neither in requests nor in answers', async () => {
  const tools = [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] }]
  const contents = (id?: string) => [
    { role: 'user', parts: [{ text: 'Hello' }] },
    { role: 'model', parts: [{ functionCall: { id, name: 'f', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { id, name: 'f', response: {} } }] },
  ]
  const headers = { authorization: 'Bearer t' }
  assert.equal(await statusOf(OF_PROJECT, headers, { tools, contents: contents() }), 200)
  assert.equal(await statusOf(OF_PROJECT, headers, { tools, contents: contents('a') }), 400)
  const asked = [{ role: 'user', parts: [{ text: 'Hello [[sim tool=f]]' }] }]
  const { text } = await ask(simulator.url, { path: OF_PROJECT, headers, body: { tools, contents: asked } })
  assert.match(text, /"functionCall":\{"name":"f"/)
})
