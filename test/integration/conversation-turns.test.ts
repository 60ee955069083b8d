import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { Client } from 'pg'
import { createTurns, type TurnOf } from '../../src/gateway/conversations/turns.ts'
import { createWork } from '../../src/gateway/intake/work.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createLog } from '../../src/platform/log.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Message } from '../../src/rules/calls/message.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import { BYTES_PER_MESSAGE, listConversations, listMessages } from '../../src/store/calls/conversations.ts'
import { openStore, type Store } from '../../src/store/database.ts'
import { addProject, complete, createWorld, until, type World } from '../support/world.ts'

/** Turns of conversations on their way into the store: what they take of connections, disk and time, and from whom. */

const NAME = 'turns test'
const MIB = 1024 * 1024

let world: World
let store: Store
/** Not in the queue of those who write. */
let aside: Client
before(async () => {
  world = await createWorld()
  const url = String(world.env.DATABASE_URL)
  store = openStore({ url, applicationName: NAME })
  aside = new Client({ connectionString: url })
  await aside.connect()
})
after(async () => {
  await aside.end()
  await store.close()
  await world.close()
})

const user = (content: string): Message => ({ role: 'user', content })

function turnsWith(options: { messagesBytesPerDay?: number; now?(): number } = {}) {
  const metrics = createMetrics()
  const work = createWork({ accountPercent: 100 })
  const inTurn: string[] = []
  const steps = { most: 0 }
  const turns = createTurns({
    db: store.db,
    digestKeys: { keyFor: () => Buffer.alloc(32, 1) },
    work: {
      ...work,
      runInTurn: (publisherId, doing) => {
        inTurn.push(publisherId)
        return work.runInTurn(publisherId, (giveWay) => {
          steps.most += 1
          return doing(() => {
            steps.most += 1
            return giveWay()
          })
        })
      },
    },
    log: createLog('silent'),
    metrics,
    ...options,
  })
  const dropped = async () => (await metrics.conversationsDropped.get()).values[0]?.value
  const overBudget = async () => (await metrics.messagesOverBudget.get()).values[0]?.value
  return { ...turns, dropped, overBudget, inTurn, steps }
}

/** A call of an account with one project. */
async function newCaller() {
  const { publisherId, id: projectId } = await addProject(world.store, world.secrets)
  const caller = { publisherId, projectId, keyPairId: projectId, contentRetentionDays: 30 } as TurnOf['caller']
  const call = (conversationId: string, bodyBytes = 100): TurnOf => ({
    id: uuidv7(),
    requestId: 'request',
    caller,
    bodyBytes,
    conversationId,
  })
  const callsOf = async (id: string) =>
    (await listConversations(world.store.db, projectId, 100)).find((conversation) => conversation.id === id)?.calls
  const messagesOf = (id: string) => listMessages(world.store.db, { projectId, id }, 3_000)
  return { projectId, call, callsOf, messagesOf }
}

async function lock(projectId: string, ids: readonly string[]): Promise<void> {
  await aside.query('begin')
  await aside.query('select from conversations where project_id = $1 and id = any ($2) for update', [projectId, ids])
}

/** Our connections that wait for somebody's lock. */
async function held(): Promise<number> {
  const { rows } = await sql<{ held: number }>`select count(*)::int as held from pg_stat_activity
    where application_name = ${NAME} and wait_event_type = 'Lock'`.execute(world.store.db)
  return rows[0]?.held ?? 0
}

test('of a conversation one turn is written at a time, so that however many there are, others find connections', async () => {
  const [greedy, modest] = [await newCaller(), await newCaller()]
  const turns = turnsWith()
  turns.add(greedy.call('shared'), [user('first')], undefined)
  await turns.idle()
  await lock(greedy.projectId, ['shared'])
  for (let n = 0; n < 24; n++) turns.add(greedy.call('shared'), [user(`turn ${n}`)], undefined)
  for (let n = 0; n < 5; n++) turns.add(modest.call('mine'), [user(`turn ${n}`)], undefined)
  await until(async () => (await modest.callsOf('mine')) === 5)
  await until(async () => (await held()) > 0)
  const most = await held()
  await aside.query('commit')
  await turns.idle()
  assert.equal(most, 1)
  assert.deepEqual([await greedy.callsOf('shared'), await turns.dropped()], [25, 0])
})

test('an account writes two turns at a time, and all accounts together three', async () => {
  const [greedy, other, modest] = [await newCaller(), await newCaller(), await newCaller()]
  const turns = turnsWith()
  const ids = ['a', 'b', 'c', 'd']
  for (const id of ids) turns.add(greedy.call(id), [user('first')], undefined)
  for (const id of ids) turns.add(other.call(id), [user('first')], undefined)
  await turns.idle()
  await lock(greedy.projectId, ids)
  for (const id of ids) turns.add(greedy.call(id), [user('second')], undefined)
  turns.add(modest.call('mine'), [user('hello')], undefined)
  await until(async () => (await modest.callsOf('mine')) === 1)
  await until(async () => (await held()) >= 2)
  assert.equal(await held(), 2)
  await aside.query('select from conversations where project_id = $1 for update', [other.projectId])
  for (const id of ids) turns.add(other.call(id), [user('second')], undefined)
  await until(async () => (await held()) >= 3)
  assert.equal(await held(), 3)
  await aside.query('commit')
  await turns.idle()
  assert.equal(await turns.dropped(), 0)
})

test('requests that wait to be stored take an account’s share of memory and no more', async () => {
  const [greedy, modest] = [await newCaller(), await newCaller()]
  const turns = turnsWith()
  for (let n = 0; n < 20; n++) turns.add(greedy.call(`talk-${n}`, 8 * MIB), [user('long')], undefined)
  assert.equal(await turns.dropped(), 4)
  turns.add(modest.call('mine', 8 * MIB), [user('hello')], undefined)
  await turns.idle()
  assert.equal(await turns.dropped(), 4)
  assert.equal(await modest.callsOf('mine'), 1)
  turns.add(greedy.call('later', 8 * MIB), [user('long')], undefined)
  await turns.idle()
  assert.equal(await turns.dropped(), 4)
})

test('beyond a project’s day text is not kept, a quarter later turns are only counted, and the next day begins anew', async () => {
  const [greedy, modest] = [await newCaller(), await newCaller()]
  const clock = { ms: 20_000 * DAY_MS }
  const turns = turnsWith({ messagesBytesPerDay: 8 * BYTES_PER_MESSAGE, now: () => clock.ms })
  const say = async (caller: typeof greedy, texts: readonly string[]) => {
    turns.add(caller.call('talk'), texts.map(user), undefined)
    await turns.idle()
  }
  const kept = async (caller: typeof greedy) => (await caller.messagesOf('talk')).map(({ content }) => content !== null)
  // The text makes it a little more than six.
  await say(greedy, ['1', '2', '3', '4', '5', '6'])
  // Known messages cost nothing.
  for (let n = 0; n < 3; n++) await say(greedy, ['1', '2', '3', '4', '5', '6'])
  await say(greedy, ['7'])
  assert.deepEqual(
    await kept(greedy),
    Array.from({ length: 7 }, () => true),
  )
  await say(greedy, ['8'])
  assert.equal(await turns.overBudget(), 0)
  await say(greedy, ['9', '10'])
  assert.equal(await turns.overBudget(), 1)
  await say(greedy, ['11'])
  assert.deepEqual((await kept(greedy)).slice(7), [true, false, false])
  assert.equal(await turns.overBudget(), 2)
  assert.equal(await greedy.callsOf('talk'), 8)
  await say(modest, ['1'])
  assert.deepEqual(await kept(modest), [true])
  clock.ms += DAY_MS
  await say(greedy, ['11'])
  assert.deepEqual((await kept(greedy)).slice(10), [true])
  assert.equal(await turns.overBudget(), 2)
})

test('an image is kept as a note of it, its digest is that of what was sent, and it is taken apart in turns', async () => {
  const { call, callsOf, messagesOf } = await newCaller()
  const turns = turnsWith()
  const bytes = randomBytes(5_500_000)
  const image = (data: Buffer): Message => ({
    role: 'user',
    content: [
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${data.toString('base64')}` } },
    ],
  })
  turns.add(call('album', 7_400_000), [image(bytes)], undefined)
  await turns.idle()
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const url = `data:image/png;bytes=5500000;sha256=${sha256},`
  const stored = (await messagesOf('album')).map(({ content }) => content)
  assert.deepEqual(stored, [
    {
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url } },
      ],
    },
  ])
  assert.equal(turns.inTurn.length, 1)
  assert.ok(turns.steps.most >= 3, String(turns.steps.most))
  turns.add(call('album', 7_400_000), [image(bytes)], undefined)
  await turns.idle()
  assert.deepEqual([await callsOf('album'), (await messagesOf('album')).length], [2, 1])
  bytes[3] = Number(bytes[3]) ^ 1
  turns.add(call('album', 7_400_000), [image(bytes)], undefined)
  await turns.idle()
  assert.equal((await messagesOf('album')).length, 2)
})

test('many messages are read in turns, however short they are, and few at once', async () => {
  const { call, messagesOf } = await newCaller()
  const turns = turnsWith()
  turns.add(call('short'), [user('hello')], undefined)
  await turns.idle()
  assert.equal(turns.inTurn.length, 0)
  const many = Array.from({ length: 2_047 }, (_, n) => user(String(n)))
  turns.add(call('long', 90_000), many, undefined)
  await turns.idle()
  assert.equal(turns.inTurn.length, 1)
  assert.equal((await messagesOf('long')).length, 2_047)
})

test('a call that no provider has worked on is counted, and keeps nothing of what was said', async () => {
  const project = await addProject(world.store, world.secrets)
  const id = 'refused'
  const callsOf = async () =>
    (await listConversations(world.store.db, project.id, 10)).find((conversation) => conversation.id === id)?.calls
  const ask = async (content: string) => {
    const headers = { ...project.headers, 'x-conversation-id': id }
    const { status } = await complete(
      { ...world, project: { ...project, headers } },
      { model: 'sim-small', messages: [user(content)] },
    )
    return status
  }
  assert.equal(await ask('Hello [[sim status=400]]'), 502)
  await until(async () => (await callsOf()) === 1)
  const messages = () => listMessages(world.store.db, { projectId: project.id, id }, 10)
  assert.deepEqual(await messages(), [])
  assert.equal(await ask('Hello'), 200)
  await until(async () => (await messages()).length === 2)
  assert.equal(await callsOf(), 2)
})
