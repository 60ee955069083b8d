import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { FAULT_NAMES } from '../../simulator/faults.ts'
import {
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

/** Marks that must not be found where they do not belong. */
const PROMPT = 'CANARY-PROMPT-5f1d'
const UNKEPT_PROMPT = 'CANARY-UNKEPT-91ac'
const LOOSE_PROMPT = 'CANARY-LOOSE-77e0'
/** Part of a model name or path that the caller makes up: its publisher sees it among the refused requests. */
const NAME = 'CANARY-NAME-51d3'
const REPLY = 'CANARY-REPLY-c02b'
const PROVIDER_KEY = 'sk-CANARY-PROVIDER-KEY-3a9e'

let world: World
let parrot: Server
let forgetful: TestProject

before(async () => {
  world = await createWorld()
  parrot = await createParrot()
  const { port } = parrot.address() as AddressInfo
  await addProvider(world.store, world.secrets, 'parrot', `http://127.0.0.1:${port}/v1`, { apiKey: PROVIDER_KEY })
  await addModel(world.store, {
    id: 'parrot',
    provider: 'parrot',
    deployment: { firstTokenTimeoutMs: 300, idleTimeoutMs: 300 },
  })
  await addModel(world.store, {
    id: 'sim-hasty',
    provider: 'simulator',
    deployment: { firstTokenTimeoutMs: 200, idleTimeoutMs: 200 },
  })
  forgetful = await addProject(world.store, world.secrets)
  await world.store.db
    .updateTable('projects')
    .set({ content_retention_days: 0 })
    .where('id', '=', forgetful.id)
    .execute()
  await until(async () =>
    (await (await fetch(`${world.url}/v1/models`, { headers: world.project.headers })).text()).includes('sim-hasty'),
  )
})
after(async () => {
  await world.close()
  parrot.closeAllConnections()
  parrot.close()
})

/** A hostile provider: whatever it answers, it repeats the prompt and our key in it. */
async function createParrot(): Promise<Server> {
  const server = createServer((req, res) => {
    void textOf(req).then((body) => {
      const echo = JSON.stringify({
        error: { message: `${req.headers.authorization} said ${body}`, code: PROVIDER_KEY, type: PROMPT },
      })
      const way = /\[\[way (\w+)\]\]/.exec(body)?.[1]
      if (way === 'refuse') res.writeHead(400, PROMPT, { 'x-echo': PROVIDER_KEY }).end(echo)
      else if (way === 'fail') res.writeHead(500).end(echo)
      else if (way === 'redirect')
        res.writeHead(302, { location: `http://127.0.0.1:1/${PROMPT}?key=${PROVIDER_KEY}` }).end()
      else if (way === 'garbage') res.socket?.end(`${PROVIDER_KEY} ${PROMPT}\r\n\r\n`)
      else res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${echo}\n\n`)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

async function textOf(req: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of req) text += String(piece)
  return text
}

async function sendAround(): Promise<void> {
  const say = async (prompt: string, script: string, extra: object, headers = {}, project = world.project) => {
    const body = {
      ...chatBody(script),
      ...extra,
      messages: [{ role: 'user', content: `${prompt} [[sim ${script}]] [[way ${script}]]` }],
    }
    const response = await complete(world, body, { headers, project, signal: AbortSignal.timeout(5_000) })
    await response.text().catch(() => '')
  }
  const kept = { 'x-conversation-id': 'kept' }
  for (const stream of [false, true]) {
    await say(PROMPT, `tokens=5&text=${REPLY}`.replace('&', ' '), { stream }, kept)
    await say(UNKEPT_PROMPT, `tokens=5 text=${REPLY}-UNKEPT`, { stream }, { 'x-conversation-id': 'unkept' }, forgetful)
    await say(LOOSE_PROMPT, `tokens=5 text=${REPLY}-LOOSE`, { stream })
    for (const fault of FAULT_NAMES) await say(LOOSE_PROMPT, `tokens=6 fault=${fault}`, { stream, model: 'sim-hasty' })
    for (const way of ['refuse', 'fail', 'redirect', 'garbage', 'stream'])
      await say(LOOSE_PROMPT, way, { stream, model: 'parrot' })
  }
  // Refusals of every kind, each with marked content.
  await say(LOOSE_PROMPT, '', { temperature: 9 })
  await say(LOOSE_PROMPT, '', { model: `${NAME}-model` })
  await say(LOOSE_PROMPT, '', {}, { 'x-conversation-id': `not valid ${LOOSE_PROMPT}` })
  await say(LOOSE_PROMPT, '', {}, { 'x-secret-key': `${world.project.secretKey}x` })
  await say(LOOSE_PROMPT, '', {}, { 'x-publishable-key': LOOSE_PROMPT })
  await say(LOOSE_PROMPT, '', {}, {}, await addProject(world.store, world.secrets, { credits: '0' }))
  await (await complete(world, `{"model": "${LOOSE_PROMPT}"`)).text()
  await (
    await fetch(`${world.url}/v1/${NAME}?key=${world.project.secretKey}`, { headers: world.project.headers })
  ).text()
  const hangUp = new AbortController()
  const hungUp = complete(
    world,
    {
      ...chatBody('tokens=500 gap=5', { stream: true }),
      messages: [{ role: 'user', content: `${LOOSE_PROMPT} [[sim tokens=500 gap=5]]` }],
    },
    { signal: hangUp.signal },
  )
  await (await hungUp).body?.getReader().read()
  hangUp.abort()
}

/** Every column of every table that contains the mark, as `table.column`. */
async function columnsWith(mark: string): Promise<string[]> {
  const { rows: columns } = await sql<{ table: string; column: string }>`
    select table_name as table, column_name as column from information_schema.columns c
    where table_schema = 'public' and not exists (select 1 from pg_class where relname = c.table_name and relispartition)`.execute(
    world.store.db,
  )
  const found: string[] = []
  for (const { table, column } of columns) {
    const { rows } = await sql<{ hits: bigint }>`
      select count(*) as hits from ${sql.table(table)} where strpos(${sql.ref(column)}::text, ${mark}) > 0
        or strpos(encode(convert_to(${sql.ref(column)}::text, 'UTF8'), 'hex'), encode(convert_to(${mark}, 'UTF8'), 'hex')) > 0`.execute(
      world.store.db,
    )
    if (rows[0] && rows[0].hits > 0n) found.push(`${table}.${column}`)
  }
  return found
}

test(
  'marked secrets and prompts, sent through every success and failure, stay out of logs, metrics and columns',
  { timeout: 120_000 },
  async (t) => {
    await sendAround()
    await until(async () => (await columnsWith(REPLY)).length > 0)
    const namedIn = ['refused_requests.endpoint', 'refused_requests.model']
    await until(async () => isDeepStrictEqual((await columnsWith(NAME)).toSorted(), namedIn))
    const metrics = await (await fetch(`${world.opsUrl}/metrics`)).text()
    const logs = world.logs.join('')
    t.diagnostic(`${world.logs.length} log lines, ${metrics.split('\n').length} metric lines searched`)
    assert.ok(world.logs.length > 80, 'the paths were really taken')

    const { secretKey, publishableKey } = world.project
    for (const mark of [
      PROMPT,
      UNKEPT_PROMPT,
      LOOSE_PROMPT,
      NAME,
      REPLY,
      PROVIDER_KEY,
      secretKey,
      secretKey.slice(7),
      publishableKey,
    ]) {
      assert.ok(!logs.includes(mark), `${mark} is in a log line: ${world.logs.find((line) => line.includes(mark))}`)
      assert.ok(!metrics.includes(mark), `${mark} is in a metric`)
    }
    assert.deepEqual(
      await columnsWith(PROMPT),
      ['messages.content'],
      'a kept conversation keeps its text, there and nowhere else',
    )
    assert.deepEqual(await columnsWith(REPLY), ['messages.content'])
    assert.deepEqual(await columnsWith(publishableKey), ['key_pairs.publishable_key'])
    for (const mark of [
      UNKEPT_PROMPT,
      LOOSE_PROMPT,
      `${REPLY}-UNKEPT`,
      `${REPLY}-LOOSE`,
      PROVIDER_KEY,
      secretKey,
      secretKey.slice(7, -6),
    ]) {
      assert.deepEqual(await columnsWith(mark), [], `${mark} is in the database`)
    }
  },
)

test('the search itself finds what is there', async () => {
  assert.deepEqual((await columnsWith('sim-small')).toSorted(), [
    'calls.model_id',
    'charges.model_id',
    'deployments.model_id',
    'models.id',
    'price_versions.model_id',
    'refused_requests.model',
  ])
})
