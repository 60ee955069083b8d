/** The clauses on recommendations in the specification and the contract, with a matcher that always has the same one. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { addOffer, createFixedMatcher, setMonetization } from '../support/fixed-matcher.ts'
import { addProject, createWorld } from '../support/world.ts'
import { clause } from './clause.ts'
import { ask, contentOf, send, stream } from './client.ts'

const matcher = await createFixedMatcher()
const world = await createWorld({ env: { PARLEY_MATCHER_URL: matcher.url } })
after(async () => {
  await world.close()
  await matcher.close()
})
const match = await addOffer(world.store.db)
matcher.reply = { outcome: 'matched', match }
const project = await addProject(world.store, world.secrets)
await setMonetization(world.store.db, project.id)

const ANSWER = 'Over-ear headphones with active noise cancelling are the ones that most people like on long flights.'
const body = {
  model: 'sim-small',
  messages: [{ role: 'user', content: `Which ones for flights? [[sim text=${encodeURIComponent(ANSWER)}]]` }],
}
const plain = await ask(world, body)
const recommended = await ask(world, body, { project })
const streamed = await stream(world, body, { project })
const chargeOf = async (id: string, headers: Record<string, string>) =>
  (await send<{ charged_nanos: string }>(world, `/v1/receipts/${id}`, { headers })).body.charged_nanos

clause('1-recommendations', 'off unless the project wants them', () =>
  assert.equal(plain.body.choices[0]?.message.content, ANSWER),
)
clause('1-recommendations', 'inside the normal text', () => {
  const content = recommended.body.choices[0]?.message.content ?? ''
  assert.ok(content.startsWith(ANSWER))
  assert.ok(content.includes(match.advertiser))
})
clause('1-no-parsing', () => {
  assert.deepEqual(Object.keys(recommended.body.choices[0]?.message ?? {}), ['role', 'content'])
  const links = /\/[rw]\/[\w-]+/g
  const whole = recommended.body.choices[0]?.message.content?.replaceAll(links, '')
  assert.equal(contentOf(streamed.chunks).replaceAll(links, ''), whole)
})
clause('bodies-usage-recommendations', async () => {
  assert.deepEqual(recommended.body.usage, plain.body.usage)
  const charged = await chargeOf(plain.body.id, world.project.headers)
  assert.ok(BigInt(charged) > 0n)
  assert.equal(await chargeOf(recommended.body.id, project.headers), charged)
})
clause('streaming-sponsored-chunks', () => {
  const at = streamed.chunks.findIndex((chunk) => 'sponsored' in chunk)
  assert.equal(streamed.chunks[at + 1]?.choices[0]?.finish_reason, 'stop')
  assert.deepEqual(Object.keys(streamed.chunks[at]?.choices[0]?.delta ?? {}), ['content'])
})
clause('streaming-sponsored-field', () => {
  const marked = streamed.chunks.filter((chunk) => 'sponsored' in chunk)
  assert.equal(marked.length, 1)
  const [choice] = recommended.body.choices as unknown as { sponsored: { advertiser: string; label: string } }[]
  assert.equal(choice?.sponsored.advertiser, match.advertiser)
  assert.equal(choice?.sponsored.label, 'Ad')
})
