import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { costOf } from '../../src/rules/pricing.ts'
import { NO_USAGE } from '../../src/rules/usage.ts'
import { auditOf } from '../support/ledger.ts'
import { createRandom } from '../support/random.ts'
import { PRICE, chatBody, complete, createWorld, until, walletOf, type World } from '../support/world.ts'

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

const HANG_UPS = 1_000
const AT_A_TIME = 12

/** Sends a call and breaks the connection after `afterMs`, wherever the call then is. Returns the answer text that arrived. */
function callAndHangUp(id: string, afterMs: number, sendsWholeBody: boolean): Promise<string> {
  // So many tokens that no call can end by itself before its caller is gone.
  const body = JSON.stringify(chatBody('tokens=300 ttft=15 gap=5', { stream: true }))
  const headers = {
    ...world.project.headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-conversation-id': id,
  }
  return new Promise((resolve) => {
    let received = ''
    const req = request(`${world.url}/v1/chat/completions`, { method: 'POST', headers, agent: false })
    req.on('response', (res) =>
      res
        .setEncoding('utf8')
        .on('data', (text: string) => (received += text))
        .on('error', () => {}),
    )
    req.on('error', () => {})
    req.on('close', () => resolve(received))
    if (sendsWholeBody) req.end(body)
    else req.write(body.slice(0, body.length / 2))
    setTimeout(() => req.destroy(), afterMs)
  })
}

function deltasIn(stream: string): number {
  return stream.split('\n').filter((line) => /"delta":\{"content":"[^"]/.test(line)).length
}

test(
  '1,000 callers that hang up at any moment leave no upstream socket, no hold, and the charge of the table',
  { timeout: 60_000 },
  async (t) => {
    const random = createRandom(20_26)
    const delivered = new Map<string, number>()
    const queue = Array.from({ length: HANG_UPS }, (_, i) => ({
      id: `hang-${i}`,
      afterMs: random.next() * 120,
      sendsWholeBody: random.next() > 0.05,
    }))
    await Promise.all(
      Array.from({ length: AT_A_TIME }, async () => {
        for (let next = queue.pop(); next; next = queue.pop()) {
          delivered.set(next.id, deltasIn(await callAndHangUp(next.id, next.afterMs, next.sendsWholeBody)))
        }
      }),
    )

    await until(() => world.simulator.openCalls() === 0 && world.simulator.openSockets() === 0, 1_000)
    await until(async () => (await walletOf(world.store, world.project.id)).openHolds === 0, 2_000)
    const { held } = await walletOf(world.store, world.project.id)
    assert.equal(held, 0n)

    const calls = await world.store.db
      .selectFrom('calls as c')
      .innerJoin('charges as m', 'm.id', 'c.id')
      .select([
        'c.conversation_id',
        'c.outcome',
        'c.first_token_ms',
        'm.input_tokens',
        'm.output_tokens',
        'm.charged_nanos',
      ])
      .execute()
    const phases = { before: 0, during: 0 }
    for (const call of calls) {
      assert.equal(call.outcome, 'hung_up')
      const got = delivered.get(String(call.conversation_id)) ?? 0
      if (call.first_token_ms === null) {
        phases.before += 1
        assert.deepEqual([got, call.charged_nanos], [0, 0n], 'before the first byte: nothing')
      } else {
        phases.during += 1
        const usage = { ...NO_USAGE, input: call.input_tokens, output: call.output_tokens }
        assert.equal(call.charged_nanos, costOf(usage, PRICE), 'mid-stream: the prompt and what came')
        assert.ok(call.output_tokens >= got, 'at least what the caller received')
        assert.ok(
          call.output_tokens <= got + 12,
          `at most what was generated until the cancel: ${call.output_tokens}, received ${got}`,
        )
      }
    }
    t.diagnostic(`hung up before the first byte: ${phases.before}, mid-stream: ${phases.during}`)
    assert.ok(phases.before > 50 && phases.during > 200, `both phases were hit: ${JSON.stringify(phases)}`)
    const spent = calls.reduce((sum, call) => sum + call.charged_nanos, 0n)
    assert.equal((await walletOf(world.store, world.project.id)).balance, 1_000_000_000_000n - spent)
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
  await until(() => world.simulator.openCalls() === 0, 500)
  assert.equal(world.simulator.calls[0]?.ended, 'cancelled')
})
