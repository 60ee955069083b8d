import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatBody, complete, createWorld, eventsOf, until, walletOf } from '../support/world.ts'

test('draining lets running answers end, refuses readiness, and leaves no hold', async () => {
  const world = await createWorld({ env: { PARLEY_DRAIN_DELAY_MS: '600' } })
  const running = complete(world, chatBody('tokens=60 gap=10', { stream: true }))
  await until(() => world.simulator.openCalls() === 1)
  const stopped = world.running.stop()
  await until(async () => (await fetch(`${world.opsUrl}/readyz`)).status === 503)
  const late = await complete(world, chatBody('tokens=3'))
  assert.equal(late.status, 200, 'while balancers have not noticed, calls are still answered')
  assert.equal(late.headers.get('connection'), 'close')
  const events = eventsOf(await (await running).text())
  assert.equal(events.at(-1), '[DONE]')
  await stopped
  assert.deepEqual((await walletOf(world.store, world.project.id)).openHolds, 0)
  await assert.rejects(complete(world, chatBody('tokens=3')), 'the port is closed')
  await world.close()
})

test('an answer that outlives the grace ends in an error event, costs nothing, and its hold is released', async () => {
  const world = await createWorld({ env: { PARLEY_DRAIN_GRACE_MS: '200' } })
  const running = complete(world, chatBody('tokens=1000 gap=10', { stream: true }))
  await until(() => world.simulator.calls.some((call) => call.generatedTokens > 3))
  await world.running.stop()
  const events = eventsOf(await (await running).text())
  assert.deepEqual((JSON.parse(events.at(-1)!) as { error: { code: string } }).error.code, 'shutting_down')
  assert.deepEqual(await walletOf(world.store, world.project.id), {
    balance: 1_000_000_000_000n,
    held: 0n,
    openHolds: 0,
  })
  await until(() => world.simulator.openCalls() === 0)
  await world.close()
})
