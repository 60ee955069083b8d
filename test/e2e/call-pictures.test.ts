import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { openCallCamera, visible, type CallCamera } from '../support/call-camera.ts'
import {
  addDeployment,
  addModel,
  addProject,
  addProvider,
  chatBody,
  complete,
  createWorld,
  until,
  type TestProject,
  type World,
} from '../support/world.ts'

/**
 * Pictures of calls of every kind: the answer, and everything that they leave behind in the database and in the metrics, as it
 * was read and found right once. When a change is meant, look at what `--test-update-snapshots` makes of the file beside this
 * one.
 */

let world: World
let camera: CallCamera

before(async () => {
  world = await createWorld()
  const { store, secrets, simulator } = world
  await addProvider(store, secrets, 'second', `${simulator.url}/v1`)
  const free = { cachedInput: 0n, cacheWrite: 0n, reasoning: 0n }
  const cost = { ...free, input: 700_000_000n, output: 2_000_000_000n }
  await addModel(store, {
    id: 'two-routes',
    provider: 'simulator',
    upstreamModel: 'sim?status=500',
    deployment: { position: 0, cost: { ...free, input: 900_000_000n, output: 3_000_000_000n } },
  })
  await addDeployment(store, { id: 'two-routes', provider: 'second', deployment: { position: 1, cost } })
  for (const n of Object.keys(CASES).keys()) await addModel(store, { id: `model-${n}`, provider: 'simulator' })
  await addModel(store, { id: 'refusing', provider: 'second', upstreamModel: 'sim?status=400' })
  await addModel(store, { id: 'failing', provider: 'second', upstreamModel: 'sim?error=overloaded' })
  await addModel(store, { id: 'unpriced', provider: 'second', price: null })
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes('"failing"')
  })
  camera = await openCallCamera(world)
})
after(() => world.close())

interface Case {
  /** Each case has a model of its own, because a gateway sets aside as much as it has learned that the model needs. */
  body: (model: string) => unknown
  headers?: Record<string, string>
  project?: () => Promise<TestProject>
}

const EVERY_KIND = 'tokens=7 cached=3 written=2 reasoning=5'
const TOOLS = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }]
const CASES: Record<string, Case> = {
  'an answer with tokens of every kind': {
    body: (model) => chatBody(EVERY_KIND, { model, max_tokens: 50, user: 'reader-1' }),
  },
  'a streamed answer with tokens of every kind': { body: (model) => chatBody(EVERY_KIND, { model, stream: true }) },
  'a call of a tool': { body: (model) => chatBody('tool=weather', { model, tools: TOOLS }) },
  'an answer that is cut at its limit': { body: (model) => chatBody('tokens=30', { model, max_tokens: 4 }) },
  'a turn of a conversation': {
    body: (model) => chatBody('tokens=4', { model }),
    headers: { 'x-conversation-id': 'talk' },
  },
  'an answer of the second route': { body: () => chatBody('tokens=4', { model: 'two-routes' }) },
  'a call with a key to repeat it by': {
    body: (model) => chatBody('tokens=4', { model }),
    headers: { 'idempotency-key': 'once' },
  },
  'a request that the provider refuses': { body: () => chatBody('', { model: 'refusing' }) },
  'a provider that breaks off': { body: () => chatBody('', { model: 'failing', stream: true }) },
  'a model without a price': { body: () => chatBody('', { model: 'unpriced' }) },
  'an unknown model': { body: () => chatBody('', { model: 'nobody' }) },
  'a body that is no request': { body: (model) => ({ model, messages: [] }) },
  'a body that is no JSON': { body: () => '{' },
  'keys that nobody has': {
    body: (model) => chatBody('', { model }),
    headers: { 'x-publishable-key': 'ply_pk_00nobody', 'x-secret-key': 'ply_sk_00nobody' },
  },
  'no credit': {
    body: (model) => chatBody('', { model }),
    project: () => addProject(world.store, world.secrets, { credits: '0' }),
  },
  'too little credit': {
    body: (model) => chatBody('', { model }),
    project: () => addProject(world.store, world.secrets, { credits: '0.000001' }),
  },
  'an account that is not activated': {
    body: (model) => chatBody('', { model }),
    project: () => addProject(world.store, world.secrets, { isActivated: false }),
  },
  'a domain that is not verified': {
    body: (model) => chatBody('', { model }),
    project: () => addProject(world.store, world.secrets, { isVerified: false }),
  },
}

for (const [n, [title, { body, headers, project: makeProject }]] of Object.entries(CASES).entries()) {
  test(title, async (t: TestContext) => {
    const project = await (makeProject?.() ?? addProject(world.store, world.secrets))
    const send = async () => visible(await complete(world, body(`model-${n}`), { headers, project }))
    const messages = headers?.['x-conversation-id'] === undefined ? 0 : 2
    t.assert.snapshot(await camera.pictureOf(project, send, { messages }))
    if (headers?.['idempotency-key'] !== undefined) t.assert.snapshot(await camera.pictureOf(project, send))
  })
}

test('a receipt, the list of models, and what is not there', async (t: TestContext) => {
  const project = await addProject(world.store, world.secrets)
  const answer = await complete(world, chatBody(EVERY_KIND), { project, headers: { 'x-conversation-id': 'talk' } })
  const { id } = (await answer.json()) as { id: string }
  assert.equal(answer.status, 200)
  const kept = () => world.store.db.selectFrom('messages').select('seq').where('project_id', '=', project.id).execute()
  await until(async () => (await kept()).length === 2)
  for (const path of [
    `/v1/receipts/${id}`,
    '/v1/models',
    '/v1/models/two-routes',
    '/v1/models/nobody',
    '/v1/nothing',
  ]) {
    const get = async () => visible(await fetch(`${world.url}${path}`, { headers: project.headers }))
    t.assert.snapshot(await camera.pictureOf(project, get))
  }
})
