import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { costOf } from '../../src/rules/billing/pricing.ts'
import { ADAPTERS, type Adapter } from '../faults/adapters.ts'
import {
  addModel,
  addProject,
  addProvider,
  complete,
  createWorld,
  eventsOf,
  PRICE,
  until,
  walletOf,
  type TestProject,
  type World,
} from '../support/world.ts'

/**
 * Ends that a tenant can provoke by what it asks: a call that is none, a filter, a new reason. The provider bills the answer,
 * so the tenant pays for it; and whatever one tenant provokes, its neighbours are answered.
 */

/** Scripts for the simulator, and how each ends for callers. */
const ODD: Record<string, [script: string, finish: string, oddEnding: string | undefined][]> = {
  'openai-compatible': [
    ['finish=invented_today', 'stop', 'invented_today'],
    ['finish=content_filter', 'content_filter', undefined],
    ['error=tool_use_failed', 'stop', 'tool_use_failed'],
    ['error=content_filter', 'content_filter', 'content_filter'],
  ],
  anthropic: [
    ['finish=invented_today', 'stop', 'invented_today'],
    ['finish=refusal', 'content_filter', undefined],
    ['error=Output%20blocked%20by%20content%20filtering%20policy', 'content_filter', 'output_blocked'],
  ],
  gemini: [
    ['finish=MALFORMED_FUNCTION_CALL', 'stop', 'MALFORMED_FUNCTION_CALL'],
    ['finish=UNEXPECTED_TOOL_CALL', 'stop', 'UNEXPECTED_TOOL_CALL'],
    ['finish=TOO_MANY_TOOL_CALLS', 'stop', 'TOO_MANY_TOOL_CALLS'],
    ['finish=INVENTED_TODAY', 'stop', 'INVENTED_TODAY'],
    ['finish=RECITATION', 'content_filter', undefined],
  ],
  vertex: [['finish=MALFORMED_FUNCTION_CALL', 'stop', 'MALFORMED_FUNCTION_CALL']],
  bedrock: [
    ['finish=malformed_tool_use', 'stop', 'malformed_tool_use'],
    ['finish=malformed_model_output', 'stop', 'malformed_model_output'],
    ['finish=guardrail_intervened', 'content_filter', undefined],
    ['error=Output%20blocked%20by%20content%20filtering%20policy', 'content_filter', 'output_blocked'],
  ],
}

/** One more than opens a breaker. */
const TRIES = 6
const NEIGHBOURS = 8

let world: World

before(async () => {
  world = await createWorld()
  for (const { kind, basePath, apiKey, settings } of ADAPTERS) {
    await addProvider(world.store, world.secrets, kind, `${world.simulator.url}${basePath}`, { kind, apiKey, settings })
    await addModel(world.store, { id: kind, provider: kind })
  }
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    const text = await response.text()
    return ADAPTERS.every(({ kind }) => text.includes(`"${kind}"`))
  })
})
after(() => world.close())

function ask({ kind }: Adapter, script: string, project: TestProject, stream = true): Promise<Response> {
  const messages = [{ role: 'user', content: `Hello [[sim ${script}]]` }]
  return complete(world, { model: kind, stream, messages }, { project })
}

async function chargedTo(project: TestProject): Promise<bigint> {
  await until(async () => (await walletOf(world.store, project.id)).openHolds === 0)
  return 1_000_000_000n - (await walletOf(world.store, project.id)).balance
}

/** The provider's bill for everything since its call number `since`, in nanos. */
function billedSince(since: number): bigint {
  return world.simulator.calls.slice(since).reduce((sum, { bill }) => {
    if (!bill) return sum
    return (
      sum + costOf({ input: bill.fresh, cachedInput: 0, cacheWrite: 0, output: bill.completion, reasoning: 0 }, PRICE)
    )
  }, 0n)
}

interface Event {
  choices?: { delta: { content?: string }; finish_reason: string | null }[]
}

async function readStream(response: Response) {
  const events = eventsOf(await response.text())
  const chunks = events.filter((data) => data.startsWith('{')).map((data) => JSON.parse(data) as Event)
  const choices = chunks.flatMap((chunk) => chunk.choices ?? [])
  return {
    status: response.status,
    isWhole: events.at(-1) === '[DONE]',
    finish: choices.findLast(({ finish_reason: reason }) => reason !== null)?.finish_reason,
    text: choices.map(({ delta }) => delta.content ?? '').join(''),
  }
}

/** At the same time: an open breaker lets one after another pass, and only them. */
async function neighboursAt(adapter: Adapter): Promise<number[]> {
  const neighbour = await addProject(world.store, world.secrets, { credits: '1' })
  const asked = Array.from({ length: NEIGHBOURS }, async () => {
    const response = await ask(adapter, 'tokens=3 ttft=100', neighbour, false)
    await response.arrayBuffer()
    return response.status
  })
  return Promise.all(asked)
}

for (const adapter of ADAPTERS) {
  for (const [script, finish, oddEnding] of ODD[adapter.kind] ?? assert.fail(`no odd ends of ${adapter.kind}`)) {
    test(`${adapter.kind}, ${script}: a finished answer that is paid for, and the neighbours are answered`, async () => {
      const tenant = await addProject(world.store, world.secrets, { credits: '1' })
      const since = world.simulator.calls.length
      for (let n = 0; n < TRIES; n++) {
        const { text, ...seen } = await readStream(await ask(adapter, `tokens=10 ${script}`, tenant))
        assert.deepEqual(seen, { status: 200, isWhole: true, finish })
        assert.equal(text.split(' ').length, 10)
      }
      const billed = billedSince(since)
      assert.ok(billed > 0n)
      const charged = await chargedTo(tenant)
      // An error in place of the end brings no report, so that we count: the frame of a prompt differs by a few tokens.
      const off = script.startsWith('error') ? 10_000n * BigInt(TRIES) : 0n
      assert.ok(charged >= billed - off && charged <= billed + off, `charged ${charged} of ${billed}`)
      assert.deepEqual(await neighboursAt(adapter), Array<number>(NEIGHBOURS).fill(200))
      const line = world.logs.findLast((text) => text.includes(tenant.id) && text.includes('"outcome"')) ?? '{}'
      const logged = JSON.parse(line) as Record<string, unknown>
      assert.deepEqual([logged.outcome, logged.finishReason, logged.oddEnding], ['completed', finish, oddEnding])
    })
  }
}

test('an odd end without a word is an empty answer, and what the provider reported for it is paid, however often it was tried', async () => {
  const adapter = ADAPTERS.find(({ kind }) => kind === 'gemini') ?? assert.fail()
  const tenant = await addProject(world.store, world.secrets, { credits: '1' })
  const since = world.simulator.calls.length
  for (let n = 0; n < TRIES; n++) {
    const response = await ask(adapter, 'tokens=0 finish=MALFORMED_FUNCTION_CALL', tenant, false)
    const { choices } = (await response.json()) as { choices: { finish_reason: string }[] }
    assert.deepEqual([response.status, choices[0]?.finish_reason], [200, 'stop'])
  }
  // A second try is our own decision. Whoever provokes both pays for the answer that it got.
  const asked = world.simulator.calls.length - since
  assert.ok(asked > TRIES && asked <= 2 * TRIES, `asked ${asked} times`)
  assert.equal(await chargedTo(tenant), (billedSince(since) / BigInt(asked)) * BigInt(TRIES))
  assert.deepEqual(await neighboursAt(adapter), Array<number>(NEIGHBOURS).fill(200))
})

test('what a provider calls its own failure stays one, and costs nothing', async () => {
  const adapter = ADAPTERS.find(({ kind }) => kind === 'openai-compatible') ?? assert.fail()
  for (const failure of ['finish=error', 'finish=insufficient_system_resource', 'fault=U12-midstream']) {
    const tenant = await addProject(world.store, world.secrets, { credits: '1' })
    assert.equal((await readStream(await ask(adapter, `tokens=30 ${failure}`, tenant))).isWhole, false)
    assert.equal(await chargedTo(tenant), 0n)
  }
})
