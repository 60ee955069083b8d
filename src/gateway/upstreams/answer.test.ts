import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../platform/log.ts'
import { createMetrics } from '../../metrics.ts'
import { UpstreamError, type UpstreamErrorKind } from '../../providers/provider.ts'
import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import type { Chunk } from '../../rules/calls/chunk.ts'
import { ParleyError } from '../../rules/errors.ts'
import { UPSTREAM_TIMERS } from '../../rules/limits.ts'
import { beginAnswer, type Ask } from './answer.ts'
import { HungUp, type Call } from '../call.ts'
import type { OpenDeployment } from './catalogue.ts'
import { createUpstreams, type Upstreams } from './upstreams.ts'

const REQUEST = { model: 'm', messages: [], stream: true } as unknown as ChatRequest
const askOf = (request: ChatRequest): Ask => ({
  effort: request.reasoning_effort,
  stream: ({ provider }, upstream, signal) => provider.stream({ ...upstream, request }, signal),
})
const ASK = askOf(REQUEST)
const TEXT: Chunk = { type: 'text', text: 'tea' }
const FINISH: Chunk = { type: 'finish', reason: 'stop' }
const ANSWER = [TEXT, FINISH]

/** The events of each attempt at a deployment: chunks, and an error where it breaks. The last goes for all that follow. */
type Script = (Chunk | UpstreamError)[][]

interface Setting {
  /** By the name of the deployment; each is a group of its own, in this order. */
  scripts: Record<string, Script>
  keys?: string[]
}

function setUp({ scripts, keys = ['key'] }: Setting) {
  const clock = { ms: 0 }
  const asked: string[] = []
  /** For the first token, at each attempt. */
  const waited: number[] = []
  const abort = new AbortController()
  const metrics = createMetrics()
  const upstreams = createUpstreams({
    log: createLog('silent'),
    metrics,
    noteKeyRefusal: () => Promise.resolve(),
    now: () => clock.ms,
    random: () => 0,
  })
  const deployments = Object.entries(scripts).map(([id, script], group): OpenDeployment => {
    let attempts = 0
    return {
      id,
      providerId: id,
      upstreamModel: id,
      group,
      weight: 100,
      extraBody: undefined,
      unsupportedFields: new Set(),
      timers: UPSTREAM_TIMERS,
      cost: undefined,
      keys: keys.map((name) => ({ id: `${id} ${name}`, version: '1', name, secret: name })),
      provider: {
        name: id,
        cannotHonour: () => undefined,
        async *stream({ apiKey, timers }, signal) {
          asked.push(`${id} ${apiKey}`)
          waited.push(timers.firstTokenMs)
          const chunks = script[Math.min(attempts++, script.length - 1)] ?? []
          for (const chunk of chunks) {
            await Promise.resolve()
            signal.throwIfAborted()
            if (chunk instanceof UpstreamError) throw chunk
            yield [chunk]
          }
        },
      },
    }
  })
  const newCall = () =>
    ({
      signal: abort.signal,
      caller: { publisherId: 'publisher' },
      facts: { streamed: true, attempts: [] },
      progress: {},
    }) as unknown as Call
  async function ask(call = newCall(), signal = call.signal, request = REQUEST): Promise<Chunk[]> {
    const chunks: Chunk[] = []
    for await (const batch of await beginAnswer(upstreams, deployments, askOf(request), call, signal))
      chunks.push(...batch)
    return chunks
  }
  return { upstreams, deployments, clock, asked, waited, abort, metrics, newCall, ask }
}

const fails = (kind: UpstreamErrorKind, status?: number, retryAfterSeconds?: number) => [
  new UpstreamError(kind, { status, retryAfterSeconds }),
]

function isFailure(kind: UpstreamErrorKind, retryAfterSeconds?: number) {
  return (error: unknown) => {
    assert.ok(error instanceof UpstreamError)
    assert.deepEqual([error.kind, error.retryAfterSeconds], [kind, retryAfterSeconds])
    return true
  }
}

function isRefusal(code: string, retryAfterSeconds: number) {
  return (error: unknown) => {
    assert.ok(error instanceof ParleyError)
    assert.deepEqual([error.code, error.options.retryAfterSeconds], [code, retryAfterSeconds])
    return true
  }
}

test('each deployment is asked once, in the order of the groups, until one answers', async () => {
  const scripts = { a: [fails('reset')], b: [fails('server_error', 500)], c: [ANSWER], d: [ANSWER] }
  const { ask, asked, newCall } = setUp({ scripts })
  const call = newCall()
  assert.deepEqual(await ask(call), ANSWER)
  assert.deepEqual(asked, ['a key', 'b key', 'c key'])
  assert.equal(call.facts.deploymentId, 'c')
  assert.deepEqual(
    call.facts.attempts.map(({ deployment, key, failed }) => [deployment, key, failed]),
    [
      ['a', 'key', 'reset'],
      ['b', 'key', 'server_error'],
      ['c', 'key', undefined],
    ],
  )
})

test('when all deployments have failed the call fails as the last did', async () => {
  const { ask, asked } = setUp({ scripts: { a: [fails('reset')], b: [fails('redirect')] } })
  await assert.rejects(ask(), isFailure('redirect'))
  assert.equal(asked.length, 2)
})

test('after the first chunk there is no other deployment', async () => {
  const broken = [TEXT, ...fails('truncated')]
  const { asked, newCall, upstreams, deployments } = setUp({ scripts: { a: [broken], b: [ANSWER] } })
  const call = newCall()
  const chunks = (await beginAnswer(upstreams, deployments, ASK, call, call.signal))[Symbol.asyncIterator]()
  assert.deepEqual((await chunks.next()).value, [TEXT])
  await assert.rejects(chunks.next(), isFailure('truncated'))
  assert.deepEqual(asked, ['a key'])
  assert.equal(call.facts.attempts[0]?.failed, 'truncated')
})

test('a deployment whose breaker is open, and one whose keys rest, are not asked', async () => {
  const scripts = { a: [fails('reset')], b: [fails('rate_limited', 429, 30)], c: [ANSWER] }
  const { ask, asked } = setUp({ scripts })
  for (let n = 0; n < 6; n++) await ask()
  assert.deepEqual(
    ['a key', 'b key', 'c key'].map((name) => asked.filter((one) => one === name).length),
    [5, 1, 6],
  )
})

test('the only deployment is asked once more after what may pass, and no more', async () => {
  for (const kind of ['refused', 'reset', 'server_error', 'model_failed'] as const) {
    const passing = setUp({ scripts: { a: [fails(kind), ANSWER] } })
    assert.deepEqual(await passing.ask(), ANSWER)
    const lasting = setUp({ scripts: { a: [fails(kind)] } })
    await assert.rejects(lasting.ask(), isFailure(kind))
    assert.equal(lasting.asked.length, 2, kind)
  }
  for (const kind of [
    'rejected',
    'tls',
    'connect_timeout',
    'first_token_timeout',
    'redirect',
    'error_in_200',
  ] as const) {
    const { ask, asked } = setUp({ scripts: { a: [fails(kind), ANSWER] } })
    await assert.rejects(ask(), isFailure(kind))
    assert.equal(asked.length, 1, kind)
  }
})

const USELESS: Chunk[] = [
  { type: 'finish', reason: 'stop', odd: 'UNEXPECTED_TOOL_CALL' },
  { type: 'usage', usage: { input: 22, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 142 } },
]
const uselessly = () => [new UpstreamError('model_failed', { answerAsIs: USELESS })]

test('what a model wrote and nobody can use is the answer when there is no better one', async () => {
  const better = setUp({ scripts: { a: [uselessly(), ANSWER] } })
  assert.deepEqual(await better.ask(), ANSWER)
  const worse: Record<string, Script>[] = [
    { a: [uselessly()] },
    { a: [uselessly()], b: [fails('server_error', 500)] },
    { a: [uselessly(), fails('reset')] },
  ]
  for (const scripts of worse) {
    const { ask, asked, newCall } = setUp({ scripts })
    const call = newCall()
    assert.deepEqual(await ask(call), USELESS)
    assert.equal(asked.length, 2)
    assert.equal(call.facts.deploymentId, 'a', 'who bills it')
    assert.equal(call.progress.oddEnding, 'UNEXPECTED_TOOL_CALL')
  }
})

test('after an answer that nobody can use there is one further try, whatever comes of it, and the last such answer counts', async () => {
  const others: Chunk[] = [{ type: 'finish', reason: 'stop', odd: 'MALFORMED_FUNCTION_CALL' }]
  const again = [new UpstreamError('model_failed', { answerAsIs: others })]
  const two = setUp({ scripts: { a: [uselessly()], b: [again], c: [ANSWER] } })
  const call = two.newCall()
  assert.deepEqual(await two.ask(call), others)
  assert.equal(call.facts.deploymentId, 'b', 'who bills what is paid')
  const limited = setUp({ scripts: { a: [uselessly(), fails('rate_limited', 429), ANSWER] }, keys: ['1', '2', '3'] })
  assert.deepEqual(await limited.ask(), USELESS)
  const broken = setUp({ scripts: { a: [uselessly()], b: [fails('reset')], c: [ANSWER] } })
  assert.deepEqual(await broken.ask(), USELESS)
  for (const { asked } of [two, limited, broken]) assert.equal(asked.length, 2)
})

test('what was not tried, because a breaker is open, is not that one further try', async () => {
  const { ask, asked, clock } = setUp({ scripts: { a: [uselessly()], b: [fails('reset')], c: [ANSWER] } })
  for (let n = 0; n < 5; n++) {
    assert.deepEqual(await ask(), USELESS)
    clock.ms += 500
  }
  asked.length = 0
  assert.deepEqual(await ask(), ANSWER)
  assert.deepEqual(asked, ['a key', 'c key'])
})

test('the further try is one of the budget, also at another deployment', async () => {
  const { ask, asked, upstreams } = setUp({ scripts: { a: [uselessly()], b: [ANSWER] } })
  assert.deepEqual(await ask(), ANSWER)
  spendRepeats(upstreams)
  assert.deepEqual(await ask(), USELESS)
  assert.deepEqual(asked, ['a key', 'b key', 'a key'])
})

test('whoever hangs up before the further try has begun gets the answer that nobody can use on the bill', async () => {
  const pausing = setUp({ scripts: { a: [uselessly(), ANSWER] } })
  const inThePause = pausing.newCall()
  setImmediate(() => pausing.abort.abort(new HungUp('gone')))
  assert.deepEqual(await pausing.ask(inThePause), USELESS)
  assert.equal(inThePause.facts.deploymentId, 'a')
  assert.equal(pausing.asked.length, 1)

  const waiting = setUp({ scripts: { a: [uselessly()], b: [ANSWER] } })
  const unbegun = waiting.newCall()
  const { provider } = waiting.deployments[1] as OpenDeployment
  const { stream } = provider
  provider.stream = (asked, signal) => {
    waiting.abort.abort(new HungUp('gone'))
    return stream(asked, signal)
  }
  assert.deepEqual(await waiting.ask(unbegun), USELESS)
  assert.equal(unbegun.facts.deploymentId, 'a')
  assert.equal(waiting.upstreams.inFlight, 0)
})

test('a further try that has begun is the answer, however it ends', async () => {
  const broken = setUp({ scripts: { a: [uselessly(), [TEXT, ...fails('truncated')]] } })
  await assert.rejects(broken.ask(), isFailure('truncated'))
  const left = setUp({ scripts: { a: [uselessly(), ANSWER] } })
  const call = left.newCall()
  const chunks = (await beginAnswer(left.upstreams, left.deployments, ASK, call, call.signal))[Symbol.asyncIterator]()
  assert.deepEqual((await chunks.next()).value, [TEXT])
  left.abort.abort(new HungUp('gone'))
  await assert.rejects(chunks.next(), HungUp)
})

test('a model that fails closes no deployment and rests no key', async () => {
  const { ask, asked } = setUp({ scripts: { a: [uselessly()], b: [ANSWER] } })
  for (let n = 0; n < 10; n++) await ask()
  assert.equal(asked.filter((one) => one === 'a key').length, 10)
})

test('what a model wrote for a caller that is gone is not asked for again, and is still known', async () => {
  const { ask, asked, abort, newCall } = setUp({ scripts: { a: [uselessly(), ANSWER] } })
  const call = newCall()
  abort.abort(new HungUp('gone'))
  assert.deepEqual(await ask(call, new AbortController().signal), USELESS)
  assert.equal(asked.length, 1)
  assert.equal(call.facts.deploymentId, 'a')
})

function spendRepeats(upstreams: Upstreams): void {
  for (let n = 0; n < 100; n++) if (upstreams.repeatAfterMs() === undefined) return
  assert.fail('the budget has no end')
}

test('when the budget is spent nothing is repeated, and other deployments are asked all the same', async () => {
  const only = setUp({ scripts: { a: [fails('reset'), ANSWER] } })
  spendRepeats(only.upstreams)
  await assert.rejects(only.ask(), isFailure('reset'))
  const two = setUp({ scripts: { a: [fails('reset')], b: [ANSWER] } })
  spendRepeats(two.upstreams)
  assert.deepEqual(await two.ask(), ANSWER)
})

test('a caller who hangs up in the pause before the repeat ends the call there and then', async () => {
  const { ask, asked, abort, upstreams } = setUp({ scripts: { a: [fails('reset'), ANSWER] } })
  const running = ask()
  setImmediate(() => abort.abort(new HungUp('gone')))
  await assert.rejects(running, HungUp)
  assert.equal(asked.length, 1)
  assert.equal(upstreams.inFlight, 0)
})

test('after a 429 or a refused key the next key of the provider is tried, then the next deployment', async () => {
  for (const kind of ['rate_limited', 'key_rejected'] as const) {
    const { ask, asked } = setUp({ scripts: { a: [fails(kind)], b: [ANSWER] }, keys: ['1', '2'] })
    assert.deepEqual(await ask(), ANSWER)
    assert.deepEqual(asked, ['a 1', 'a 2', 'b 1'])
  }
})

test('no deployment is asked more than three times, however many keys there are', async () => {
  const { ask, asked } = setUp({ scripts: { a: [fails('rate_limited', 429)] }, keys: ['1', '2', '3', '4', '5'] })
  await assert.rejects(ask(), isFailure('rate_limited', 1))
  assert.deepEqual(asked, ['a 1', 'a 2', 'a 3'])
})

test('a key that has failed the call is not tried again by it, although it has rested by then', async () => {
  const { ask, asked, clock } = setUp({ scripts: { a: [fails('rate_limited', 429, 0)] }, keys: ['1', '2'] })
  clock.ms = 5
  await assert.rejects(ask())
  assert.deepEqual(asked, ['a 1', 'a 2'])
})

test('when all got 429 the caller is told the shortest wait', async () => {
  const scripts = { a: [fails('rate_limited', 429, 40)], b: [fails('rate_limited', 429, 7)] }
  const { ask } = setUp({ scripts })
  await assert.rejects(ask(), isFailure('rate_limited', 7))
  await assert.rejects(ask(), isRefusal('provider_rate_limited', 7))
})

test('when every breaker is open the call fails at once and is told when the next probe is due', async () => {
  const { ask, asked, clock } = setUp({ scripts: { a: [fails('reset')], b: [fails('reset')] } })
  for (let n = 0; n < 5; n++) await assert.rejects(ask(), isFailure('reset'))
  clock.ms = 4_000
  await assert.rejects(ask(), isRefusal('upstream_failed', 11))
  assert.equal(asked.length, 10)
})

test('no caller is told to wait longer than a minute', async () => {
  const { ask, clock } = setUp({ scripts: { a: [fails('key_rejected', 401)] } })
  for (let n = 0; n < 5; n++) {
    await assert.rejects(ask(), isFailure('key_rejected'))
    clock.ms += 600_000
  }
  await assert.rejects(ask(), isFailure('key_rejected'))
  await assert.rejects(ask(), isRefusal('upstream_failed', 60))
})

test('where one deployment is busy and the other fails, the caller is told that the provider is', async () => {
  const { ask } = setUp({ scripts: { a: [fails('rate_limited', 429, 9)], b: [fails('key_rejected', 401)] } })
  await assert.rejects(ask(), isFailure('key_rejected'))
  await assert.rejects(ask(), isRefusal('provider_rate_limited', 9))
})

test('leaving an answer early gives its place back and counts as no failure', async () => {
  const { upstreams, deployments, newCall, abort } = setUp({ scripts: { a: [ANSWER], b: [ANSWER] } })
  for (let n = 0; n < 10; n++) {
    for await (const chunks of await beginAnswer(upstreams, deployments, ASK, newCall(), abort.signal)) {
      assert.deepEqual(chunks, [TEXT])
      assert.equal(upstreams.inFlight, 1)
      break
    }
    assert.equal(upstreams.inFlight, 0)
  }
  assert.ok('key' in upstreams.admit(deployments[0] as OpenDeployment, { publisherId: 'publisher' }, false, new Set()))
})

test('a caller who reads too slowly is no failure of the provider', async () => {
  const { ask, asked, metrics } = setUp({ scripts: { a: [[TEXT, ...fails('reader_stalled')]], b: [ANSWER] } })
  for (let n = 0; n < 6; n++) await assert.rejects(ask(), isFailure('reader_stalled'))
  assert.deepEqual(asked, Array<string>(6).fill('a key'), 'five failures would have closed the deployment')
  const { values } = await metrics.upstreamAttempts.get()
  assert.deepEqual(
    values.map(({ labels, value }) => [labels.provider, labels.kind, value]),
    [['a', 'left', 6]],
  )
})

test('a call that asks for thoughts waits for them, and its silence closes no deployment', async () => {
  for (const kind of ['first_token_timeout', 'total_timeout'] as const) {
    const { ask, asked, waited, newCall } = setUp({ scripts: { a: [fails(kind)], b: [ANSWER] } })
    const thinking = { ...REQUEST, reasoning_effort: 'high' } as ChatRequest
    for (let n = 0; n < 6; n++) await ask(newCall(), undefined, thinking)
    assert.equal(asked.filter((one) => one === 'a key').length, 6, 'five failures would have closed the deployment')
    assert.deepEqual(new Set(waited), new Set([551_520]))
    for (let n = 0; n < 6; n++) await ask()
    assert.equal(asked.filter((one) => one === 'a key').length, 11, 'as those of others do')
    assert.equal(waited.at(-1), UPSTREAM_TIMERS.firstTokenMs)
  }
})
