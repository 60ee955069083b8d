import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addProject, chatBody, complete, createWorld, until, type TestProject, type World } from '../support/world.ts'

let world: World
let stranger: TestProject
before(async () => {
  world = await createWorld()
  stranger = await addProject(world.store, world.secrets)
})
after(() => world.close())

interface Receipt {
  id: string
  outcome: string
  usage: Record<string, number | string>
  price: Record<string, string>
  held_nanos: string
  charged_nanos: string
  recomputed: { charge_nanos: string; matches: boolean }
  attempts: { ms: number; failed: string | null }[]
}

function receiptOf(id: string, project = world.project): Promise<Response> {
  return fetch(`${world.url}/v1/receipts/${id}`, { headers: project.headers })
}

test('a completion’s id leads to its receipt, and the receipt’s own figures give its charge', async () => {
  const completion = await complete(world, chatBody('tokens=7 cached=5 reasoning=3'), {
    headers: { 'x-conversation-id': 'r1' },
  })
  const { id } = (await completion.json()) as { id: string }
  const response = await receiptOf(id)
  assert.equal(response.status, 200)
  const receipt = (await response.json()) as Receipt & Record<string, unknown>
  assert.equal(receipt.id, id)
  assert.equal(receipt.object, 'receipt')
  assert.equal(receipt.outcome, 'completed')
  assert.equal(receipt.conversation_id, 'r1')
  assert.equal(receipt.recommendation_credit_nanos, '0')
  const tokens = (name: string) => BigInt(receipt.usage[`${name}_tokens`]!)
  const classes = ['input', 'cached_input', 'cache_write', 'output', 'reasoning']
  const sum = classes.reduce((total, name) => total + tokens(name) * BigInt(receipt.price[name]!), 0n)
  assert.equal(receipt.charged_nanos, String((sum + 999_999n) / 1_000_000n))
  assert.deepEqual(receipt.recomputed, { charge_nanos: receipt.charged_nanos, matches: true })
  assert.equal(tokens('cached_input'), 5n)
  assert.equal(tokens('reasoning'), 3n)
})

test('a failed call has a receipt too: what was tried, and that it cost nothing', async () => {
  const failed = await complete(world, chatBody('fault=U11-503'))
  assert.equal(failed.status, 502)
  const receipt = (await (await receiptOf(failed.headers.get('x-completion-id')!)).json()) as Receipt
  assert.deepEqual([receipt.outcome, receipt.charged_nanos, receipt.usage.source], ['upstream_failed', '0', 'none'])
  assert.deepEqual(
    receipt.attempts.map(({ failed }) => failed),
    ['server_error', 'server_error'],
  )
  assert.equal(receipt.recomputed.matches, true)
})

test('somebody else’s receipt, one that does not exist and an id that is none are all the same 404', async () => {
  const { id } = (await (await complete(world, chatBody('tokens=2'))).json()) as { id: string }
  const bodies = await Promise.all(
    [
      receiptOf(id, stranger),
      receiptOf('chatcmpl-0199d3c47a107c3e9a531f2e3d4c5b6a'),
      receiptOf('nonsense'),
      receiptOf('%00'),
    ].map(async (answer) => {
      const response = await answer
      assert.equal(response.status, 404)
      return response.text()
    }),
  )
  assert.equal(new Set(bodies).size, 1)
})

test('receipts need both keys, and answer no other method', async () => {
  assert.equal((await fetch(`${world.url}/v1/receipts/x`)).status, 401)
  const post = await fetch(`${world.url}/v1/receipts/x`, { method: 'POST' })
  assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD'])
})

test('a receipt cannot be changed', async () => {
  await (await complete(world, chatBody('tokens=2'))).text()
  await until(async () => (await world.store.db.selectFrom('calls').select('id').execute()).length > 0)
  await assert.rejects(world.store.db.updateTable('calls').set({ status: 1 }).execute(), /append-only/)
  await assert.rejects(world.store.db.deleteFrom('charges').execute(), /append-only/)
})
