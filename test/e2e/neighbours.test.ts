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

/** Trouble that one tenant can provoke by what it asks, or by how it reads: its neighbours are answered all the same. */

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

/** Returns the first hold of a call without `max_tokens`, and the charge for a call whose caller leaves at once. */
async function costsOf(model: string, project: TestProject) {
  const asked = await complete(
    world,
    { model, messages: [{ role: 'user', content: 'Hello [[sim tokens=3]]' }] },
    { project },
  )
  await asked.arrayBuffer()
  const { held } = await receiptOf(asked, project)
  const abort = new AbortController()
  const content = `${'word '.repeat(200)}[[sim tokens=3000 gap=2]]`
  const body = { model, stream: true, messages: [{ role: 'user', content }] }
  const left = await complete(world, body, { project, signal: abort.signal })
  const reader = left.body!.getReader()
  for (let n = 0; n < 2; n++) await reader.read()
  abort.abort()
  const { prompt, written, source } = await receiptOf(left, project)
  return { held, prompt, isReadOn: written >= 3_000, source }
}

async function receiptOf({ headers }: Response, project: TestProject) {
  const id = headers.get('x-completion-id')
  let receipt: { held_nanos: string; usage: Record<string, number | string> } | undefined
  await until(async () => {
    const response = await fetch(`${world.url}/v1/receipts/${id}`, { headers: project.headers })
    const body = await response.text()
    if (response.ok) receipt = JSON.parse(body)
    return response.ok
  })
  const { held_nanos: held, usage } = receipt ?? assert.fail()
  return { held: BigInt(held), prompt: usage.input_tokens, written: Number(usage.output_tokens), source: usage.source }
}

const HIDING = 'tokens=0 reasoning=300 untold'
const OUT_OF_SIGHT: Record<string, Attack> = {
  'filtered answers': { script: `${HIDING} finish=content_filter` },
  'answers of which a part was filtered': { script: 'tokens=5 reasoning=300 untold finish=content_filter' },
  'answers without a word': { script: HIDING },
  'answers with an odd end': { script: 'tokens=5 reasoning=300 untold finish=invented_today' },
  'answers that the caller stopped': { script: 'tokens=5 reasoning=300 untold', more: { stop: 'x' } },
}

test('what one tenant shows of a model that seems to think unseen changes no hold and no charge of its neighbours', async () => {
  const model = await addLoneModel(world)
  const thief = await addProject(world.store, world.secrets)
  const neighbour = await addProject(world.store, world.secrets)
  const before = await costsOf(model, neighbour)
  assert.deepEqual([before.isReadOn, before.source], [false, 'estimated'])
  for (const [name, one] of Object.entries(OUT_OF_SIGHT)) {
    for (let n = 0; n < 3; n++) await attack(model, thief, one)
    const { held, isReadOn } = await costsOf(model, thief)
    assert.ok(held < 3n * before.held && !isReadOn, `${name} say nothing of thoughts, only how long answers are`)
  }
  for (let n = 0; n < TRIES; n++) await attack(model, thief, { script: 'tokens=5 reasoning=300 untold' })
  const [own, others] = [await costsOf(model, thief), await costsOf(model, neighbour)]
  assert.ok(own.held > 10n * before.held && own.isReadOn, 'who has seen it pays for it')
  assert.deepEqual(others, before)
})

test('long answers and another tokenizer, as one tenant shows them, change no hold and no charge of its neighbours', async () => {
  const model = await addLoneModel(world)
  const thief = await addProject(world.store, world.secrets)
  const neighbour = await addProject(world.store, world.secrets)
  const before = await costsOf(model, neighbour)
  const content = `${'word '.repeat(200)}[[sim tokens=600 factor=3]]`
  for (let n = 0; n < 32; n++)
    await attack(model, thief, { script: '', more: { messages: [{ role: 'user', content }] } })
  const [own, others] = [await costsOf(model, thief), await costsOf(model, neighbour)]
  assert.ok(
    own.held > 3n * before.held && Number(own.prompt) > 2 * Number(before.prompt),
    'who has seen it pays for it',
  )
  assert.deepEqual(others, before)
})
