/** The contract's rules for repeating a request. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { chatBody, complete, createWorld, until, walletOf } from '../support/world.ts'
import { clause } from './clause.ts'

const world = await createWorld()
after(() => world.close())

async function ask(key: string, body: object) {
  const response = await complete(world, body, { headers: { 'idempotency-key': key } })
  return { status: response.status, text: await response.text() }
}

async function balance(): Promise<bigint> {
  await until(async () => (await walletOf(world.store, world.project.id)).openHolds === 0)
  return (await walletOf(world.store, world.project.id)).balance
}

clause('retries-shape', async () => {
  for (const key of ['a', '~!@#$%^&*()_+', 'x'.repeat(255)])
    assert.equal((await ask(key, chatBody('tokens=2'))).status, 200, key)
  for (const key of ['', 'a b', 'x'.repeat(256)]) assert.equal((await ask(key, chatBody('tokens=2'))).status, 422, key)
})

for (const stream of [false, true]) {
  clause('retries-once', stream ? 'streamed' : 'JSON', async () => {
    const body = chatBody('tokens=5', { stream })
    const first = await ask(`once-${stream}`, body)
    const paid = await balance()
    const again = await ask(`once-${stream}`, body)
    assert.equal(again.status, 200)
    const words = (text: string) => [...text.matchAll(/"content":"([^"]*)"/g)].map((match) => match[1]).join('')
    assert.equal(words(again.text), words(first.text))
    assert.equal(await balance(), paid)
  })
}

clause('retries-other-body', async () => {
  await ask('other', chatBody('tokens=2'))
  assert.equal((await ask('other', chatBody('tokens=3'))).status, 422)
})

clause('retries-running', async () => {
  const body = chatBody('tokens=20 gap=20')
  const first = ask('running', body)
  await until(() => world.simulator.openCalls() === 1)
  assert.equal((await ask('running', body)).status, 409)
  assert.equal((await first).status, 200)
})
