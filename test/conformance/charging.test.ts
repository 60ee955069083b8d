/** The contract's charging table: one test per outcome, to the nano. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { createBlackHole } from '../../simulator/unreachable.ts'
import { insertPrice } from '../../src/store/catalogue/models.ts'
import {
  PRICE,
  addLoneModel,
  addProject,
  addProvider,
  chatBody,
  complete,
  createWorld,
  credit,
  until,
  walletOf,
} from '../support/world.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { clause } from './clause.ts'
import { addModels, ask, chargesOf, refused, stream } from './client.ts'
import { costOf, promptCostOf, promptTokensOf } from './money.ts'

const world = await createWorld({ roles: ['gateway', 'worker'] })
after(() => world.close())

/** A project with exactly this much. */
async function projectWith(nanos: bigint) {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  await credit(world.store, project.id, nanos)
  return project
}

const ONE_CREDIT = 1_000_000_000n

async function assertWallet(projectId: string, balance: bigint): Promise<void> {
  assert.deepEqual(await walletOf(world.store, projectId), { balance, held: 0n, openHolds: 0 })
}

clause('charging-completed-reported', async () => {
  const project = await projectWith(ONE_CREDIT)
  const body = chatBody('tokens=25')
  const prompt = promptTokensOf(body)
  assert.equal((await ask(world, body, { project })).status, 200)
  assert.equal((await stream(world, body, { project })).events.at(-1), '[DONE]')
  const charges = await chargesOf(world, project.id, 2)
  for (const charge of charges) {
    assert.deepEqual([charge.outcome, charge.usage_source], ['completed', 'reported'])
    assert.deepEqual([charge.input_tokens, charge.output_tokens], [prompt, 25])
    assert.equal(charge.charged_nanos, costOf(prompt, 25))
  }
  await assertWallet(project.id, ONE_CREDIT - 2n * costOf(prompt, 25))
})

clause('charging-completed-reported', 'each class of tokens at its own price', async () => {
  const price = {
    input: 3_000_000_000n,
    cachedInput: 300_000_000n,
    output: 15_000_000_000n,
    reasoning: 20_000_000_000n,
  }
  await addModels(world, { id: 'classes', provider: 'simulator', price })
  const project = await projectWith(ONE_CREDIT)
  const body = chatBody('tokens=25 cached=5 reasoning=7', { model: 'classes' })
  await ask(world, body, { project })
  const [charge] = await chargesOf(world, project.id, 1)
  const prompt = promptTokensOf(body)
  const expected = BigInt(prompt - 5) * 3_000n + 5n * 300n + 25n * 15_000n + 7n * 20_000n
  assert.equal(charge?.charged_nanos, expected)
  await assertWallet(project.id, ONE_CREDIT - expected)
})

clause('charging-price-frozen', async () => {
  await addModels(world, { id: 'repriced', provider: 'simulator' })
  const project = await projectWith(ONE_CREDIT)
  const body = chatBody('tokens=60 gap=50', { model: 'repriced' })
  const running = stream(world, body, { project })
  await until(() => world.simulator.openCalls() === 1)
  const tenfold = { ...PRICE, input: PRICE.input * 10n, output: PRICE.output * 10n }
  await insertPrice(world.store.db, { ...tenfold, modelId: 'repriced', effectiveFrom: new Date() })
  const quick = chatBody('tokens=1', { model: 'repriced' })
  await until(async () => {
    const other = await projectWith(ONE_CREDIT)
    await ask(world, quick, { project: other })
    const [charge] = await chargesOf(world, other.id, 1)
    return charge?.charged_nanos === 10n * costOf(promptTokensOf(quick), 1)
  })
  assert.equal(world.simulator.openCalls(), 1, 'the first call still runs while new ones cost more')
  await running
  const [charge] = await chargesOf(world, project.id, 1)
  assert.equal(charge?.charged_nanos, costOf(promptTokensOf(body), 60))
})

clause('charging-completed-counted', async () => {
  const project = await projectWith(ONE_CREDIT)
  const body = chatBody('tokens=25 fault=U13')
  await ask(world, body, { project })
  await stream(world, body, { project })
  for (const charge of await chargesOf(world, project.id, 2)) {
    assert.deepEqual([charge.outcome, charge.usage_source], ['completed', 'estimated'])
    assert.equal(charge.charged_nanos, costOf(promptTokensOf(body), 25))
  }
})

clause('charging-hung-up-midway', async () => {
  const project = await projectWith(ONE_CREDIT)
  const body = chatBody('tokens=400 gap=20', { stream: true })
  const hangUp = new AbortController()
  const response = await complete(world, body, { project, signal: hangUp.signal })
  const decoder = new TextDecoder()
  let text = ''
  await assert.rejects(async () => {
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(bytes, { stream: true })
      if (text.split('\n\n').length > 10) hangUp.abort()
    }
  })
  const [charge] = await chargesOf(world, project.id, 1)
  const received = text.split('\n\n').length - 2
  const generated = world.simulator.calls.at(-1)?.generatedTokens ?? 0
  assert.equal(charge?.outcome, 'hung_up')
  assert.equal(charge.input_tokens, promptTokensOf(body))
  assert.ok(received > 5 && generated < 60, 'cancelled long before its end')
  const range = `${received} received, ${charge.output_tokens} charged, ${generated} generated`
  assert.ok(charge.output_tokens >= received - 1 && charge.output_tokens <= generated, range)
  assert.equal(charge.charged_nanos, costOf(charge.input_tokens, charge.output_tokens))
  await assertWallet(project.id, ONE_CREDIT - charge.charged_nanos)
})

clause('charging-hung-up-early', async () => {
  for (const isStream of [false, true]) {
    const project = await projectWith(ONE_CREDIT)
    const calls = world.simulator.calls.length
    const hangUp = new AbortController()
    const body = chatBody('fault=U5', { stream: isStream })
    const running = complete(world, body, { project, signal: hangUp.signal })
    await until(() => world.simulator.calls.length > calls)
    hangUp.abort()
    await assert.rejects(running)
    const [charge] = await chargesOf(world, project.id, 1)
    assert.deepEqual([charge?.outcome, charge?.charged_nanos], ['hung_up', promptCostOf(body)])
    await assertWallet(project.id, ONE_CREDIT - promptCostOf(body))
  }
})

clause('charging-hung-up-unsent', async () => {
  // Nothing answers there: the call hangs in connecting, and no provider has been sent anything.
  const nobody = await createBlackHole()
  after(() => nobody.close())
  await addProvider(world.store, world.secrets, 'nobody', `http://127.0.0.1:${nobody.port}/v1`)
  await addModels(world, { id: 'unreachable', provider: 'nobody', deployment: { connectTimeoutMs: 20_000 } })
  for (const isStream of [false, true]) {
    const project = await projectWith(ONE_CREDIT)
    const hangUp = new AbortController()
    const body = chatBody('', { model: 'unreachable', stream: isStream })
    const running = complete(world, body, { project, signal: hangUp.signal })
    await until(async () => (await walletOf(world.store, project.id)).openHolds === 1)
    hangUp.abort()
    await assert.rejects(running)
    const [charge] = await chargesOf(world, project.id, 1)
    assert.deepEqual([charge?.outcome, charge?.charged_nanos], ['hung_up', 0n])
    await assertWallet(project.id, ONE_CREDIT)
  }
})

clause('charging-completed-impossible', async () => {
  await addModels(world, { id: 'thoughtless', provider: 'simulator', figures: { reasoning: 0 } })
  const project = await projectWith(ONE_CREDIT)
  const body = chatBody('tokens=5 cached=1000000 reasoning=1000000', { model: 'thoughtless', max_tokens: 50 })
  await ask(world, body, { project })
  const [charge] = await chargesOf(world, project.id, 1)
  const prompt = promptTokensOf(body)
  assert.deepEqual([charge?.cached_input_tokens, charge?.input_tokens], [prompt, 0], 'no more cached than there is')
  assert.equal(charge?.reasoning_tokens, 0, 'it does not reason')
  assert.ok(charge.output_tokens <= 50, 'no more than was allowed')
  const marked = await world.store.db
    .selectFrom('usage_anomalies')
    .select(['provider', 'anomalies'])
    .where('project_id', '=', project.id)
    .executeTakeFirst()
  assert.deepEqual(marked, { provider: 'simulator', anomalies: ['cache_too_large', 'unexpected_reasoning'] })
})

clause('charging-failed-early', async () => {
  const project = await projectWith(ONE_CREDIT)
  const faults = ['U11-500', 'U10', 'U12-json', 'U12-sse']
  for (const fault of faults) {
    for (const isStream of [false, true]) {
      const body = chatBody(`fault=${fault}`, { model: await addLoneModel(world), stream: isStream })
      assert.equal((await refused(world, body, { project })).status, fault === 'U10' ? 503 : 502)
    }
  }
  const charges = await chargesOf(world, project.id, 2 * faults.length)
  assert.ok(charges.every((charge) => charge.charged_nanos === 0n && charge.outcome === 'upstream_failed'))
  await assertWallet(project.id, ONE_CREDIT)
})

clause('charging-failed-midway', async () => {
  const project = await projectWith(ONE_CREDIT)
  const faults = ['U14-rst', 'U14-eof', 'U12-midstream', 'U7-badjson']
  const body = (fault: string) => chatBody(`tokens=20 after=9 fault=${fault}`)
  for (const fault of faults) {
    const { text } = await stream(world, body(fault), { project })
    assert.ok(!text.includes('[DONE]') && text.includes('"error"'), fault)
    assert.equal((await refused(world, body(fault), { project })).status, 502, fault)
  }
  for (const charge of await chargesOf(world, project.id, 2 * faults.length)) {
    assert.equal(charge.charged_nanos, 0n)
    assert.ok(charge.usage_nanos >= costOf(20, 9), `a loss of ${charge.usage_nanos} is not what was generated`)
  }
  await assertWallet(project.id, ONE_CREDIT)
  const metrics = await (await fetch(`${world.opsUrl}/metrics`)).text()
  for (const outcome of ['upstream_failed', 'truncated'])
    assert.match(metrics, new RegExp(`^parley_lost_nanos_total\\{outcome="${outcome}"\\} [1-9]`, 'm'))
})

clause('charging-hold-used-up', async () => {
  const body = chatBody('tokens=1000')
  const wallet = promptCostOf(body) + costOf(0, 300) + 1_500n
  for (const isStream of [false, true]) {
    const project = await projectWith(wallet)
    const answer = isStream ? await stream(world, body, { project }) : await ask(world, body, { project })
    assert.equal(answer.status, 200)
    assert.match(answer.text, /"finish_reason":"length"/)
    const [charge] = await chargesOf(world, project.id, 1)
    assert.equal(charge?.outcome, 'hold_used_up')
    assert.equal(charge.charged_nanos, charge.held_nanos)
    assert.equal(charge.charged_nanos, wallet)
    await assertWallet(project.id, 0n)
  }
})

clause('charging-hold-used-up', 'also when the wallet pays only for a part from the start', async () => {
  const body = chatBody('tokens=1000')
  const project = await projectWith(promptCostOf(body) + costOf(0, 10))
  const { body: completion } = await ask(world, body, { project })
  assert.equal(completion.usage.completion_tokens, 10)
  assert.equal(completion.choices[0]?.finish_reason, 'length')
  await chargesOf(world, project.id, 1)
  await assertWallet(project.id, 0n)
})

clause('charging-hold-grows', async () => {
  const body = chatBody('tokens=2000')
  const project = await projectWith(promptCostOf(body) + costOf(0, 2_000))
  const { body: completion } = await ask(world, body, { project })
  assert.equal(completion.choices[0]?.finish_reason, 'stop')
  assert.equal(completion.usage.completion_tokens, 2_000)
  const [charge] = await chargesOf(world, project.id, 1)
  assert.equal(charge?.outcome, 'completed')
  await assertWallet(project.id, 0n)
})

clause('charging-never-negative', async () => {
  const body = chatBody('tokens=40 gap=1')
  const project = await projectWith(promptCostOf(body) * 5n + costOf(0, 90))
  const answers = Array.from({ length: 12 }, () => ask(world, body, { project }))
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const { balance, held } = await walletOf(world.store, project.id)
      assert.ok(balance >= 0n && held >= 0n && held <= balance, `balance ${balance}, held ${held}`)
    }
  })()
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  isOver = true
  await watching
  assert.ok(statuses.includes(200) && statuses.includes(403), statuses.join())
  const charges = await chargesOf(world, project.id, 1)
  const charged = charges.reduce((sum, charge) => sum + charge.charged_nanos, 0n)
  const { balance } = await walletOf(world.store, project.id)
  assert.equal(balance + charged, promptCostOf(body) * 5n + costOf(0, 90))
})

clause('charging-shortfall', async () => {
  const body = chatBody('tokens=5 reasoning=1000')
  const wallet = promptCostOf(body) + costOf(0, 300)
  const project = await projectWith(wallet)
  assert.equal((await ask(world, body, { project })).status, 200)
  const [charge] = await chargesOf(world, project.id, 1)
  assert.equal(charge?.usage_nanos, costOf(promptTokensOf(body), 1_005))
  assert.equal(charge.charged_nanos, wallet)
  await assertWallet(project.id, 0n)
  await credit(world.store, project.id, ONE_CREDIT)
  await assertWallet(project.id, ONE_CREDIT)
})

clause('charging-gateway-killed', async () => {
  const project = await projectWith(ONE_CREDIT)
  const gateway = await startGatewayProcess(world.env)
  after(() => gateway.kill())
  await until(async () => (await complete({ url: gateway.url, project: world.project }, chatBody('tokens=1'))).ok)
  const calls = world.simulator.calls.length
  const running = complete({ url: gateway.url, project }, chatBody('tokens=400 gap=20', { stream: true }))
    .then((response) => response.text())
    .catch(() => 'cut off')
  await until(() => (world.simulator.calls[calls]?.generatedTokens ?? 0) > 3)
  await gateway.kill()
  assert.notEqual((await running).slice(-20), 'data: [DONE]\n\n')
  assert.equal((await walletOf(world.store, project.id)).openHolds, 1, 'nobody was left to release it')
  // A minute of silence, without waiting for it.
  const aMinuteAgo = new Date(Date.now() - 120_000)
  const { gateway_id } = await world.store.db
    .selectFrom('holds')
    .select('gateway_id')
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  await world.store.db.updateTable('gateways').set({ beat_at: aMinuteAgo }).where('id', '=', gateway_id).execute()
  await until(async () => (await walletOf(world.store, project.id)).openHolds === 0, 10_000)
  const [charge] = await chargesOf(world, project.id, 1)
  assert.deepEqual([charge?.outcome, charge?.charged_nanos], ['gateway_died', 0n])
  await assertWallet(project.id, ONE_CREDIT)
  const metrics = await (await fetch(`${world.opsUrl}/metrics`)).text()
  assert.match(metrics, /^parley_holds_swept_total 1$/m)
})
