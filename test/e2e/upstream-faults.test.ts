import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  addLoneModel,
  addModel,
  addProvider,
  chatBody,
  complete,
  createWorld,
  eventsOf,
  until,
  walletOf,
  type World,
} from '../support/world.ts'

/** A provider's verdict on a request, by status. Faults in a connection or an answer are tried by `npm run faults`. */

const KINDS = {
  400: 'rejected',
  401: 'key_rejected',
  402: 'key_rejected',
  403: 'key_rejected',
  404: 'rejected',
  422: 'rejected',
}

let world: World
before(async () => {
  world = await createWorld()
  // A provider for each: one that refuses our key is not asked again.
  for (const status of Object.keys(KINDS)) {
    await addProvider(world.store, world.secrets, `says-${status}`, `${world.simulator.url}/v1`)
    await addModel(world.store, { id: `sim-${status}`, provider: `says-${status}` })
  }
  await addModel(world.store, { id: 'hurried', provider: 'simulator', deployment: { totalTimeoutMs: 1_500 } })
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes(`"sim-422"`)
  })
})
after(() => world.close())

for (const [status, kind] of Object.entries(KINDS)) {
  test(`a provider’s own ${status} is never shown as the caller’s: it is 502, and costs nothing`, async () => {
    const before = await walletOf(world.store, world.project.id)
    const response = await complete(world, chatBody(`status=${status}`, { model: `sim-${status}`, stream: true }))
    assert.equal(response.status, 502)
    assert.deepEqual(await response.json(), {
      statusCode: 502,
      message: 'The model provider could not answer. Retry.',
      error: 'Bad Gateway',
    })
    assert.equal((await walletOf(world.store, world.project.id)).balance, before.balance)
    const call = await world.store.db
      .selectFrom('calls')
      .select('attempts')
      .where('model_id', '=', `sim-${status}`)
      .executeTakeFirstOrThrow()
    assert.deepEqual(
      (call.attempts as { failed?: string }[]).map(({ failed }) => failed),
      [kind],
    )
  })
}

test('an answer that takes longer than there is time for ends with length, and costs what came of it', async () => {
  const before = await walletOf(world.store, world.project.id)
  const response = await complete(world, chatBody('tokens=3000 gap=5', { model: 'hurried', stream: true }))
  const events = eventsOf(await response.text())
  assert.equal(events.at(-1), '[DONE]')
  assert.match(events.at(-2) ?? '', /"finish_reason":"length"/)
  const charge = await world.store.db
    .selectFrom('charges')
    .select(['outcome', 'output_tokens', 'charged_nanos'])
    .where('model_id', '=', 'hurried')
    .executeTakeFirstOrThrow()
  // All but the role, the finish and [DONE] are words.
  assert.deepEqual([charge.outcome, charge.output_tokens], ['completed', events.length - 3])
  assert.equal((await walletOf(world.store, world.project.id)).balance, before.balance - charge.charged_nanos)
  assert.ok(charge.charged_nanos > 0n)
})

test('when every provider is rate limited, the caller is told when a retry is worth while', async () => {
  const model = await addLoneModel(world)
  const response = await complete(world, chatBody('fault=U10', { model }))
  assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '2'])
  await response.text()
})
