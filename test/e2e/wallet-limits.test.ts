import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { auditOf } from '../support/ledger.ts'
import {
  addProject,
  chatBody,
  complete,
  createWorld,
  credit,
  eventsOf,
  until,
  walletOf,
  type TestProject,
  type World,
} from '../support/world.ts'

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

async function statusOf(body: object, project: TestProject): Promise<number> {
  const response = await complete(world, body, { project })
  await response.arrayBuffer()
  return response.status
}

interface Completion {
  choices: { message: { content: string }; finish_reason: string }[]
  usage: { prompt_tokens: number; completion_tokens: number }
}

test(
  'a wallet that can pay for exactly 500 of 1,000 concurrent calls answers exactly 500 and ends at zero',
  { timeout: 120_000 },
  async () => {
    const body = chatBody('tokens=8 ttft=1500', { max_tokens: 8 })
    const probe = (await (await complete(world, body)).json()) as Completion
    const cost = BigInt(probe.usage.prompt_tokens * 1_000 + probe.usage.completion_tokens * 4_000)

    const project = await addProject(world.store, world.secrets, { credits: '0' })
    await credit(world.store, project.id, cost * 500n)
    const statuses: Promise<number>[] = []
    while (statuses.length < 1_000) {
      for (let n = 0; n < 100; n++) statuses.push(statusOf(body, project))
      // Callers and gateway share this process: a thousand at once would keep it from reading any request for seconds.
      await sleep(20)
    }
    const counts = Object.groupBy(await Promise.all(statuses), (status) => status)
    assert.deepEqual([counts[200]?.length, counts[403]?.length], [500, 500])
    assert.deepEqual(await walletOf(world.store, project.id), { balance: 0n, held: 0n, openHolds: 0 })
    assert.deepEqual(await auditOf(world.store), [])
  },
)

test('max_tokens is lowered to what the wallet pays for, and the answer ends with length', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  const body = chatBody('tokens=50', { max_tokens: 50 })
  const promptTokens = ((await (await complete(world, body)).json()) as Completion).usage.prompt_tokens
  await credit(world.store, project.id, BigInt(promptTokens * 1_000 + 10 * 4_000))
  world.simulator.reset()
  const completion = (await (await complete(world, body, { project })).json()) as Completion
  assert.equal((world.simulator.calls[0]!.body as { max_tokens: number }).max_tokens, 10)
  assert.equal(completion.choices[0]?.finish_reason, 'length')
  assert.equal(completion.usage.completion_tokens, 10)
  assert.equal((await walletOf(world.store, project.id)).balance, 0n)
})

test('max_tokens beyond what the model can write is lowered to that, for the wallet and for the provider', async () => {
  for (const [wanted, told] of [
    [999_999_999, 16_384],
    [16_385, 16_384],
    [16_384, 16_384],
    [16_383, 16_383],
    [undefined, undefined],
  ]) {
    world.simulator.reset()
    assert.equal((await complete(world, chatBody('tokens=2', { max_tokens: wanted }))).status, 200)
    assert.equal((world.simulator.calls[0]!.body as { max_tokens?: number }).max_tokens, told)
  }
})

test('an answer without max_tokens outgrows its first hold and is charged in full', async () => {
  const response = await complete(
    world,
    chatBody('tokens=1500', { stream: true, stream_options: { include_usage: true } }),
  )
  const events = eventsOf(await response.text())
  assert.equal(events.at(-1), '[DONE]')
  const { usage } = JSON.parse(events.at(-2)!) as Completion
  assert.equal(usage.completion_tokens, 1_500)
  const call = await world.store.db.selectFrom('charges').selectAll().orderBy('id', 'desc').executeTakeFirstOrThrow()
  assert.equal(call.output_tokens, 1_500)
  assert.equal(call.charged_nanos, call.usage_nanos)
  assert.ok(call.held_nanos >= call.charged_nanos, 'the hold grew ahead of the answer')
})

test('an answer without max_tokens is cut where the wallet ends: the hold is charged and the reason is length', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  await credit(world.store, project.id, 2_000_000n) // The first hold takes 256 tokens; this pays for about 490.
  const response = await complete(world, chatBody('tokens=3000 gap=1', { stream: true }), { project })
  const events = eventsOf(await response.text())
  assert.equal(events.at(-1), '[DONE]')
  assert.equal(
    (JSON.parse(events.at(-2)!) as { choices: { finish_reason: string }[] }).choices[0]?.finish_reason,
    'length',
  )
  assert.deepEqual(await walletOf(world.store, project.id), { balance: 0n, held: 0n, openHolds: 0 })
  const call = await world.store.db
    .selectFrom('charges')
    .selectAll()
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  assert.equal(call.outcome, 'hold_used_up')
  assert.equal(call.charged_nanos, call.held_nanos)
  assert.ok(call.output_tokens > 480 && call.output_tokens < 520, `cut at ${call.output_tokens} tokens`)
})

test('an answer that was cut where the wallet ends is kept: in its conversation, and for a retry with its key', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  await credit(world.store, project.id, 2_000_000n)
  const options = { project, headers: { 'idempotency-key': 'cut', 'x-conversation-id': 'cut' } }
  const body = chatBody('tokens=3000 gap=1')
  const first = await (await complete(world, body, options)).text()
  assert.equal((JSON.parse(first) as Completion).choices[0]?.finish_reason, 'length')
  const again = await complete(world, body, options)
  assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
  assert.equal(await again.text(), first)
  const said = world.store.db.selectFrom('messages').select('role').where('project_id', '=', project.id).orderBy('role')
  await until(async () => (await said.execute()).length > 0)
  assert.deepEqual(await said.execute(), [{ role: 'assistant' }, { role: 'user' }])
})
