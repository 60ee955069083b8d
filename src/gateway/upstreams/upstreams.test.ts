import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { createLog } from '../../platform/log.ts'
import { createMetrics } from '../../metrics.ts'
import { UpstreamError, type Provider } from '../../providers/provider.ts'
import { UPSTREAM_TIMERS } from '../../rules/limits.ts'
import type { OpenDeployment, ProviderKey } from './catalogue.ts'
import { createUpstreams, type Admission, type Upstreams } from './upstreams.ts'
import { MINUTE_MS } from '../../rules/durations.ts'

const NONE: ReadonlySet<string> = new Set()
const PUBLISHER = 'publisher'
const NEIGHBOUR = 'neighbour'

function providerNamed(name: string): Provider {
  return { name, cannotHonour: () => undefined, stream: () => assert.fail('nobody is asked here') }
}

function keyOf(name: string, version = '1'): ProviderKey {
  return { id: `id of ${name}`, version, name, secret: `secret of ${name}` }
}

function deploymentAt(id: string, keys: ProviderKey[] = [keyOf('k')], providerId = 'p'): OpenDeployment {
  return {
    id,
    providerId,
    upstreamModel: 'm',
    group: 0,
    weight: 100,
    extraBody: undefined,
    unsupportedFields: new Set<string>(),
    timers: UPSTREAM_TIMERS,
    cost: undefined,
    provider: providerNamed(providerId),
    keys,
  }
}

function setUp() {
  const clock = { ms: 0 }
  const lines: Record<string, unknown>[] = []
  const noted: [string, number | undefined][] = []
  const metrics = createMetrics()
  const upstreams = createUpstreams({
    log: createLog('info', { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) }),
    metrics,
    noteKeyRefusal: (id, refusal) => {
      noted.push([id, refusal?.status])
      return Promise.reject(new Error('the store is away'))
    },
    now: () => clock.ms,
    random: () => 0,
  })
  const metric = async (pattern: RegExp) => pattern.exec(await metrics.registry.metrics())?.[1]
  return { upstreams, clock, lines, noted, metric }
}

function admitted(
  upstreams: Upstreams,
  deployment: OpenDeployment,
  isOnly = false,
  publisherId = PUBLISHER,
): Admission {
  const admission = upstreams.admit(deployment, { publisherId }, isOnly, NONE)
  assert.ok('key' in admission, `not admitted: ${JSON.stringify(admission)}`)
  return admission
}

function refused(upstreams: Upstreams, deployment: OpenDeployment, publisherId = PUBLISHER) {
  const refusal = upstreams.admit(deployment, { publisherId }, false, NONE)
  assert.ok('why' in refusal, 'admitted')
  return [refusal.why, refusal.waitMs]
}

function fail(upstreams: Upstreams, deployment: OpenDeployment, error: UpstreamError, publisherId = PUBLISHER): string {
  const admission = admitted(upstreams, deployment, false, publisherId)
  admission.ended(error)
  return admission.key.name
}

function answer(upstreams: Upstreams, deployment: OpenDeployment, publisherId = PUBLISHER): string {
  const admission = admitted(upstreams, deployment, false, publisherId)
  admission.began()
  admission.ended('complete')
  return admission.key.name
}

const LIMITED = new UpstreamError('rate_limited', { status: 429 })
const limitedFor = (retryAfterSeconds: number) => new UpstreamError('rate_limited', { status: 429, retryAfterSeconds })
const UNAUTHORISED = new UpstreamError('key_rejected', { status: 401 })
const FORBIDDEN = new UpstreamError('key_rejected', { status: 403 })

test('the keys of a provider are used in turn, over all its deployments', () => {
  const { upstreams } = setUp()
  const keys = [keyOf('a'), keyOf('b'), keyOf('c')]
  const used = ['d1', 'd2', 'd1', 'd2', 'd1', 'd2'].map((id) => answer(upstreams, deploymentAt(id, keys)))
  assert.deepEqual(used, ['a', 'b', 'c', 'a', 'b', 'c'])
})

test('a conversation keeps its key and its deployment, whoever else calls in between, and has others when they must rest', () => {
  const { upstreams } = setUp()
  const keys = [keyOf('a'), keyOf('b'), keyOf('c')]
  const deployments = [deploymentAt('d1', keys), deploymentAt('d2', keys)]
  const conversation = 'conversation'
  const [first, second] = upstreams.inOrder(deployments, conversation)
  assert.ok(first && second)
  const take = () => {
    const admission = upstreams.admit(first, { publisherId: PUBLISHER, conversation }, false, NONE)
    assert.ok('key' in admission)
    return admission
  }
  const [key, ...others] = Array.from({ length: 20 }, () => {
    answer(upstreams, second)
    assert.equal(upstreams.inOrder(deployments, conversation)[0], first)
    const admission = take()
    admission.ended('complete')
    return admission.key.name
  })
  assert.deepEqual(new Set(others), new Set([key]))
  take().ended(limitedFor(20))
  const next = take()
  assert.notEqual(next.key.name, key)
  next.ended('complete')
})

test('a key that got 429 rests for as long as it was told, for that deployment only', () => {
  const { upstreams, clock } = setUp()
  const [deployment, other] = [deploymentAt('d1'), deploymentAt('d2')]
  fail(upstreams, deployment, limitedFor(20))
  assert.deepEqual(refused(upstreams, deployment), ['busy', 20_000])
  answer(upstreams, other)
  clock.ms = 20_000
  answer(upstreams, deployment)
})

test('while one key rests the others are used', () => {
  const { upstreams } = setUp()
  const deployment = deploymentAt('d', [keyOf('a'), keyOf('b')])
  assert.equal(fail(upstreams, deployment, limitedFor(20)), 'a')
  assert.deepEqual([answer(upstreams, deployment), answer(upstreams, deployment)], ['b', 'b'])
})

test('without a time to wait a key rests twice as long after each 429 in a row, and anew after an answer', () => {
  const { upstreams, clock } = setUp()
  const deployment = deploymentAt('d')
  const rests = [1, 2, 3].map(() => {
    fail(upstreams, deployment, LIMITED)
    const [, waitMs] = refused(upstreams, deployment)
    clock.ms += Number(waitMs)
    return waitMs
  })
  assert.deepEqual(rests, [1_000, 2_000, 4_000])
  answer(upstreams, deployment)
  fail(upstreams, deployment, LIMITED)
  assert.deepEqual(refused(upstreams, deployment), ['busy', 1_000])
})

test('a crowd that gets 429 together makes its key rest once', () => {
  const { upstreams } = setUp()
  const deployment = deploymentAt('d')
  for (const admission of Array.from({ length: 50 }, () => admitted(upstreams, deployment))) admission.ended(LIMITED)
  assert.deepEqual(refused(upstreams, deployment), ['busy', 1_000])
})

test('of several 429s the one that asks for the longest rest counts, whichever comes last', () => {
  for (const seconds of [
    [20, 5],
    [5, 20],
  ]) {
    const { upstreams } = setUp()
    const deployment = deploymentAt('d')
    const admissions = seconds.map(() => admitted(upstreams, deployment))
    for (const [n, admission] of admissions.entries()) admission.ended(limitedFor(seconds[n] ?? 0))
    assert.deepEqual(refused(upstreams, deployment), ['busy', 20_000])
  }
})

test('a refused key is not used any more, said once with its name and without its secret, and noted', async () => {
  const { upstreams, lines, noted, metric } = setUp()
  const deployment = deploymentAt('d', [keyOf('a'), keyOf('b')])
  const crowd = Array.from({ length: 10 }, () => admitted(upstreams, deployment)).filter(({ key }) => key.name === 'a')
  for (const admission of crowd) admission.ended(UNAUTHORISED)
  assert.deepEqual([answer(upstreams, deployment), answer(upstreams, deployment)], ['b', 'b'])
  assert.deepEqual(noted, [['id of a', 401]])
  const errors = lines.filter(({ level }) => level === 'error')
  assert.deepEqual(
    errors.map(({ provider, providerKey, upstreamStatus }) => [provider, providerKey, upstreamStatus]),
    [['p', 'a', 401]],
  )
  assert.ok(!JSON.stringify(lines).includes('secret of'))
  assert.equal(await metric(/^parley_provider_key_disabled\{provider="p",key="a"\} (\d)$/m), '1')
})

test('401 is about the key everywhere, 403 about the key at this model', () => {
  const { upstreams } = setUp()
  fail(upstreams, deploymentAt('d1'), FORBIDDEN)
  fail(upstreams, deploymentAt('d1'), FORBIDDEN, NEIGHBOUR)
  assert.equal(refused(upstreams, deploymentAt('d1'))[0], 'failing')
  fail(upstreams, deploymentAt('d2'), UNAUTHORISED)
  assert.equal(refused(upstreams, deploymentAt('d3'))[0], 'failing')
})

test('a 403 that only one publisher is answered takes the key from nobody, however often it comes', () => {
  const { upstreams, lines, noted } = setUp()
  const deployment = deploymentAt('d')
  for (let n = 0; n < 20; n++) fail(upstreams, deployment, FORBIDDEN)
  answer(upstreams, deployment, NEIGHBOUR)
  // Answered in between, so that the next one may be about a prompt again.
  fail(upstreams, deployment, FORBIDDEN, NEIGHBOUR)
  answer(upstreams, deployment)
  assert.deepEqual(noted, [])
  assert.deepEqual(
    lines.map(({ level, publisher }) => [level, publisher]),
    [
      ['warn', PUBLISHER],
      ['warn', NEIGHBOUR],
    ],
  )
})

test('what one publisher makes fail closes the deployment to that one, and to all when it fails for two', async () => {
  const { upstreams, clock, metric } = setUp()
  const deployment = deploymentAt('d')
  const state = () => metric(/^parley_breaker_state\{[^}]*\} (\d)$/m)
  const failure = new UpstreamError('server_error', { status: 500 })
  for (let n = 0; n < 5; n++) fail(upstreams, deployment, failure)
  assert.equal(refused(upstreams, deployment)[0], 'failing')
  assert.equal(await state(), '2', 'the operator is shown that it fails for somebody')
  answer(upstreams, deployment, NEIGHBOUR)
  for (let n = 0; n < 5; n++) fail(upstreams, deployment, failure, NEIGHBOUR)
  assert.equal(refused(upstreams, deployment, 'somebody else')[0], 'failing')
  clock.ms = 15_000
  answer(upstreams, deployment, 'somebody else')
  answer(upstreams, deployment)
  answer(upstreams, deployment, NEIGHBOUR)
  assert.equal(await state(), '0')
})

test('a deployment that works again for everybody is open at once to those for whom it had failed', async () => {
  const { upstreams, clock, metric } = setUp()
  const deployment = deploymentAt('d')
  for (const publisher of [PUBLISHER, NEIGHBOUR])
    for (let n = 0; n < 5; n++) fail(upstreams, deployment, new UpstreamError('reset'), publisher)
  clock.ms = 15_000
  answer(upstreams, deployment, 'somebody else')
  assert.equal(await metric(/^parley_breaker_state\{[^}]*\} (\d)$/m), '0')
  // Not as a probe, which nobody could follow before it has begun to answer.
  for (const publisher of [PUBLISHER, PUBLISHER, NEIGHBOUR, NEIGHBOUR])
    admitted(upstreams, deployment, false, publisher)
})

test('a probe for everybody keeps the deployment closed when it fails for two publishers, one after the other', () => {
  const { upstreams, clock } = setUp()
  const deployment = deploymentAt('d')
  const failure = new UpstreamError('server_error', { status: 500 })
  for (let n = 0; n < 5; n++) fail(upstreams, deployment, new UpstreamError('refused'))
  clock.ms = 15_000
  // However often it is the same one, others may still find out.
  for (let n = 0; n < 4; n++) fail(upstreams, deployment, failure)
  fail(upstreams, deployment, failure, NEIGHBOUR)
  assert.deepEqual(refused(upstreams, deployment, 'somebody else'), ['failing', 30_000])
})

test('a 429 that one publisher is answered makes the key rest for that one; for everybody when another is answered so', () => {
  const { upstreams, clock } = setUp()
  const deployment = deploymentAt('d')
  answer(upstreams, deployment, NEIGHBOUR)
  for (let n = 0; n < 20; n++) {
    fail(upstreams, deployment, limitedFor(20))
    assert.deepEqual(refused(upstreams, deployment), ['busy', 20_000])
    answer(upstreams, deployment, NEIGHBOUR)
    clock.ms += 20_000
  }
  fail(upstreams, deployment, limitedFor(20))
  fail(upstreams, deployment, limitedFor(30), NEIGHBOUR)
  assert.deepEqual(refused(upstreams, deployment, 'somebody else'), ['busy', 30_000])
})

test('what one publisher is told of too many calls does not cut how many the others may have', () => {
  for (const error of [LIMITED, new UpstreamError('server_error', { status: 503 })]) {
    const { upstreams, clock } = setUp()
    const deployment = deploymentAt('d')
    const crowd = Array.from({ length: 10 }, () => admitted(upstreams, deployment, false, NEIGHBOUR))
    for (let n = 0; n < 3; n++) {
      fail(upstreams, deployment, error)
      clock.ms += 5_000
    }
    crowd.push(admitted(upstreams, deployment, false, NEIGHBOUR))
    fail(upstreams, deployment, error)
    crowd.pop()?.ended(error)
    assert.equal(refused(upstreams, deployment, 'somebody else')[0], 'busy', 'two are told')
  }
})

test('a 402 that one publisher is answered, as for a request that is too dear, takes the key from nobody', () => {
  const { upstreams, lines, noted } = setUp()
  const deployment = deploymentAt('d')
  const unpaid = new UpstreamError('key_rejected', { status: 402 })
  answer(upstreams, deployment, NEIGHBOUR)
  for (let n = 0; n < 20; n++) fail(upstreams, deployment, unpaid)
  assert.deepEqual(noted, [])
  assert.deepEqual(
    lines.map(({ level, publisher }) => [level, publisher]),
    [['warn', PUBLISHER]],
  )
  fail(upstreams, deployment, unpaid, NEIGHBOUR)
  assert.deepEqual(noted, [['id of k', 402]])
  assert.equal(refused(upstreams, deployment, 'somebody else')[0], 'failing')
})

test('a publisher whose calls failed long ago does not make another’s failures everybody’s', () => {
  const { upstreams, clock } = setUp()
  const deployment = deploymentAt('d')
  const failure = new UpstreamError('first_token_timeout')
  for (let n = 0; n < 5; n++) fail(upstreams, deployment, failure)
  clock.ms = MINUTE_MS
  for (let n = 0; n < 5; n++) fail(upstreams, deployment, failure, NEIGHBOUR)
  answer(upstreams, deployment, 'somebody else')
})

test('what nobody can cause by asking closes the deployment to everybody', () => {
  for (const kind of ['refused', 'dns', 'connect_timeout', 'tls'] as const) {
    const { upstreams } = setUp()
    const deployment = deploymentAt('d')
    for (let n = 0; n < 5; n++) fail(upstreams, deployment, new UpstreamError(kind))
    assert.equal(refused(upstreams, deployment, NEIGHBOUR)[0], 'failing', kind)
  }
})

test('a refused key is tried by one call after 10 seconds, then ever more seldom, down to every 10 minutes', () => {
  const { upstreams, clock } = setUp()
  const deployment = deploymentAt('d')
  const waits: unknown[] = []
  for (let n = 0; n < 9; n++) {
    const probe = admitted(upstreams, deployment)
    if (n > 0) assert.equal(refused(upstreams, deployment)[0], 'failing', 'one probe at a time')
    probe.ended(UNAUTHORISED)
    const [, waitMs] = refused(upstreams, deployment)
    waits.push(Number(waitMs) / 1_000)
    clock.ms += Number(waitMs)
  }
  assert.deepEqual(waits, [10, 20, 40, 80, 160, 320, 600, 600, 600])
})

test('a refused key that is accepted again is used again, and the operator no longer sees it as refused', async () => {
  const { upstreams, clock, lines, noted, metric } = setUp()
  const deployment = deploymentAt('d')
  fail(upstreams, deployment, UNAUTHORISED)
  clock.ms = 10_000
  answer(upstreams, deployment)
  for (let n = 0; n < 5; n++) answer(upstreams, deployment)
  assert.deepEqual(noted, [
    ['id of k', 401],
    ['id of k', undefined],
  ])
  assert.equal(await metric(/^parley_provider_key_disabled\{provider="p",key="k"\} (\d)$/m), '0')
  assert.ok(lines.some(({ msg }) => msg === 'provider accepts the key again'))
})

test('an answer that had begun before its key was refused does not clear the key', () => {
  const { upstreams } = setUp()
  const deployment = deploymentAt('d')
  const early = admitted(upstreams, deployment)
  fail(upstreams, deployment, UNAUTHORISED)
  early.began()
  early.ended('complete')
  assert.equal(refused(upstreams, deployment)[0], 'failing')
})

test('a probe that knew of one refusal does not clear another that came since', () => {
  const { upstreams, clock } = setUp()
  fail(upstreams, deploymentAt('d1'), FORBIDDEN)
  clock.ms = 10_000
  const probe = admitted(upstreams, deploymentAt('d1'))
  fail(upstreams, deploymentAt('d2'), UNAUTHORISED)
  probe.began()
  probe.ended('complete')
  assert.equal(refused(upstreams, deploymentAt('d1'))[0], 'failing')
})

test('what is known of a key is not believed of the one that replaces it, nor shown', async () => {
  const { upstreams, metric } = setUp()
  fail(upstreams, deploymentAt('d', [keyOf('k', 'old')]), UNAUTHORISED)
  answer(upstreams, deploymentAt('d', [keyOf('k', 'new')]))
  assert.equal(await metric(/^parley_provider_key_disabled\{provider="p",key="k"\} (\d)$/m), undefined)
})

test('a key that was replaced is used at once, and the metric of the old one goes away', async () => {
  const { upstreams, metric } = setUp()
  fail(upstreams, deploymentAt('d', [keyOf('k', 'old')]), UNAUTHORISED)
  const deployment = deploymentAt('d', [keyOf('k', 'new')])
  upstreams.keepOnly([deployment])
  assert.equal(await metric(/^parley_provider_key_disabled\{provider="p",key="k"\} (\d)$/m), undefined)
  answer(upstreams, deployment)
})

test('what is not in the catalogue any more is forgotten', async () => {
  const { upstreams, metric } = setUp()
  const deployment = deploymentAt('d')
  for (let n = 0; n < 5; n++) fail(upstreams, deployment, new UpstreamError('refused'))
  fail(upstreams, deploymentAt('e'), limitedFor(60))
  assert.equal(await metric(/^parley_breaker_state\{.*deployment="d".*\} (\d)$/m), '2')
  assert.ok(await metric(/^(parley_upstream_concurrency_limit\{.*deployment="e".*)$/m))
  upstreams.keepOnly([])
  assert.equal(await metric(/^parley_breaker_state\{.*deployment="d".*\} (\d)$/m), undefined)
  assert.equal(await metric(/^(parley_upstream_concurrency_limit\{.*)$/m), undefined)
  answer(upstreams, deployment)
  answer(upstreams, deploymentAt('e'))
})

test('503 and 529 cut how many calls a key bears, and the rest are refused for want of room', () => {
  for (const status of [503, 529]) {
    const { upstreams } = setUp()
    const deployment = deploymentAt('d')
    const crowd = Array.from({ length: 10 }, () => admitted(upstreams, deployment))
    crowd.pop()?.ended(new UpstreamError('server_error', { status }))
    assert.deepEqual(refused(upstreams, deployment), ['busy', 1_000])
    for (const admission of crowd) admission.ended('left')
    for (let n = 0; n < 7; n++) admitted(upstreams, deployment)
    assert.equal(refused(upstreams, deployment)[0], 'busy')
  }
})

const HARMLESS = ['rate_limited', 'key_rejected', 'rejected', 'event_too_big'] as const
const HARMFUL = [
  'refused',
  'dns',
  'connect_timeout',
  'tls',
  'reset',
  'first_token_timeout',
  'idle_timeout',
  'total_timeout',
  'server_error',
  'redirect',
  'encoding',
  'protocol',
  'error_in_200',
  'bad_event',
  'truncated',
] as const

test('failures of a deployment open its breaker; refusals of a key or a request, and hang-ups, do not', () => {
  for (const kind of HARMFUL) {
    const { upstreams } = setUp()
    for (let n = 0; n < 5; n++) fail(upstreams, deploymentAt('d'), new UpstreamError(kind))
    assert.deepEqual(refused(upstreams, deploymentAt('d')), ['failing', 15_000], kind)
  }
  for (const end of [...HARMLESS.map((kind) => new UpstreamError(kind)), 'left'] as const) {
    const { upstreams } = setUp()
    // Each has a key of its own, and all come at one moment: nothing is over or forgotten when the next one comes.
    const keys = Array.from({ length: 30 }, (_, n) => keyOf(`k${n}`))
    for (let n = 0; n < 30; n++) admitted(upstreams, deploymentAt('d', keys)).ended(end)
    assert.equal(answer(upstreams, deploymentAt('d', [keyOf('another')])), 'another')
  }
})

test('opening and closing are logged and shown', async () => {
  const { upstreams, clock, lines, metric } = setUp()
  const state = () => metric(/^parley_breaker_state\{.*\} (\d)$/m)
  const deployment = deploymentAt('d')
  for (let n = 0; n < 5; n++) fail(upstreams, deployment, new UpstreamError('refused'))
  assert.equal(await state(), '2')
  clock.ms = 15_000
  const probe = admitted(upstreams, deployment)
  assert.equal(await state(), '1')
  probe.began()
  probe.ended('complete')
  assert.equal(await state(), '0')
  assert.deepEqual(
    lines.map(({ level, msg }) => `${String(level)} ${String(msg)}`),
    ['warn route fails: not used until a probe succeeds', 'info route works again'],
  )
})

test('a call that finds no key does not take the place of a probe', () => {
  const { upstreams, clock } = setUp()
  const deployment = deploymentAt('d')
  for (let n = 0; n < 5; n++) fail(upstreams, deployment, new UpstreamError('refused'))
  clock.ms = 15_000
  fail(upstreams, deployment, limitedFor(30))
  assert.deepEqual(refused(upstreams, deployment), ['busy', 30_000])
  assert.deepEqual(refused(upstreams, deployment), ['busy', 30_000])
  clock.ms = 45_000
  answer(upstreams, deployment)
})

test('whatever happens in whatever order, nothing is in flight in the end, and a deployment can be used again', () => {
  const ends = [...HARMFUL, ...HARMLESS].map((kind) => new UpstreamError(kind, { status: 503 }))
  const step = fc.record({
    deployment: fc.constantFrom('d1', 'd2'),
    isOnly: fc.boolean(),
    publisher: fc.constantFrom(PUBLISHER, NEIGHBOUR),
    action: fc.constantFrom('enter', 'enter', 'begin', 'end', 'end again', 'refresh'),
    which: fc.nat(),
    end: fc.constantFrom('complete' as const, 'left' as const, ...ends),
    afterMs: fc.constantFrom(0, 10, 2_000, 16_000),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const { upstreams, clock } = setUp()
      const deployments = new Map(['d1', 'd2'].map((id) => [id, deploymentAt(id, [keyOf('a'), keyOf('b')])]))
      const running: Admission[] = []
      const over: Admission[] = []
      for (const { deployment, publisher, isOnly, action, which, end, afterMs } of steps) {
        clock.ms += afterMs
        if (action === 'enter') {
          const admission = upstreams.admit(
            deployments.get(deployment) as OpenDeployment,
            { publisherId: publisher },
            isOnly,
            NONE,
          )
          if ('key' in admission) running.push(admission)
        } else if (action === 'begin') running[which % running.length]?.began()
        else if (action === 'end') {
          const [ended] = running.splice(which % (running.length || 1), 1)
          ended?.ended(end)
          if (ended) over.push(ended)
        } else if (action === 'end again') over[which % over.length]?.ended(end)
        else upstreams.keepOnly([...deployments.values()])
        assert.equal(upstreams.inFlight, running.length)
      }
      for (const admission of running) admission.ended('left')
      assert.equal(upstreams.inFlight, 0)
      clock.ms += 11 * MINUTE_MS
      for (const deployment of deployments.values()) answer(upstreams, deployment)
    }),
    { numRuns: 500 },
  )
})

test('the only deployment is repeated as long as the budget lasts', () => {
  const { upstreams, clock } = setUp()
  const repeats = () => Array.from({ length: 10 }, () => upstreams.repeatAfterMs()).filter((ms) => ms !== undefined)
  assert.deepEqual(repeats(), [50, 50, 50])
  for (let n = 0; n < 20; n++) upstreams.inOrder([])
  assert.equal(repeats().length, 2)
  clock.ms = 1_000
  assert.equal(repeats().length, 3)
})
