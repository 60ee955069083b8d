import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { SecondGateway } from '../conformance/second-gateway.ts'
import { here } from '../support/operator.ts'
import { rotationOf, type Rotation, type Step } from '../support/rotation.ts'
import {
  addKeyPair,
  chatBody,
  complete,
  createWorld,
  untilReady,
  type TestProject,
  type World,
} from '../support/world.ts'

let world: World
let rotation: Rotation

before(async () => {
  // As with a real balancer, what was sent to a gateway before it was taken out still arrives.
  world = await createWorld({ env: { PARLEY_DRAIN_DELAY_MS: '500' } })
  rotation = rotationOf(world)
})
after(() => world.close())

/** Two gateways behind a balancer that sends nothing to one that is not in service. */
interface Fleet {
  inService: SecondGateway[]
  /** One after the other, as an operator would. */
  moveTo(step: Step): Promise<void>
}

async function startFleet(): Promise<Fleet> {
  const inService = [await rotation.launchGateway('before'), await rotation.launchGateway('before')]
  return {
    inService,
    async moveTo(step) {
      for (let n = 0; n < 2; n += 1) {
        const [retiring] = inService.splice(0, 1)
        await retiring?.stop()
        inService.push(await rotation.launchGateway(step))
        // Calls meet every mix of the two steps.
        await sleep(300)
      }
    },
  }
}

interface Traffic {
  /** Pairs that callers use; each call takes the next one. */
  pairs: TestProject[]
  failures: string[]
  keys: number
  end(): Promise<void>
}

/** Each call has an Idempotency-Key and is sent a second time, wherever that leads. */
function startTraffic(fleet: Fleet): Traffic {
  const traffic = { pairs: [world.project], failures: [] as string[], keys: 0 }
  let isEnding = false
  let turn = 0
  async function send(project: TestProject, key: string): Promise<string | undefined> {
    const gateway = fleet.inService[turn++ % fleet.inService.length]!
    const answer = await complete(gateway, chatBody('tokens=2'), { project, headers: { 'idempotency-key': key } })
    const { id, error } = (await answer.json()) as { id?: string; error?: unknown }
    if (answer.status !== 200) traffic.failures.push(`${answer.status} ${JSON.stringify(error)}`)
    return id
  }
  async function callOn(): Promise<void> {
    while (!isEnding) {
      const project = traffic.pairs[traffic.keys % traffic.pairs.length]!
      const key = uuidv7()
      traffic.keys += 1
      try {
        const [first, again] = [await send(project, key), await send(project, key)]
        if (first !== again) traffic.failures.push(`${key} ran as ${first} and as ${again}`)
      } catch (error) {
        traffic.failures.push(String(error))
      }
    }
  }
  const callers = Array.from({ length: 4 }, callOn)
  const end = async () => {
    isEnding = true
    await Promise.all(callers)
  }
  return Object.assign(traffic, { end })
}

test('the whole rotation, as it is documented, fails no call of two gateways and charges nothing twice', async (t) => {
  // Theirs is a fleet of its own: this one would stay at the first step.
  await world.running.stop()
  const fleet = await startFleet()
  const traffic = startTraffic(fleet)
  t.after(async () => {
    await traffic.end()
    await Promise.all(fleet.inService.map((gateway) => gateway.stop()))
  })
  const command = (step: Step, ...args: string[]) =>
    here(args, { env: { ...world.env, PARLEY_SECRET: rotation.at(step) } })
  const addPair = async (step: Step) => {
    const pair = await addKeyPair(world.store, rotation.secretsAt(step), world.project.id)
    return { ...world.project, ...pair }
  }

  await fleet.moveTo('listed')
  traffic.pairs.push(await addPair('listed'))
  // A console that was swapped before the gateways makes pairs that those know already.
  const newer = await addPair('swapped')
  traffic.pairs.push(newer)
  await fleet.moveTo('swapped')
  const rewrap = await command('swapped', 'secrets', 'rewrap')
  assert.equal(rewrap.code, 0, rewrap.stderr)
  await sleep(500)
  for (const gateway of fleet.inService) await untilReady(gateway.opsUrl)
  assert.match((await command('dropped', 'doctor', '--offline')).stdout, /^problem +secrets +secret 1 is missing/m)

  // Publishers have rolled the pairs that were made under the old secret.
  traffic.pairs.splice(0, traffic.pairs.length, newer)
  await sleep(300)
  await world.store.db.updateTable('key_pairs').set({ active: false }).where('secret_version', '=', 1).execute()
  assert.match((await command('dropped', 'doctor', '--offline')).stdout, /^ok +secrets /m)
  await fleet.moveTo('dropped')
  const forgotten = await command('dropped', 'secrets', 'forget', '1')
  assert.equal(forgotten.code, 0, forgotten.stderr)
  await sleep(300)
  await traffic.end()

  assert.deepEqual(traffic.failures, [])
  const charges = await world.store.db.selectFrom('charges').select('id').execute()
  assert.ok(traffic.keys > 20, String(traffic.keys))
  assert.equal(charges.length, traffic.keys)
})
