import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { createLog } from '../../platform/log.ts'
import { createMetrics } from '../../metrics.ts'
import { UpstreamError, type Provider } from '../../providers/provider.ts'
import { UPSTREAM_TIMERS } from '../../rules/limits.ts'
import type { ProviderKey, Route } from './catalogue.ts'
import { createUpstreams, type Admission, type Upstreams } from './upstreams.ts'

const MINUTE_MS = 60_000
const NONE: ReadonlySet<string> = new Set()
const PUBLISHER = 'publisher'
const NEIGHBOUR = 'neighbour'

function providerNamed(name: string): Provider {
  return { name, cannotHonour: () => undefined, stream: () => assert.fail('nobody is asked here') }
}

function keyOf(name: string, version = '1'): ProviderKey {
  return { id: `id of ${name}`, version, name, secret: `secret of ${name}` }
}

function routeTo(id: string, keys: ProviderKey[] = [keyOf('k')], providerId = 'p'): Route {
  const deployment = {
    id,
    providerId,
    upstreamModel: 'm',
    group: 0,
    weight: 100,
    unsupportedFields: new Set<string>(),
    timers: UPSTREAM_TIMERS,
    cost: undefined,
  }
  return { deployment, provider: providerNamed(providerId), keys }
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

function admitted(upstreams: Upstreams, route: Route, isOnly = false, publisherId = PUBLISHER): Admission {
  const admission = upstreams.admit(route, publisherId, isOnly, NONE)
  assert.ok('key' in admission, `not admitted: ${JSON.stringify(admission)}`)
  return admission
}

function refused(upstreams: Upstreams, route: Route, publisherId = PUBLISHER) {
  const refusal = upstreams.admit(route, publisherId, false, NONE)
  assert.ok('why' in refusal, 'admitted')
  return [refusal.why, refusal.waitMs]
}

function fail(upstreams: Upstreams, route: Route, error: UpstreamError, publisherId = PUBLISHER): string {
  const admission = admitted(upstreams, route, false, publisherId)
  admission.ended(error)
  return admission.key.name
}

function answer(upstreams: Upstreams, route: Route, publisherId = PUBLISHER): string {
  const admission = admitted(upstreams, route, false, publisherId)
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
  const used = ['d1', 'd2', 'd1', 'd2', 'd1', 'd2'].map((id) => answer(upstreams, routeTo(id, keys)))
  assert.deepEqual(used, ['a', 'b', 'c', 'a', 'b', 'c'])
})

test('a key that got 429 rests for as long as it was told, for that deployment only', () => {
  const { upstreams, clock } = setUp()
  const [route, other] = [routeTo('d1'), routeTo('d2')]
  fail(upstreams, route, limitedFor(20))
  assert.deepEqual(refused(upstreams, route), ['busy', 20_000])
  answer(upstreams, other)
  clock.ms = 20_000
  answer(upstreams, route)
})

test('while one key rests the others are used', () => {
  const { upstreams } = setUp()
  const route = routeTo('d', [keyOf('a'), keyOf('b')])
  assert.equal(fail(upstreams, route, limitedFor(20)), 'a')
  assert.deepEqual([answer(upstreams, route), answer(upstreams, route)], ['b', 'b'])
})

test('without a time to wait a key rests twice as long after each 429 in a row, and anew after an answer', () => {
  const { upstreams, clock } = setUp()
  const route = routeTo('d')
  const rests = [1, 2, 3].map(() => {
    fail(upstreams, route, LIMITED)
    const [, waitMs] = refused(upstreams, route)
    clock.ms += Number(waitMs)
    return waitMs
  })
  assert.deepEqual(rests, [1_000, 2_000, 4_000])
  answer(upstreams, route)
  fail(upstreams, route, LIMITED)
  assert.deepEqual(refused(upstreams, route), ['busy', 1_000])
})

test('a crowd that gets 429 together makes its key rest once', () => {
  const { upstreams } = setUp()
  const route = routeTo('d')
  for (const admission of Array.from({ length: 50 }, () => admitted(upstreams, route))) admission.ended(LIMITED)
  assert.deepEqual(refused(upstreams, route), ['busy', 1_000])
})

test('of several 429s the one that asks for the longest rest counts, whichever comes last', () => {
  for (const seconds of [
    [20, 5],
    [5, 20],
  ]) {
    const { upstreams } = setUp()
    const route = routeTo('d')
    const admissions = seconds.map(() => admitted(upstreams, route))
    for (const [n, admission] of admissions.entries()) admission.ended(limitedFor(seconds[n] ?? 0))
    assert.deepEqual(refused(upstreams, route), ['busy', 20_000])
  }
})

test('a refused key is not used any more, said once with its name and without its secret, and noted', async () => {
  const { upstreams, lines, noted, metric } = setUp()
  const route = routeTo('d', [keyOf('a'), keyOf('b')])
  const crowd = Array.from({ length: 10 }, () => admitted(upstreams, route)).filter(({ key }) => key.name === 'a')
  for (const admission of crowd) admission.ended(UNAUTHORISED)
  assert.deepEqual([answer(upstreams, route), answer(upstreams, route)], ['b', 'b'])
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
  fail(upstreams, routeTo('d1'), FORBIDDEN)
  fail(upstreams, routeTo('d1'), FORBIDDEN, NEIGHBOUR)
  assert.equal(refused(upstreams, routeTo('d1'))[0], 'failing')
  fail(upstreams, routeTo('d2'), UNAUTHORISED)
  assert.equal(refused(upstreams, routeTo('d3'))[0], 'failing')
})

test('a 403 that only one publisher is answered takes the key from nobody, however often it comes', () => {
  const { upstreams, lines, noted } = setUp()
  const route = routeTo('d')
  for (let n = 0; n < 20; n++) fail(upstreams, route, FORBIDDEN)
  answer(upstreams, route, NEIGHBOUR)
  // Answered in between, so that the next one may be about a prompt again.
  fail(upstreams, route, FORBIDDEN, NEIGHBOUR)
  answer(upstreams, route)
  assert.deepEqual(noted, [])
  assert.deepEqual(
    lines.map(({ level, publisher }) => [level, publisher]),
    [
      ['warn', PUBLISHER],
      ['warn', NEIGHBOUR],
    ],
  )
})

test('what one publisher makes fail closes the route to that one, and to all when it fails for two', async () => {
  const { upstreams, clock, metric } = setUp()
  const route = routeTo('d')
  const state = () => metric(/^parley_breaker_state\{[^}]*\} (\d)$/m)
  const failure = new UpstreamError('server_error', { status: 500 })
  for (let n = 0; n < 5; n++) fail(upstreams, route, failure)
  assert.equal(refused(upstreams, route)[0], 'failing')
  assert.equal(await state(), '2', 'the operator is shown that it fails for somebody')
  answer(upstreams, route, NEIGHBOUR)
  for (let n = 0; n < 5; n++) fail(upstreams, route, failure, NEIGHBOUR)
  assert.equal(refused(upstreams, route, 'somebody else')[0], 'failing')
  clock.ms = 15_000
  answer(upstreams, route, 'somebody else')
  answer(upstreams, route)
  answer(upstreams, route, NEIGHBOUR)
  assert.equal(await state(), '0')
})

test('a route that works again for everybody is open at once to those for whom it had failed', async () => {
  const { upstreams, clock, metric } = setUp()
  const route = routeTo('d')
  for (const publisher of [PUBLISHER, NEIGHBOUR])
    for (let n = 0; n < 5; n++) fail(upstreams, route, new UpstreamError('reset'), publisher)
  clock.ms = 15_000
  answer(upstreams, route, 'somebody else')
  assert.equal(await metric(/^parley_breaker_state\{[^}]*\} (\d)$/m), '0')
  // Not as a probe, which nobody could follow before it has begun to answer.
  for (const publisher of [PUBLISHER, PUBLISHER, NEIGHBOUR, NEIGHBOUR]) admitted(upstreams, route, false, publisher)
})

test('a probe for everybody that fails keeps the route closed to everybody, whatever its failure would close alone', () => {
  const { upstreams, clock } = setUp()
  const route = routeTo('d')
  for (let n = 0; n < 5; n++) fail(upstreams, route, new UpstreamError('refused'))
  clock.ms = 15_000
  fail(upstreams, route, new UpstreamError('server_error', { status: 500 }))
  assert.deepEqual(refused(upstreams, route, NEIGHBOUR), ['failing', 30_000])
})

test('a publisher whose calls failed long ago does not make another’s failures everybody’s', () => {
  const { upstreams, clock } = setUp()
  const route = routeTo('d')
  const failure = new UpstreamError('first_token_timeout')
  for (let n = 0; n < 5; n++) fail(upstreams, route, failure)
  clock.ms = MINUTE_MS
  for (let n = 0; n < 5; n++) fail(upstreams, route, failure, NEIGHBOUR)
  answer(upstreams, route, 'somebody else')
})

test('what nobody can cause by asking closes the route to everybody', () => {
  for (const kind of ['refused', 'dns', 'connect_timeout', 'tls'] as const) {
    const { upstreams } = setUp()
    const route = routeTo('d')
    for (let n = 0; n < 5; n++) fail(upstreams, route, new UpstreamError(kind))
    assert.equal(refused(upstreams, route, NEIGHBOUR)[0], 'failing', kind)
  }
})

test('a refused key is tried by one call after 10 seconds, then ever more seldom, down to every 10 minutes', () => {
  const { upstreams, clock } = setUp()
  const route = routeTo('d')
  const waits: unknown[] = []
  for (let n = 0; n < 9; n++) {
    const probe = admitted(upstreams, route)
    if (n > 0) assert.equal(refused(upstreams, route)[0], 'failing', 'one probe at a time')
    probe.ended(UNAUTHORISED)
    const [, waitMs] = refused(upstreams, route)
    waits.push(Number(waitMs) / 1_000)
    clock.ms += Number(waitMs)
  }
  assert.deepEqual(waits, [10, 20, 40, 80, 160, 320, 600, 600, 600])
})

test('a refused key that is accepted again is used again, and the operator no longer sees it as refused', async () => {
  const { upstreams, clock, lines, noted, metric } = setUp()
  const route = routeTo('d')
  fail(upstreams, route, UNAUTHORISED)
  clock.ms = 10_000
  answer(upstreams, route)
  for (let n = 0; n < 5; n++) answer(upstreams, route)
  assert.deepEqual(noted, [
    ['id of k', 401],
    ['id of k', undefined],
  ])
  assert.equal(await metric(/^parley_provider_key_disabled\{provider="p",key="k"\} (\d)$/m), '0')
  assert.ok(lines.some(({ msg }) => msg === 'provider accepts the key again'))
})

test('an answer that had begun before its key was refused does not clear the key', () => {
  const { upstreams } = setUp()
  const route = routeTo('d')
  const early = admitted(upstreams, route)
  fail(upstreams, route, UNAUTHORISED)
  early.began()
  early.ended('complete')
  assert.equal(refused(upstreams, route)[0], 'failing')
})

test('a probe that knew of one refusal does not clear another that came since', () => {
  const { upstreams, clock } = setUp()
  fail(upstreams, routeTo('d1'), FORBIDDEN)
  clock.ms = 10_000
  const probe = admitted(upstreams, routeTo('d1'))
  fail(upstreams, routeTo('d2'), UNAUTHORISED)
  probe.began()
  probe.ended('complete')
  assert.equal(refused(upstreams, routeTo('d1'))[0], 'failing')
})

test('what is known of a key is not believed of the one that replaces it, nor shown', async () => {
  const { upstreams, metric } = setUp()
  fail(upstreams, routeTo('d', [keyOf('k', 'old')]), UNAUTHORISED)
  answer(upstreams, routeTo('d', [keyOf('k', 'new')]))
  assert.equal(await metric(/^parley_provider_key_disabled\{provider="p",key="k"\} (\d)$/m), undefined)
})

test('a key that was replaced is used at once, and the metric of the old one goes away', async () => {
  const { upstreams, metric } = setUp()
  fail(upstreams, routeTo('d', [keyOf('k', 'old')]), UNAUTHORISED)
  const route = routeTo('d', [keyOf('k', 'new')])
  upstreams.keepOnly([route])
  assert.equal(await metric(/^parley_provider_key_disabled\{provider="p",key="k"\} (\d)$/m), undefined)
  answer(upstreams, route)
})

test('what is not in the catalogue any more is forgotten', async () => {
  const { upstreams, metric } = setUp()
  const route = routeTo('d')
  for (let n = 0; n < 5; n++) fail(upstreams, route, new UpstreamError('refused'))
  fail(upstreams, routeTo('e'), limitedFor(60))
  assert.equal(await metric(/^parley_breaker_state\{.*deployment="d".*\} (\d)$/m), '2')
  assert.ok(await metric(/^(parley_upstream_concurrency_limit\{.*deployment="e".*)$/m))
  upstreams.keepOnly([])
  assert.equal(await metric(/^parley_breaker_state\{.*deployment="d".*\} (\d)$/m), undefined)
  assert.equal(await metric(/^(parley_upstream_concurrency_limit\{.*)$/m), undefined)
  answer(upstreams, route)
  answer(upstreams, routeTo('e'))
})

test('503 and 529 cut how many calls a key bears, and the rest are refused for want of room', () => {
  for (const status of [503, 529]) {
    const { upstreams } = setUp()
    const route = routeTo('d')
    const crowd = Array.from({ length: 10 }, () => admitted(upstreams, route))
    crowd.pop()?.ended(new UpstreamError('server_error', { status }))
    assert.deepEqual(refused(upstreams, route), ['busy', 1_000])
    for (const admission of crowd) admission.ended('left')
    for (let n = 0; n < 7; n++) admitted(upstreams, route)
    assert.equal(refused(upstreams, route)[0], 'busy')
  }
})

const HARMLESS = ['rate_limited', 'key_rejected', 'rejected'] as const
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
  'event_too_big',
  'truncated',
] as const

test('failures of a deployment open its breaker; refusals of a key or a request, and hang-ups, do not', () => {
  for (const kind of HARMFUL) {
    const { upstreams } = setUp()
    for (let n = 0; n < 5; n++) fail(upstreams, routeTo('d'), new UpstreamError(kind))
    assert.deepEqual(refused(upstreams, routeTo('d')), ['failing', 15_000], kind)
  }
  for (const end of [...HARMLESS.map((kind) => new UpstreamError(kind)), 'left'] as const) {
    const { upstreams } = setUp()
    // Each has a key of its own, and all come at one moment: nothing is over or forgotten when the next one comes.
    const keys = Array.from({ length: 30 }, (_, n) => keyOf(`k${n}`))
    for (let n = 0; n < 30; n++) admitted(upstreams, routeTo('d', keys)).ended(end)
    assert.equal(answer(upstreams, routeTo('d', [keyOf('another')])), 'another')
  }
})

test('opening and closing are logged and shown', async () => {
  const { upstreams, clock, lines, metric } = setUp()
  const state = () => metric(/^parley_breaker_state\{.*\} (\d)$/m)
  const route = routeTo('d')
  for (let n = 0; n < 5; n++) fail(upstreams, route, new UpstreamError('refused'))
  assert.equal(await state(), '2')
  clock.ms = 15_000
  const probe = admitted(upstreams, route)
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
  const route = routeTo('d')
  for (let n = 0; n < 5; n++) fail(upstreams, route, new UpstreamError('refused'))
  clock.ms = 15_000
  fail(upstreams, route, limitedFor(30))
  assert.deepEqual(refused(upstreams, route), ['busy', 30_000])
  assert.deepEqual(refused(upstreams, route), ['busy', 30_000])
  clock.ms = 45_000
  answer(upstreams, route)
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
      const routes = new Map(['d1', 'd2'].map((id) => [id, routeTo(id, [keyOf('a'), keyOf('b')])]))
      const running: Admission[] = []
      const over: Admission[] = []
      for (const { deployment, publisher, isOnly, action, which, end, afterMs } of steps) {
        clock.ms += afterMs
        if (action === 'enter') {
          const admission = upstreams.admit(routes.get(deployment) as Route, publisher, isOnly, NONE)
          if ('key' in admission) running.push(admission)
        } else if (action === 'begin') running[which % running.length]?.began()
        else if (action === 'end') {
          const [ended] = running.splice(which % (running.length || 1), 1)
          ended?.ended(end)
          if (ended) over.push(ended)
        } else if (action === 'end again') over[which % over.length]?.ended(end)
        else upstreams.keepOnly([...routes.values()])
        assert.equal(upstreams.inFlight, running.length)
      }
      for (const admission of running) admission.ended('left')
      assert.equal(upstreams.inFlight, 0)
      clock.ms += 11 * MINUTE_MS
      for (const route of routes.values()) answer(upstreams, route)
    }),
    { numRuns: 500 },
  )
})

test('the only route is repeated as long as the budget lasts', () => {
  const { upstreams, clock } = setUp()
  const repeats = () => Array.from({ length: 10 }, () => upstreams.repeatAfterMs()).filter((ms) => ms !== undefined)
  assert.deepEqual(repeats(), [50, 50, 50])
  for (let n = 0; n < 20; n++) upstreams.inOrder([])
  assert.equal(repeats().length, 2)
  clock.ms = 1_000
  assert.equal(repeats().length, 3)
})
