import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { costOf } from '../../src/rules/billing/pricing.ts'
import { NO_USAGE } from '../../src/rules/billing/usage.ts'
import { auditOf } from '../support/ledger.ts'
import { createRandom, type Random } from '../support/random.ts'
import {
  PRICE,
  addLoneModel,
  addProject,
  chatBody,
  complete,
  createWorld,
  until,
  walletOf,
  type World,
} from '../support/world.ts'

/** By the id of a call: what happens when the provider is asked. */
const whenAsked = new Map<string, () => void>()
let world: World
before(async () => {
  world = await createWorld({ onCall: (call) => whenAsked.get(idOf(call))?.() })
})
after(() => world.close())

const HANG_UPS = 1_000
const AT_A_TIME = 12

/**
 * Where a caller hangs up: midway through sending, after a time that may fall anywhere, as soon as the provider is asked, or
 * after some chunks of the answer.
 */
type Moment = { halfSent: true } | { afterMs: number } | { whenAsked: true } | { afterChunks: number }

function momentOf(random: Random): Moment {
  const kind = random.next()
  if (kind < 0.05) return { halfSent: true }
  if (kind < 0.3) return { afterMs: random.next() * 100 }
  return kind < 0.5 ? { whenAsked: true } : { afterChunks: 1 + random.int(20) }
}

/** Sends a call and breaks the connection at that moment. Returns the answer text that arrived. */
function callAndHangUp(id: string, moment: Moment): Promise<string> {
  // So many tokens that no call can end by itself before its caller is gone.
  const content = `${id} [[sim tokens=300 ttft=${'whenAsked' in moment ? 60_000 : 30} gap=5]]`
  const asked = isResponse(id) ? { input: content } : { messages: [{ role: 'user', content }] }
  const body = JSON.stringify({ model: 'sim-small', stream: true, ...asked })
  const headers = {
    ...world.project.headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-conversation-id': id,
  }
  return new Promise((resolve) => {
    let received = ''
    const path = isResponse(id) ? '/v1/responses' : '/v1/chat/completions'
    const req = request(`${world.url}${path}`, { method: 'POST', headers, agent: false })
    req.on('response', (res) => {
      res.setEncoding('utf8').on('error', () => {})
      res.on('data', (text: string) => {
        received += text
        if ('afterChunks' in moment && deltasIn(received) >= moment.afterChunks) req.destroy()
      })
    })
    req.on('error', () => {})
    req.on('close', () => resolve(received))
    if ('whenAsked' in moment) whenAsked.set(id, () => req.destroy())
    if ('halfSent' in moment) req.write(body.slice(0, body.length / 2), () => req.destroy())
    else req.end(body)
    if ('afterMs' in moment) setTimeout(() => req.destroy(), moment.afterMs)
  })
}

/** Every other one. */
function isResponse(id: string): boolean {
  return /[02468]$/.test(id)
}

function idOf({ body }: { body: unknown }): string {
  return (body as { messages: { content: string }[] }).messages[0]!.content.split(' ')[0]!
}

function deltasIn(stream: string): number {
  const delta = /"delta":\{"content":"[^"]|^event: response\.output_text\.delta/
  return stream.split('\n').filter((line) => delta.test(line)).length
}

test(
  '1,000 callers that hang up at any moment leave no upstream socket, no hold, and the charge of the table',
  { timeout: 300_000 },
  async (t) => {
    // Where callers leave and none has waited for an end, some are read on to learn how the model reports.
    await (await complete(world, chatBody('tokens=3'))).text()
    const { balance } = await walletOf(world.store, world.project.id)
    const random = createRandom(20_26)
    const delivered = new Map<string, number>()
    const queue = Array.from({ length: HANG_UPS }, (_, i) => ({ id: `hang-${i}`, moment: momentOf(random) }))
    await Promise.all(
      Array.from({ length: AT_A_TIME }, async () => {
        for (let next = queue.pop(); next; next = queue.pop()) {
          delivered.set(next.id, deltasIn(await callAndHangUp(next.id, next.moment)))
        }
      }),
    )

    await until(() => world.simulator.openCalls() === 0 && world.simulator.openSockets() === 0)
    await until(async () => (await walletOf(world.store, world.project.id)).openHolds === 0)
    const { held } = await walletOf(world.store, world.project.id)
    assert.equal(held, 0n)

    const calls = await world.store.db
      .selectFrom('calls as c')
      .innerJoin('charges as m', 'm.id', 'c.id')
      .where('c.conversation_id', 'is not', null)
      .select([
        'c.conversation_id',
        'c.outcome',
        'c.first_token_ms',
        'm.input_tokens',
        'm.output_tokens',
        'm.charged_nanos',
      ])
      .execute()
    const generated = new Map(world.simulator.calls.map((call) => [idOf(call), call.generatedTokens]))
    const prompts = new Map(world.simulator.calls.map((call) => [idOf(call), call.promptTokens]))
    const phases = { unsent: 0, before: 0, during: 0 }
    for (const call of calls) {
      assert.equal(call.outcome, 'hung_up')
      const got = delivered.get(String(call.conversation_id)) ?? 0
      const asked = prompts.get(String(call.conversation_id))
      if (call.first_token_ms === null && asked === undefined) {
        phases.unsent += 1
        assert.deepEqual([got, call.charged_nanos], [0, 0n], 'before a provider was sent the request: nothing')
      } else if (call.first_token_ms === null) {
        phases.before += 1
        const prompt = costOf({ ...NO_USAGE, input: asked! }, PRICE)
        assert.deepEqual([got, call.charged_nanos], [0, prompt], 'before the first byte: the prompt')
      } else {
        phases.during += 1
        const usage = { ...NO_USAGE, input: call.input_tokens, output: call.output_tokens }
        assert.equal(call.charged_nanos, costOf(usage, PRICE), 'mid-stream: the prompt and what came')
        assert.ok(call.output_tokens >= got, 'at least what the caller received')
        const made = generated.get(String(call.conversation_id)) ?? 0
        assert.ok(call.output_tokens <= made, `at most what was generated: ${call.output_tokens} of ${made}`)
      }
    }
    t.diagnostic(
      `hung up unsent: ${phases.unsent}, before the first byte: ${phases.before}, mid-stream: ${phases.during}`,
    )
    assert.ok(phases.before > 50 && phases.during > 200, `both phases were hit: ${JSON.stringify(phases)}`)
    const spent = calls.reduce((sum, call) => sum + call.charged_nanos, 0n)
    assert.equal((await walletOf(world.store, world.project.id)).balance, balance - spent)
    assert.deepEqual(await auditOf(world.store), [])
  },
)

test('a caller that hangs up while a JSON answer is being made cancels it upstream at once', async () => {
  world.simulator.reset()
  const abort = new AbortController()
  const answer = complete(world, chatBody('tokens=1000 gap=10'), { signal: abort.signal })
  await until(() => world.simulator.calls.some((call) => call.generatedTokens > 3))
  abort.abort()
  await assert.rejects(answer)
  // Long before the ten seconds that the answer takes.
  await until(() => world.simulator.openCalls() === 0)
  assert.equal(world.simulator.calls[0]?.ended, 'cancelled')
})

test('who never waits for an end is read on, and pays for the thoughts that its next answers may hide', async () => {
  const model = await addLoneModel(world)
  const project = await addProject(world.store, world.secrets)
  const others = await addProject(world.store, world.secrets)
  const ask = (by = project, signal?: AbortSignal) =>
    complete(world, chatBody('tokens=9 reasoning=3000 untold gap=5', { model, stream: true }), { project: by, signal })
  // Another publisher's waiting says nothing of this one.
  await (await ask(others)).text()
  const chargesOf = () =>
    world.store.db
      .selectFrom('charges')
      .where('project_id', '=', project.id)
      .orderBy('id')
      .select(['output_tokens as output', 'usage_source as source', 'held_nanos as held'])
      .execute()
  for (let n = 1; n <= 5; n++) {
    const abort = new AbortController()
    const { body } = await ask(project, abort.signal)
    await body!.getReader().read()
    abort.abort()
    await until(async () => (await chargesOf()).length === n)
  }
  const charges = await chargesOf()
  assert.deepEqual(
    charges.map(({ source, output }) => `${source} ${output === 3_009}`),
    ['estimated false', 'estimated false', 'estimated false', 'reported true', 'reported true'],
  )
  assert.ok(charges[4]!.held > 10n * charges[3]!.held)
})
