import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { chatBody, complete, createWorld, eventsOf, type World } from '../support/world.ts'

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

interface Whole {
  choices: { message: { content: string } }[]
  usage: { completion_tokens: number }
}

interface Chunk {
  choices: { delta: { content?: string } }[]
}

/** Returns the answer of the upstream to the same words when it is asked without us. */
async function upstreamAnswerTo(body: ReturnType<typeof chatBody>): Promise<Whole> {
  const response = await fetch(`${world.simulator.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer test', 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, model: 'sim' }),
  })
  assert.equal(response.status, 200)
  return (await response.json()) as Whole
}

for (const newline of ['lf', 'crlf', 'cr']) {
  for (const split of [1, 7]) {
    test(`an upstream whose bytes come in pieces of ${split}, with ${newline}, is passed on to the letter`, async () => {
      const body = chatBody(`tokens=40 utf8=1 newline=${newline} split=${split}`)
      const upstream = await upstreamAnswerTo(body)
      const said = upstream.choices[0]?.message.content ?? ''
      assert.ok(Buffer.byteLength(said) > said.length, 'the text needs several bytes for a character')

      const whole = (await (await complete(world, body)).json()) as Whole
      assert.equal(whole.choices[0]?.message.content, said)
      assert.equal(whole.usage.completion_tokens, 40)

      const streamed = await (await complete(world, { ...body, stream: true })).text()
      const events = eventsOf(streamed)
      assert.equal(events.pop(), '[DONE]')
      const chunks = events.map((event) => (JSON.parse(event) as Chunk).choices[0]?.delta.content ?? '')
      assert.equal(chunks.join(''), said)
    })
  }
}
