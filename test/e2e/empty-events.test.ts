/** Events that a provider sends before it has said anything are no answer yet: until there is one, another route is tried. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { addDeployment, addModel, addProvider, complete, createWorld, until, type World } from '../support/world.ts'

const FIRST_TOKEN_MS = 300
const delta = (value: unknown) => ({ choices: [{ index: 0, delta: value }] })
const EMPTY_EVENTS: Record<string, unknown> = {
  'a role': delta({ role: 'assistant', content: '' }),
  'an empty text': delta({ content: '' }),
  'nothing in any field': delta({ content: null, refusal: '', reasoning: '', tool_calls: [] }),
  'a tool call without anything': delta({ tool_calls: [{}] }),
  'a tool call of empty strings': delta({ tool_calls: [{ index: 0, id: '', function: { name: '', arguments: '' } }] }),
  'no choices': { choices: [] },
  'usage alone': { choices: [], usage: { prompt_tokens: 5, completion_tokens: 0, total_tokens: 5 } },
}

let world: World
let upstream: Server
/** The first event of the first route, and what the route does then. */
let event = ''
let goOn: (response: ServerResponse) => void = () => {}

before(async () => {
  world = await createWorld()
  upstream = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${event}\n\n`, () => goOn(response))
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  for (const [n] of Object.keys(EMPTY_EVENTS).entries()) {
    // One of its own for each, because a breaker opens after some failures.
    await addProvider(world.store, world.secrets, `empty-${n}`, `http://127.0.0.1:${port}/v1`)
    const timers = { firstTokenTimeoutMs: FIRST_TOKEN_MS, idleTimeoutMs: 60_000 }
    await addModel(world.store, { id: `empty-${n}`, provider: `empty-${n}`, deployment: { position: 0, ...timers } })
    await addDeployment(world.store, { id: `empty-${n}`, provider: 'simulator', deployment: { position: 1 } })
  }
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes(`"empty-${Object.keys(EMPTY_EVENTS).length - 1}"`)
  })
})
after(async () => {
  await world.close()
  upstream.closeAllConnections()
  upstream.close()
})

const repeat = (response: ServerResponse) => {
  const timer = setInterval(() => response.write(`data: ${event}\n\n`), 20)
  response.once('close', () => clearInterval(timer))
}
const reset = (response: ServerResponse) => void response.socket?.resetAndDestroy()

for (const [n, [name, sent]] of Object.entries(EMPTY_EVENTS).entries()) {
  test(`${name} is no first chunk: neither a reset after it nor more of the same keeps another route from answering`, async () => {
    event = JSON.stringify(sent)
    for (const [how, next] of Object.entries({ reset, repeat })) {
      goOn = next
      const messages = [{ role: 'user', content: 'Hello [[sim text=from-the-other]]' }]
      const response = await complete(world, { model: `empty-${n}`, messages })
      const answer = (await response.json()) as { choices?: { message: unknown }[] }
      assert.deepEqual(answer.choices?.[0]?.message, { role: 'assistant', content: 'from-the-other' }, how)
    }
  })
}
