import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { contract } from '../../src/console/contract.ts'
import { lettersOf } from '../support/advertiser-samples.ts'
import { idsFor, requestOf, SAMPLES, seedTenant, type TenantIds } from '../support/console-samples.ts'
import { createConsoleWorld, newPerson, type ConsoleWorld, type Person } from '../support/console.ts'
import { changesBetween, createPlainer, openCamera } from '../support/picture.ts'
import { startStripe, STRIPE_KEY, WEBHOOK_SECRET, type StripeStandIn } from '../support/stripe.ts'
import { rollUp } from '../support/world.ts'

/**
 * Pictures of each route of the console: the answer, and everything that it leaves behind in the database, as it was read and
 * found right once. When a change is meant, look at what `--test-update-snapshots` makes of the file beside this one.
 */

let world: ConsoleWorld
let stripe: StripeStandIn
/** Prices begin a minute before the world does, so that its first call finds them. */
const startedMs = Date.now() - 2 * 60_000
let takePicture: Awaited<ReturnType<typeof openCamera>>

before(async () => {
  stripe = await startStripe()
  world = await createConsoleWorld({
    roles: ['gateway', 'console'],
    env: {
      PARLEY_STRIPE_SECRET_KEY: STRIPE_KEY,
      PARLEY_STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      PARLEY_STRIPE_API_BASE: stripe.url,
      PARLEY_PUBLIC_URL: 'https://gateway.example.com',
    },
  })
  takePicture = await openCamera(world.store.db, world.secrets)
})
after(async () => {
  await world.close()
  await stripe.close()
})

async function pictureOf(key: string, person: Person, ids: TenantIds): Promise<unknown> {
  const { address, body } = requestOf(key, idsFor(key, ids))
  const hidden = [
    [person.email, 'my address'],
    [person.name, 'my name'],
    [stripe.url, 'stripe'],
    [ids.publisher.slice(-12), 'domain'],
    [lettersOf(ids.publisher), 'domain'],
    [new URL(world.url).host, 'gateway'],
  ] as const
  const spans = /\/(?:outcomes|catalogue)$/.test(key) ? 'hours' : 'days'
  const plain = createPlainer({ known: ids, hidden, spans, sinceMs: startedMs })
  const before = await takePicture()
  const answer = await person.send(address, { body })
  const changes = changesBetween(before, await takePicture())
  return plain({ status: answer.status, answer: answer.body ?? answer.text, changes })
}

for (const key of Object.keys(SAMPLES)) {
  test(key, async (t: TestContext) => {
    assert.ok(key in contract)
    const person = await newPerson(world)
    const ids = await seedTenant(world, person)
    await rollUp(world.store)
    t.assert.snapshot(await pictureOf(key, person, ids))
  })
}
