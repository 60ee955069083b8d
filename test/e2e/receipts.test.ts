import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { callIdOf, completionIdOf } from '../../src/rules/billing/receipts.ts'
import { addSettledCall } from '../support/ledger.ts'
import {
  addDeployment,
  addLoneModel,
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

test('a receipt says when credit was held for its call, and when that was settled', async () => {
  const keys = world.store.db.selectFrom('key_pairs').select('id').where('project_id', '=', world.project.id)
  const { id: keyPairId } = await keys.executeTakeFirstOrThrow()
  const id = uuidv7()
  const settled = Math.floor(Date.now() / 1_000)
  const call = { id, projectId: world.project.id, keyPairId, settledAt: new Date(settled * 1_000) }
  await addSettledCall(world.store.db, { ...call, change: { durationMs: 5_000 } })
  const receipt = (await (await receiptOf(completionIdOf(id, 'chat'))).json()) as { created: number; settled: number }
  assert.deepEqual([receipt.created, receipt.settled], [settled - 5, settled])
})

test('what a provider asks for an answer stands beside the attempt that answered', async () => {
  const cost = { input: 1_000_000_000n, cachedInput: 0n, cacheWrite: 0n, output: 2_000_000_000n, reasoning: 0n }
  await addProvider(world.store, world.secrets, 'failing', `${world.simulator.url}/v1`)
  await addModel(world.store, { id: 'two-routes', provider: 'simulator', deployment: { position: 1, cost } })
  const failing = { upstreamModel: 'sim?fault=U11-500', deployment: { position: 0, cost } }
  await addDeployment(world.store, { id: 'two-routes', provider: 'failing', ...failing })
  let attempts: { failed?: string; costNanos?: string }[] = []
  let asked = 0
  await until(async () => {
    const response = await complete(world, chatBody('tokens=5', { model: 'two-routes' }))
    const body = (await response.json()) as { id: string; usage: Record<string, number> }
    if (response.status !== 200) return false
    const call = world.store.db
      .selectFrom('calls')
      .select('attempts')
      .where('id', '=', String(callIdOf(body.id)))
    attempts = (await call.executeTakeFirstOrThrow()).attempts as typeof attempts
    asked = Number(body.usage.prompt_tokens) * 1_000 + Number(body.usage.completion_tokens) * 2_000
    return attempts.length === 2
  })
  assert.deepEqual(
    attempts.map(({ failed, costNanos }) => [failed, costNanos]),
    [
      ['server_error', undefined],
      [undefined, String(asked)],
    ],
  )
})

test('the time to the first token is measured in seconds', async () => {
  const model = await addLoneModel(world)
  await (await complete(world, chatBody('tokens=2 ttft=30', { model }))).text()
  const line = () =>
    world.logs
      .map((text) => JSON.parse(text) as { model?: string; firstTokenMs: number })
      .find((it) => it.model === model)
  await until(() => line() !== undefined)
  const metrics = await (await fetch(`${world.opsUrl}/metrics`)).text()
  const seconds = Number(line()?.firstTokenMs) / 1_000
  assert.ok(metrics.includes(`parley_first_token_seconds_sum{model="${model}"} ${seconds}\n`), `${seconds} s`)
})
