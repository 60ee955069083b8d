import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { presetNamed } from '../../src/providers/presets.ts'
import {
  addLoneModel,
  addModel,
  addProject,
  addProvider,
  complete,
  createWorld,
  until,
  type TestProject,
  type World,
} from '../support/world.ts'

/** What one tenant can provoke by what it asks, or by how it reads. Whatever it is, its neighbours are answered. */

/** One more than opens a breaker. */
const TRIES = 6
const NEIGHBOURS = 8

/** More than the context window of the models here. */
const TOO_LONG = [{ role: 'user', content: 'word '.repeat(200_000) }]

let world: World

before(async () => {
  world = await createWorld()
})
after(() => world.close())

interface Attack {
  script: string
  more?: Record<string, unknown>
  /** How the tenant takes the answer; to its end, if nothing is said. */
  read?(response: Response, abort: AbortController): Promise<unknown>
}

const ATTACKS: Record<string, Attack> = {
  'a request that is refused with 400': { script: 'status=400' },
  '… with 403, as for a flagged prompt': { script: 'status=403' },
  '… with 404': { script: 'status=404' },
  '… with 413': { script: 'status=413' },
  '… with 422': { script: 'status=422' },
  'a prompt that is too long': { script: 'tokens=1', more: { messages: TOO_LONG } },
  'a content filter': { script: 'tokens=5 finish=content_filter' },
  'a finish reason that nobody knows': { script: 'tokens=5 finish=invented_today' },
  'a tool call that is none': { script: 'tokens=5 error=tool_use_failed' },
  'an error midway that is about the request': { script: 'tokens=5 error=x' },
  'a prompt that the provider fails at': { script: 'status=500' },
  '… midway': { script: 'tokens=5 fault=U12-midstream' },
  '… without an end': { script: 'tokens=5 fault=U14-eof' },
  'hanging up before the answer': {
    script: 'tokens=5 ttft=5000',
    read: () => Promise.resolve(),
  },
  'hanging up midway': {
    script: 'tokens=500 gap=20',
    read: async (response, abort) => {
      await response.body?.getReader().read()
      abort.abort()
    },
  },
  'not reading': {
    script: 'tokens=20000 impatient=300',
    read: async (response, abort) => {
      await sleep(1_500)
      abort.abort()
      await response.body?.cancel().catch(() => {})
    },
  },
}

async function attack(model: string, project: TestProject, { script, more, read }: Attack): Promise<void> {
  const abort = new AbortController()
  const body = { model, stream: true, messages: [{ role: 'user', content: `Hello [[sim ${script}]]` }], ...more }
  if (script.includes('ttft')) setTimeout(() => abort.abort(), 200)
  try {
    const response = await complete(world, body, { project, signal: abort.signal })
    await (read ? read(response, abort) : response.arrayBuffer())
  } catch (error) {
    if (!abort.signal.aborted) throw error
  }
}

/** At the same time: an open breaker lets one after another pass, and only them. */
async function neighboursOf(model: string): Promise<number[]> {
  const project = await addProject(world.store, world.secrets, { credits: '1' })
  const asked = Array.from({ length: NEIGHBOURS }, async () => {
    const messages = [{ role: 'user', content: '[[sim tokens=3 ttft=100]]' }]
    const response = await complete(world, { model, messages }, { project })
    await response.arrayBuffer()
    return response.status
  })
  return Promise.all(asked)
}

for (const [name, one] of Object.entries(ATTACKS)) {
  test(`${name}: the neighbours are answered`, async () => {
    const model = await addLoneModel(world)
    const tenant = await addProject(world.store, world.secrets, { credits: '10' })
    if (one.read) await Promise.all(Array.from({ length: TRIES }, () => attack(model, tenant, one)))
    else for (let n = 0; n < TRIES; n++) await attack(model, tenant, one)
    assert.deepEqual(await neighboursOf(model), Array<number>(NEIGHBOURS).fill(200))
  })
}

for (const preset of ['xai', 'openrouter', 'together']) {
  test(`${preset}: a 403 is about the prompt, also when two tenants meet it`, async () => {
    const id = `${preset}-${uuidv7()}`
    const settings = presetNamed(preset)?.settings ?? assert.fail()
    await addProvider(world.store, world.secrets, id, `${world.simulator.url}/v1`, { settings })
    await addModel(world.store, { id, provider: id })
    await until(async () => {
      const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
      return (await response.text()).includes(`"${id}"`)
    })
    for (let n = 0; n < 2; n++) {
      const tenant = await addProject(world.store, world.secrets, { credits: '1' })
      await attack(id, tenant, { script: 'status=403' })
    }
    assert.deepEqual(await neighboursOf(id), Array<number>(NEIGHBOURS).fill(200))
  })
}
