import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  addModel,
  addProvider,
  chatBody,
  complete,
  createWorld,
  until,
  walletOf,
  type World,
} from '../support/world.ts'

/** What a provider says of a request. What it does to a connection or to an answer is tried by `npm run faults`. */

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
