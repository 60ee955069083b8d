import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { IDEMPOTENCY_KEPT_MS } from '../../src/rules/limits.ts'
import { deleteConversation } from '../../src/store/calls/conversations.ts'
import { expireKeys } from '../../src/store/calls/idempotency.ts'
import {
  addKeyPair,
  addProject,
  chatBody,
  complete,
  createWorld,
  eventsOf,
  until,
  walletOf,
  type World,
} from '../support/world.ts'

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

const keyed = (key: string, more: Record<string, string> = {}) => ({ headers: { 'idempotency-key': key, ...more } })

async function balance(): Promise<bigint> {
  await until(async () => (await walletOf(world.store, world.project.id)).openHolds === 0)
  return (await walletOf(world.store, world.project.id)).balance
}

function textOf(events: string[]): string {
  return events
    .filter((data) => data !== '[DONE]')
    .map((data) => (JSON.parse(data) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content ?? '')
    .join('')
}

test('a JSON answer that is asked for again is the same answer, charged once and made once', async () => {
  world.simulator.reset()
  const before = await balance()
  const body = chatBody('tokens=9')
  const first = await complete(world, body, keyed('json-1'))
  const firstBody = await first.text()
  const afterFirst = await balance()
  const again = await complete(world, body, keyed('json-1'))
  assert.equal(again.status, 200)
  assert.equal(await again.text(), firstBody)
  assert.equal(again.headers.get('x-completion-id'), first.headers.get('x-completion-id'))
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.equal(first.headers.get('idempotent-replayed'), null)
  assert.ok(afterFirst < before)
  assert.equal(await balance(), afterFirst)
  assert.equal(world.simulator.calls.length, 1)
})

test('what is too large to be kept for a retry is refused before it costs anything', async () => {
  const before = await balance()
  const refused = await complete(world, chatBody('tokens=2', { logprobs: true }), keyed('logprobs-1'))
  const { message } = (await refused.json()) as { message: string }
  assert.deepEqual([refused.status, await balance()], [422, before])
  assert.match(message, /^logprobs are too large/)
})

test('thoughts are part of an answer that is asked for again, in both modes', async () => {
  for (const stream of [false, true]) {
    const body = chatBody('tokens=2 thoughts=Well', { stream })
    const [first, again] = [
      await (await complete(world, body, keyed(`thoughts-${String(stream)}`))).text(),
      await (await complete(world, body, keyed(`thoughts-${String(stream)}`))).text(),
    ]
    const thoughtIn = (text: string) =>
      [...text.matchAll(/"reasoning_content":"(.*?)"/g)].map(([, said]) => said).join('')
    assert.deepEqual([thoughtIn(first), thoughtIn(again)], ['Well', 'Well'])
  }
})

test('a streamed answer that is asked for again has the same id, text, usage and ending', async () => {
  const body = chatBody('tokens=9 utf8=1', { stream: true, stream_options: { include_usage: true } })
  const first = eventsOf(await (await complete(world, body, keyed('stream-1'))).text())
  const afterFirst = await balance()
  const again = eventsOf(await (await complete(world, body, keyed('stream-1'))).text())
  assert.equal(textOf(again), textOf(first))
  assert.deepEqual(again.slice(-3), first.slice(-3), 'finish, usage and [DONE]')
  assert.equal(JSON.parse(again[0]!).id, JSON.parse(first[0]!).id)
  assert.equal(await balance(), afterFirst)
})

test('a tool call is replayed with its name and arguments', async () => {
  const tools = [
    {
      type: 'function',
      function: { name: 'look_up', parameters: { type: 'object', properties: { q: { type: 'string' } } } },
    },
  ]
  const body = chatBody('tool=look_up', { tools })
  const first = await (await complete(world, body, keyed('tool-1'))).json()
  assert.deepEqual(await (await complete(world, body, keyed('tool-1'))).json(), first)
  assert.equal((first as { choices: { finish_reason: string }[] }).choices[0]?.finish_reason, 'tool_calls')
})

test('a caller that lost its connection midway gets the whole answer when it asks again, and pays once', async () => {
  world.simulator.reset()
  const before = await balance()
  const body = chatBody('tokens=40 gap=10', { stream: true })
  const abort = new AbortController()
  const lost = await complete(world, body, { ...keyed('lost-1'), signal: abort.signal })
  await lost.body?.getReader().read()
  abort.abort()

  const tooEarly = await complete(world, body, keyed('lost-1'))
  assert.equal(tooEarly.status, 409)
  assert.equal(tooEarly.headers.get('retry-after'), '1')
  await tooEarly.text()
  await until(() => world.simulator.calls[0]?.ended === 'completed')
  const afterFirst = await balance()
  const again = eventsOf(await (await complete(world, body, keyed('lost-1'))).text())
  assert.equal(again.at(-1), '[DONE]')
  assert.ok(afterFirst < before)
  assert.equal(await balance(), afterFirst)
  assert.equal(world.simulator.calls.length, 1)
})

test('the same key and body in another conversation are another request: 422', async () => {
  const body = chatBody('tokens=3')
  const inOne = keyed('conversations', { 'x-conversation-id': 'one' })
  const first = await complete(world, body, inOne)
  assert.equal(first.status, 200)
  const { id } = (await first.json()) as { id: string }
  for (const other of [keyed('conversations', { 'x-conversation-id': 'two' }), keyed('conversations')]) {
    const refused = await complete(world, body, other)
    assert.equal(refused.status, 422)
    assert.match(await refused.text(), /another body/)
  }
  assert.equal(((await (await complete(world, body, inOne)).json()) as { id: string }).id, id)
})

test('the same key with another body is 422, and a key that is no key is 422', async () => {
  await (await complete(world, chatBody('tokens=3'), keyed('reused'))).text()
  const other = await complete(world, chatBody('tokens=4'), keyed('reused'))
  assert.equal(other.status, 422)
  assert.match(await other.text(), /another body/)
  for (const key of ['', 'with space', 'x'.repeat(256)]) {
    const response = await complete(world, chatBody('tokens=3'), keyed(key))
    assert.equal(response.status, 422, JSON.stringify(key))
    assert.match(await response.text(), /1 to 255 visible characters/)
  }
})

test('a call that failed can be tried again under its key', async () => {
  const body = chatBody('tokens=5 fault=U11-500 times=2')
  assert.equal((await complete(world, body, keyed('failed-1'))).status, 502)
  assert.equal((await complete(world, body, keyed('failed-1'))).status, 200)

  const poor = await addProject(world.store, world.secrets, { credits: '0' })
  const refused = await complete(world, chatBody('tokens=5'), { ...keyed('poor-1'), project: poor })
  assert.equal(refused.status, 403)
  const { rows } = await sql<{
    n: bigint
  }>`select count(*) as n from idempotency_keys where project_id = ${poor.id}`.execute(world.store.db)
  assert.equal(rows[0]?.n, 0n, 'a refused call leaves no claim behind')
})

test('many retries at the same moment run one call', async () => {
  world.simulator.reset()
  const body = chatBody('tokens=10 ttft=50')
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const response = await complete(world, body, keyed('rush'))
      await response.text()
      return { status: response.status, id: response.headers.get('x-completion-id') }
    }),
  )
  assert.equal(world.simulator.calls.length, 1)
  const [answered, early] = [200, 409].map((wanted) => answers.filter(({ status }) => status === wanted))
  assert.ok(answered && early && answered.length > 0)
  assert.equal(answered.length + early.length, 20, 'each has the answer, or is told to come later')
  assert.equal(new Set(answered.map(({ id }) => id)).size, 1)
})

test('keys belong to their project, whichever of its key pairs sends them', async () => {
  const body = chatBody('tokens=6')
  const first = (await (await complete(world, body, keyed('shared'))).json()) as { id: string }
  const stranger = await addProject(world.store, world.secrets)
  const other = (await (await complete(world, body, { ...keyed('shared'), project: stranger })).json()) as {
    id: string
  }
  assert.notEqual(other.id, first.id)
  const secondPair = { ...world.project, ...(await addKeyPair(world.store, world.secrets, world.project.id)) }
  const same = (await (await complete(world, body, { ...keyed('shared'), project: secondPair })).json()) as {
    id: string
  }
  assert.equal(same.id, first.id)
})

test('a key is kept for a day and not an hour longer: what is older is forgotten, and nothing that is younger', async () => {
  for (const key of ['day-old', 'nearly']) await (await complete(world, chatBody('tokens=3'), keyed(key))).text()
  const { rows } = await sql<{ call: string }>`
    select call_id as call from idempotency_keys order by created_at desc limit 2`.execute(world.store.db)
  const [nearly, dayOld] = rows.map(({ call }) => call)
  const age = (call: string | undefined, ms: number) =>
    sql`update idempotency_keys set created_at = now() - ${ms} * interval '1 ms' where call_id = ${call}`.execute(
      world.store.db,
    )
  await age(dayOld, IDEMPOTENCY_KEPT_MS + 1_000)
  await age(nearly, IDEMPOTENCY_KEPT_MS - 60_000)
  assert.equal(await expireKeys(world.store.db, IDEMPOTENCY_KEPT_MS, 1_000), 1)
  const replayed = async (key: string) => {
    const response = await complete(world, chatBody('tokens=3'), keyed(key))
    await response.text()
    return response.headers.get('idempotent-replayed')
  }
  assert.deepEqual([await replayed('nearly'), await replayed('day-old')], ['true', null])
})

test('a claim of a dead gateway is taken over when its hold is gone', async () => {
  const body = chatBody('tokens=7')
  await (await complete(world, body, keyed('dead'))).text()
  // As a gateway that was killed midway leaves it: claimed, without a result.
  await sql`update idempotency_keys set result = null, gateway_id = gen_random_uuid()
    where call_id = (select call_id from idempotency_keys order by created_at desc limit 1)`.execute(world.store.db)
  const again = await complete(world, body, keyed('dead'))
  assert.equal(again.status, 200)
  assert.equal(again.headers.get('idempotent-replayed'), null)
  await again.text()
})

test('stored answers are sealed, and deleting the conversation erases them', async () => {
  const options = keyed('sealed', { 'x-conversation-id': 'erase-me' })
  await (await complete(world, chatBody('text=EASILY-FOUND'), options)).text()
  const stored = () =>
    world.store.db.selectFrom('idempotency_keys').select('result').where('conversation_id', '=', 'erase-me').execute()
  const [row] = await stored()
  assert.ok(
    row?.result &&
      !row.result.includes('EASILY-FOUND') &&
      !Buffer.from(row.result.split('.')[4]!, 'base64url').includes('EASILY-FOUND'),
  )
  await until(async () => deleteConversation(world.store.db, { projectId: world.project.id, id: 'erase-me' }))
  assert.deepEqual(await stored(), [])
})
