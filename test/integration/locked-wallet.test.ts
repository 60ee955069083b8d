import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { addProject, chatBody, complete, createWorld, until, type TestProject, type World } from '../support/world.ts'

/** Somebody keeps a row lock on one project's wallet: an operator's forgotten session, for one. */

let world: World
let locked: TestProject
before(async () => {
  world = await createWorld()
  locked = await addProject(world.store, world.secrets, { credits: '10' })
})
after(() => world.close())

async function statusOfCall(project?: TestProject): Promise<number> {
  const response = await complete(world, chatBody('tokens=3'), project ? { project } : {})
  await response.arrayBuffer()
  return response.status
}

test('a locked wallet delays its own project and nobody else', async () => {
  const other = new Client({ connectionString: world.env.DATABASE_URL })
  await other.connect()
  await other.query('begin')
  await other.query('select from wallets where project_id = $1 for update', [locked.id])
  const asked: Promise<number>[] = []
  const answered: number[] = []
  for (let n = 0; n < 40; n++) {
    if (n % 4 === 0) asked.push(statusOfCall(locked).then((status) => (answered.push(status), status)))
    assert.equal(await statusOfCall(), 200, `call ${n} of the other project`)
    await sleep(25)
  }
  assert.deepEqual(answered, [])
  const response = await fetch(`${world.opsUrl}/readyz`)
  assert.equal(response.status, 200, 'one wallet is no reason to leave')
  await response.arrayBuffer()
  assert.deepEqual(
    world.logs.filter((line) => line.includes('the ledger cannot be written')),
    [],
  )
  await other.query('rollback')
  await other.end()
  assert.deepEqual(await Promise.all(asked), Array(10).fill(200))
})

test('an answer whose wallet is locked while it ends is charged when the lock is gone', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '10' })
  const running = complete(world, chatBody('tokens=20 gap=100'), { project })
  const { db } = world.store
  const wallet = db.selectFrom('wallets').where('project_id', '=', project.id)
  await until(async () => (await wallet.select('open_holds').executeTakeFirst())?.open_holds === 1)
  const other = new Client({ connectionString: world.env.DATABASE_URL })
  await other.connect()
  await other.query('begin')
  await other.query('select from wallets where project_id = $1 for update', [project.id])
  await sleep(4_000)
  assert.equal(await statusOfCall(), 200)
  await other.query('rollback')
  await other.end()
  const response = await running
  assert.equal(response.status, 200)
  await response.arrayBuffer()
  const charged = await db.selectFrom('charges').where('project_id', '=', project.id).select('outcome').execute()
  assert.deepEqual(charged, [{ outcome: 'completed' }])
})
