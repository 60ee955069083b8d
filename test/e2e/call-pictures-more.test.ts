import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { sql } from 'kysely'
import { deleteConversation } from '../../src/store/calls/conversations.ts'
import { HOUR_MS } from '../../src/rules/durations.ts'
import { startGateway } from '../conformance/second-gateway.ts'
import { openCallCamera, visible, type CallCamera } from '../support/call-camera.ts'
import { createPlainer } from '../support/picture.ts'
import {
  addDeployment,
  addKeyPair,
  addModel,
  addProject,
  addProvider,
  addProviderKey,
  complete,
  createWorld,
  eventsOf,
  until,
  type TestModel,
  type TestProject,
  type TestProvider,
  type World,
} from '../support/world.ts'

/** Calls that go another way than the usual ones: see call-pictures.test.ts, and how its pictures are renewed. */

let world: World
let camera: CallCamera

interface Case {
  /** The provider's behaviour, in the words of the simulator. */
  does?: string
  /** The behaviour of the next route's provider, if there is one. */
  elseDoes?: string
  model?: Partial<TestModel>
  provider?: TestProvider & { baseUrl?: string; moreKeys?: string[] }
  body?: Record<string, unknown>
  headers?: Record<string, string>
  /** Changes of the project's row. */
  project?: { allowed_models?: string[]; content_retention_days?: number; concurrent_calls?: number }
  credits?: string
  /** Whether everything that is written after the answer has been written. */
  settled?: () => Promise<boolean>
}

const HELLO = { role: 'user', content: 'Hello' }
const TALK = { 'x-conversation-id': 'talk' }
const IMAGE = { type: 'image_url', image_url: { url: 'https://example.com/cat.png', detail: 'low' } }
const FILE = { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' } }
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const LOOK = { type: 'function', function: { name: 'look', description: 'Looks.', parameters: SCHEMA, strict: true } }
const CALLED = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"city":"Oslo"}' } }
/** A request that uses what every format has a place for. */
const FULL = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it like' },
        { type: 'text', text: 'in Oslo?' },
      ],
    },
    { role: 'assistant', content: 'I look.', tool_calls: [CALLED] },
    { role: 'tool', tool_call_id: 'call_1', content: 'Rain.' },
  ],
  max_completion_tokens: 40,
  temperature: 0.5,
  stop: ['END'],
  tools: [LOOK],
  tool_choice: 'auto',
}
const QUICK = { firstTokenTimeoutMs: 500 }
const IMPATIENT = { idleTimeoutMs: 1_000 }

const CASES: Record<string, Case> = {
  'a stream with its usage at the end': {
    does: 'tokens=5',
    body: { stream: true, stream_options: { include_usage: true } },
  },
  'a provider that reports no usage': { does: 'tokens=5&fault=U13' },
  'a provider that reports no usage of a stream': { does: 'tokens=5&fault=U13', body: { stream: true } },
  'usage below nothing': { does: 'tokens=5&fault=U19-negative' },
  'usage beyond all bounds': { does: 'tokens=5&fault=U19-huge', body: { max_tokens: 20 } },
  'usage in words': { does: 'tokens=5&fault=U19-string' },
  'a provider that does not begin': { does: 'fault=U5', model: { deployment: QUICK } },
  'a provider that falls silent': { does: 'fault=U6', model: { deployment: IMPATIENT }, body: { stream: true } },
  'an answer that takes too long': { does: 'fault=U6', model: { deployment: { totalTimeoutMs: 1_000 } } },
  'a provider that is not there': { provider: { baseUrl: 'http://127.0.0.1:9/v1' } },
  'a stream without its end': { does: 'tokens=9&fault=U14-eof', body: { stream: true } },
  'an event that is no JSON': { does: 'tokens=9&fault=U7-badjson', body: { stream: true } },
  'an answer that is filtered': { does: 'tokens=5&finish=content_filter' },
  'an ending that nobody knows': { does: 'tokens=5&finish=tired' },
  'an empty answer': { does: 'tokens=0' },
  'thoughts before the answer': { does: 'thoughts=Well%20now&text=Done', body: { stream: true } },
  'two calls of a tool in a stream': { does: 'tool=look&calls=2', body: { tools: [LOOK], stream: true } },
  'images and files': {
    provider: { settings: { readsFiles: true } },
    body: { messages: [{ role: 'user', content: [{ type: 'text', text: 'What?' }, IMAGE, FILE] }] },
  },
  'a format of the answer, and every other field': {
    body: {
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } },
      temperature: 1.5,
      top_p: 0.9,
      seed: 7,
      stop: 'END',
      user: 'reader-1',
      logit_bias: { 50256: -100 },
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      n: 1,
      logprobs: true,
      unknown_field: 1,
      store: false,
      reasoning_effort: 'low',
      verbosity: 'high',
      prompt_cache_key: 'guide',
    },
  },
  'two answers at once': { body: { n: 2 } },
  'an error in the format of OpenAI': { body: { temperature: 3 }, headers: { 'x-error-format': 'openai' } },
  'a prompt that is longer than the window': {
    model: { contextWindow: 10 },
    body: { messages: [{ role: 'user', content: 'Hello there '.repeat(20) }] },
  },
  'a field that the route does not support': {
    model: { deployment: { unsupportedFields: ['seed'] } },
    body: { seed: 7 },
  },
  'a field that the first route does not support': {
    model: { deployment: { unsupportedFields: ['seed'] } },
    elseDoes: 'tokens=4',
    body: { seed: 7 },
  },
  'a model that the project may not use': { project: { allowed_models: ['sim-small'] } },
  'one of two keys that must rest': { does: 'tokens=4&fault=U10&times=1', provider: { moreKeys: ['second-key'] } },
  'one of two keys that is refused': {
    does: 'tokens=4',
    provider: { apiKey: 'bad-key', moreKeys: ['second-key'] },
    settled: isKeyRefused,
  },
  'an only key that must rest': { does: 'fault=U10' },
  'a failure that is over when it is asked again': { does: 'tokens=4&status=500&times=1' },
  'a provider that always fails': { does: 'status=503' },
  'two routes that fail': { does: 'status=500', elseDoes: 'fault=U12-json' },
  'a wallet that ends within the answer': { does: 'tokens=400', credits: '0.0002', body: { stream: true } },
  'a conversation whose text is not kept': { does: 'tokens=4', headers: TALK, project: { content_retention_days: 0 } },
  'a conversation of a call that fails': { does: 'status=400', headers: TALK, settled: isTalkCounted },
  'a conversation with a name that is none': { headers: { 'x-conversation-id': 'no spaces' } },
  'a key to repeat by that is none': { headers: { 'idempotency-key': 'a b' } },
  'one key of the pair alone': { headers: { 'x-secret-key': '' } },
  'what the chat format sends': { does: 'text=Wet.', body: FULL },
  'what Anthropic is sent': { does: 'text=Wet.', body: FULL, provider: { kind: 'anthropic' } },
  'what Gemini is sent': { does: 'text=Wet.', body: FULL, provider: { kind: 'gemini', baseUrl: '/v1beta' } },
  'what Vertex is sent': { does: 'text=Wet.', body: FULL, provider: { kind: 'vertex' } },
  'what Bedrock is sent': {
    does: 'text=Wet.',
    body: FULL,
    provider: { kind: 'bedrock', baseUrl: '/', settings: { region: 'eu-north-1' } },
  },
  'what the chat format sends with the settings of its provider': {
    does: 'text=Wet.',
    body: FULL,
    provider: { settings: { maxTokensField: 'max_completion_tokens', headers: { 'x-team': 'parley' } } },
  },
}

const modelOf = (title: string) => title.toLowerCase().replaceAll(/\W+/g, '-').slice(0, 50)

/** Each has a provider and a model of its own: a gateway learns from every call, and leaves alone what fails. */
async function addCase(title: string, { does = 'tokens=4', elseDoes, model, provider = {} }: Case): Promise<void> {
  const { store, secrets, simulator } = world
  const { baseUrl = '/v1', moreKeys = [], ...options } = provider
  const id = modelOf(title)
  const addressOf = (path: string) => new URL(path, simulator.url).href
  const providerId = await addProvider(store, secrets, id, addressOf(baseUrl), options)
  for (const key of moreKeys) await addProviderKey(store, secrets, providerId, key, key)
  const route = { id, provider: id, upstreamModel: `sim?${does}` }
  await addModel(store, { ...route, ...model })
  if (elseDoes === undefined) return
  await addProvider(store, secrets, `${id}-2`, addressOf('/v1'))
  const second = { provider: `${id}-2`, upstreamModel: `sim?${elseDoes}`, deployment: { position: 1 } }
  await addDeployment(store, { ...route, ...second })
}

before(async () => {
  world = await createWorld()
  for (const [title, one] of Object.entries(CASES)) await addCase(title, one)
  for (const [title, { how = {} }] of Object.entries(STORIES)) await addCase(title, how)
  const last = modelOf(Object.keys(STORIES).at(-1) ?? '')
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes(`"${last}"`)
  }, 20_000)
  camera = await openCallCamera(world)
})
after(() => world.close())

const newProject = (credits?: string) => addProject(world.store, world.secrets, { credits })
const bodyOf = (model: string, extra: Record<string, unknown> = {}) => ({ model, messages: [HELLO], ...extra })

async function change({ id }: TestProject, changes: NonNullable<Case['project']>): Promise<void> {
  await world.store.db.updateTable('projects').set(changes).where('id', '=', id).execute()
}

/** It is noted for the operator, out of the way of the call. */
async function isKeyRefused(): Promise<boolean> {
  const { db } = world.store
  const refused = await db.selectFrom('provider_keys').select('id').where('rejected_at', 'is not', null).execute()
  return refused.length > 0
}

/** Nothing of what was said stands in it. */
async function isTalkCounted(): Promise<boolean> {
  const { rows } = await sql`select from conversations c where id = 'talk'
    and not exists (select from messages where project_id = c.project_id and conversation_id = c.id)`.execute(
    world.store.db,
  )
  return rows.length > 0
}

for (const [title, { body, headers, project: changes, credits, settled }] of Object.entries(CASES)) {
  test(title, async (t: TestContext) => {
    const project = await newProject(credits)
    if (changes) await change(project, changes)
    const send = async () => visible(await complete(world, bodyOf(modelOf(title), body), { headers, project }))
    const messages = headers === TALK && !title.includes('fails') ? 2 : 0
    t.assert.snapshot(await camera.pictureOf(project, send, { messages, settled }))
  })
}

interface Story {
  how?: Case
  tell: (t: TestContext, model: string) => Promise<void>
}

const STORIES: Record<string, Story> = {
  'the second turn of a conversation keeps what is new, and a deleted one is gone': {
    how: { does: 'text=Good.' },
    async tell(t, model) {
      const project = await newProject()
      const messages = [HELLO, { role: 'assistant', content: 'Good.' }, HELLO]
      const send = async (sent: unknown[]) =>
        visible(await complete(world, bodyOf(model, { messages: sent }), { project, headers: TALK }))
      t.assert.snapshot(await camera.pictureOf(project, () => send([HELLO]), { messages: 2 }))
      t.assert.snapshot(await camera.pictureOf(project, () => send(messages), { messages: 4 }))
      await deleteConversation(world.store.db, { projectId: project.id, id: 'talk' })
      t.assert.snapshot(await camera.pictureOf(project, () => send(messages)))
    },
  },
  'a key to repeat by: with another body, as a stream, and in another conversation': {
    async tell(t, model) {
      const project = await newProject()
      const send = async (extra: object, more: object = {}) => {
        const headers = { 'idempotency-key': 'once', ...more }
        return visible(await complete(world, bodyOf(model, { user: 'a', ...extra }), { project, headers }))
      }
      await camera.pictureOf(project, () => send({}))
      t.assert.snapshot(await camera.pictureOf(project, () => send({ user: 'b' })))
      t.assert.snapshot(await camera.pictureOf(project, () => send({}, TALK)))
      t.assert.snapshot(await camera.pictureOf(project, () => send({ stream: true })))
    },
  },
  'a stream that is repeated by its key': {
    async tell(t, model) {
      const project = await newProject()
      const headers = { 'idempotency-key': 'once' }
      const send = async () => visible(await complete(world, bodyOf(model, { stream: true }), { project, headers }))
      await camera.pictureOf(project, send)
      t.assert.snapshot(await camera.pictureOf(project, send))
    },
  },
  'calls beside one that runs: the same again, and one more than the project may have': {
    how: { does: 'fault=U6' },
    async tell(t, model) {
      // One of its own, which cuts off what still runs when it ends.
      const { url } = await startGateway(world, { PARLEY_DRAIN_GRACE_MS: '0' })
      const there = { ...world, url }
      const project = await newProject()
      await change(project, { concurrent_calls: 1 })
      const headers = { 'idempotency-key': 'once' }
      const body = bodyOf(model, { stream: true })
      const running = await complete(there, body, { project, headers })
      assert.equal(running.status, 200)
      for (const more of [headers, {}]) {
        const send = async () => visible(await complete(there, body, { project, headers: more }))
        t.assert.snapshot(createPlainer({ known: {} })(await send()))
      }
      await running.body?.cancel()
    },
  },
  'a caller who hangs up within the answer': {
    how: { does: 'fault=U6' },
    async tell(t, model) {
      const project = await newProject()
      const leave = async () => {
        const hangUp = new AbortController()
        const body = bodyOf(model, { stream: true })
        const response = await complete(world, body, { project, headers: TALK, signal: hangUp.signal })
        const events = await firstEvents(response, 4)
        hangUp.abort()
        return { status: response.status, events }
      }
      t.assert.snapshot(await camera.pictureOf(project, leave, { messages: 1 }))
    },
  },
  'a route that has failed too often is left alone': {
    how: { does: 'status=500', elseDoes: 'tokens=4' },
    async tell(t, model) {
      const project = await newProject()
      const send = async () => visible(await complete(world, bodyOf(model), { project }))
      for (let n = 0; n < 4; n++) await send()
      t.assert.snapshot(await camera.pictureOf(project, send))
      t.assert.snapshot(await camera.pictureOf(project, send))
    },
  },
  'keys that were revoked, that have expired, that will, and that belong to another pair': {
    async tell(t, model) {
      const { store, secrets } = world
      const project = await newProject()
      const changes = [
        { active: false },
        { active: false, deleted_at: new Date() },
        { expires_at: new Date(Date.now() - HOUR_MS) },
        { expires_at: new Date(Date.now() + HOUR_MS) },
      ]
      for (const one of changes) {
        const pair = { ...project, ...(await addKeyPair(store, secrets, project.id)) }
        await store.db.updateTable('key_pairs').set(one).where('publishable_key', '=', pair.publishableKey).execute()
        const send = async () => visible(await complete(world, bodyOf(model), { project: pair }))
        t.assert.snapshot(await camera.pictureOf(pair, send))
      }
      const { secretKey } = await addKeyPair(store, secrets, project.id)
      const headers = { 'x-secret-key': secretKey }
      const send = async () => visible(await complete(world, bodyOf(model), { project, headers }))
      t.assert.snapshot(await camera.pictureOf(project, send))
    },
  },
  'what is switched off, and the models that a project may use': {
    how: { elseDoes: 'tokens=4' },
    async tell(t, model) {
      const { db } = world.store
      const project = await newProject()
      await change(project, { allowed_models: [model] })
      const list = () => fetch(`${world.url}/v1/models`, { headers: project.headers })
      const etag = (await list()).headers.get('etag') ?? assert.fail('no etag')
      t.assert.snapshot(await camera.pictureOf(project, async () => visible(await list())))
      const known = { headers: { ...project.headers, 'if-none-match': etag } }
      const ask = async () => visible(await fetch(`${world.url}/v1/models`, known))
      t.assert.snapshot(await camera.pictureOf(project, ask))
      const send = async () => visible(await complete(world, bodyOf(model), { project }))
      const routes = db.updateTable('deployments').set({ enabled: false }).where('model_id', '=', model)
      await routes.where('position', '=', 0).execute()
      await untilFollowed(model)
      t.assert.snapshot(await camera.pictureOf(project, send))
      await routes.execute()
      await until(async () => !(await (await list()).text()).includes(model))
      t.assert.snapshot(await camera.pictureOf(project, send))
    },
  },
  'what else the gateway is asked': {
    async tell(t, model) {
      const project = await newProject()
      const { headers } = project
      const requests: [method: string, path: string, more?: RequestInit][] = [
        ['OPTIONS', '/v1/chat/completions', { headers: { origin: 'https://example.com' } }],
        ['GET', '/v1/chat/completions', { headers }],
        ['POST', '/v1/models', { headers }],
        ['HEAD', '/v1/models', { headers }],
        ['GET', '/', {}],
        ['GET', '/v1/models', {}],
        ['GET', '/v1/receipts/chatcmpl-nobody', { headers }],
        ['DELETE', '/v1/receipts/chatcmpl-nobody', { headers }],
        ['POST', '/v1/chat/completions', { headers, body: JSON.stringify(bodyOf(model)) }],
        [
          'POST',
          '/v1/chat/completions?a=b',
          { headers: { ...headers, 'content-type': 'application/json' }, body: '[]' },
        ],
      ]
      for (const [method, path, more] of requests) {
        const ask = async () => visible(await fetch(`${world.url}${path}`, { method, ...more }))
        t.assert.snapshot(await camera.pictureOf(project, ask))
      }
    },
  },
  'what operators ask, and what is measured': {
    async tell(t) {
      for (const path of ['/healthz', '/readyz', '/nothing'])
        t.assert.snapshot(await visible(await fetch(`${world.opsUrl}${path}`)))
      const text = await (await fetch(`${world.opsUrl}/metrics`)).text()
      const named = text.split('\n').filter((line) => /^# (HELP|TYPE) parley_(?!nodejs|process)/.test(line))
      t.assert.snapshot(named)
    },
  },
  'a gateway that drains': {
    how: { does: 'fault=U6' },
    async tell(t, model) {
      const env = { PARLEY_DRAIN_DELAY_MS: '2000', PARLEY_DRAIN_GRACE_MS: '0' }
      const { url, opsUrl, stop } = await startGateway(world, env)
      const there = { ...world, url }
      const running = await complete(there, bodyOf(model, { stream: true }))
      const stopped = stop()
      const ready = () => fetch(`${opsUrl}/readyz`)
      await until(async () => (await ready()).status === 503)
      t.assert.snapshot(await visible(await ready()))
      const { status, headers } = await complete(there, bodyOf('sim-small'))
      t.assert.snapshot({ status, connection: headers.get('connection') })
      t.assert.snapshot(eventsOf(await running.text()).slice(-1))
      await stopped
    },
  },
}

for (const [title, { tell }] of Object.entries(STORIES)) test(title, (t: TestContext) => tell(t, modelOf(title)))

/** The first events of a stream that goes on. */
async function firstEvents(response: Response, count: number): Promise<string[]> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail('no body')
  let text = ''
  while (eventsOf(text).length < count) {
    const { value, done } = await reader.read()
    if (done) return assert.fail(`the stream ended: ${text}`)
    text += value
  }
  return eventsOf(text)
}

/** Until the gateway knows that a route is off: the next one answers. */
async function untilFollowed(model: string): Promise<void> {
  const log = () => world.logs.findLast((line) => line.includes(`"model":"${model}"`)) ?? ''
  await until(async () => {
    await (await complete(world, bodyOf(model))).text()
    return log().includes(`"provider":"${model}-2"`)
  })
}
