import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createSimulator } from '../../simulator/server.ts'
import { createBlackHole, refusedPort } from '../../simulator/unreachable.ts'
import {
  addDeployment,
  addModel,
  addProvider,
  chatBody,
  complete,
  createWorld,
  eventsOf,
  until,
  walletOf,
  type World,
} from '../support/world.ts'

let world: World
before(async () => {
  world = await createWorld()
  // Short timers, so that silence is noticed within the test.
  await addModel(world.store, {
    id: 'sim-impatient',
    provider: 'simulator',
    deployment: { connectTimeoutMs: 300, firstTokenTimeoutMs: 300, idleTimeoutMs: 300 },
  })
  await untilServed('sim-impatient')
})
after(() => world.close())

async function untilServed(model: string): Promise<void> {
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes(`"${model}"`)
  })
}

async function newestCall() {
  const call = await world.store.db
    .selectFrom('calls as c')
    .innerJoin('charges as m', 'm.id', 'c.id')
    .select([
      'c.outcome',
      'c.status',
      'c.attempts',
      'm.charged_nanos',
      'm.usage_nanos',
      'm.usage_source',
      'm.output_tokens',
    ])
    .orderBy('c.id', 'desc')
    .executeTakeFirstOrThrow()
  return { ...call, attempts: call.attempts as { failed?: string }[] }
}

async function ask(script: string, stream: boolean, model = 'sim-impatient') {
  const before = await walletOf(world.store, world.project.id)
  const response = await complete(world, chatBody(`tokens=12 ${script}`, { model, stream }))
  const text = await response.text()
  await until(async () => (await walletOf(world.store, world.project.id)).openHolds === 0)
  const { balance } = await walletOf(world.store, world.project.id)
  return {
    status: response.status,
    text,
    events: eventsOf(text),
    charged: before.balance - balance,
    call: await newestCall(),
  }
}

const BEFORE_THE_FIRST_BYTE: Record<string, string> = {
  U5: 'first_token_timeout',
  U10: 'rate_limited',
  'U10-date': 'rate_limited',
  'U10-garbage': 'rate_limited',
  'U10-huge': 'rate_limited',
  'U11-500': 'server_error',
  'U11-502': 'server_error',
  'U11-503': 'server_error',
  'U11-529': 'server_error',
  'U12-json': 'error_in_200',
  'U12-sse': 'error_in_200',
  'U16-gzip': 'encoding',
  'U17-headers': 'protocol',
  'U17-bigheader': 'protocol',
  'U17-status': 'protocol',
  U18: 'redirect',
}

for (const [fault, kind] of Object.entries(BEFORE_THE_FIRST_BYTE)) {
  test(`${fault}: a provider that fails before the first byte is 502 for JSON and for streams, and costs nothing`, async () => {
    for (const stream of [false, true]) {
      const { status, text, charged, call } = await ask(`fault=${fault}`, stream)
      assert.equal(status, 502)
      assert.deepEqual(JSON.parse(text), {
        statusCode: 502,
        message: 'The model provider could not answer. Retry.',
        error: 'Bad Gateway',
      })
      assert.equal(charged, 0n)
      assert.equal(call.usage_source, 'none')
      assert.equal(call.attempts.at(-1)?.failed, kind)
    }
  })
}

const MIDWAY: Record<string, [kind: string, outcome: string]> = {
  U6: ['idle_timeout', 'timed_out'],
  'U7-badjson': ['bad_event', 'upstream_failed'],
  'U9-bigevent': ['event_too_big', 'upstream_failed'],
  'U12-midstream': ['error_in_200', 'upstream_failed'],
  'U14-eof': ['truncated', 'truncated'],
  'U14-close': ['truncated', 'truncated'],
  'U14-short': ['truncated', 'truncated'],
  'U14-rst': ['truncated', 'truncated'],
  'U14-nodone': ['truncated', 'truncated'],
  'U17-chunk': ['truncated', 'truncated'],
  'U19-nan': ['bad_event', 'upstream_failed'],
}

for (const [fault, [kind, outcome]] of Object.entries(MIDWAY)) {
  test(`${fault}: a provider that breaks midway ends in an error event without [DONE], or a 502, and costs nothing`, async () => {
    const streamed = await ask(`fault=${fault}`, true)
    assert.equal(streamed.status, 200)
    const last = JSON.parse(streamed.events.at(-1) ?? '{}') as { error?: Record<string, unknown> }
    assert.deepEqual(Object.keys(last.error ?? {}), ['message', 'type', 'code'])
    assert.ok(!streamed.text.includes('[DONE]'))
    const whole = await ask(`fault=${fault}`, false)
    assert.equal(whole.status, 502)
    for (const { charged, call } of [streamed, whole]) {
      assert.equal(charged, 0n)
      assert.equal(call.outcome, outcome)
      assert.equal(call.attempts.at(-1)?.failed, kind)
      assert.ok(call.usage_nanos > 0n, 'what it was worth is recorded as the operator’s loss')
    }
  })
}

for (const fault of [
  'U7-bom',
  'U7-cr',
  'U7-nospace',
  'U7-comments',
  'U7-multiline',
  'U7-unknown-fields',
  'U8',
  'U15',
  'U15-late',
]) {
  test(`${fault}: odd but legal streams arrive whole, are charged as reported, and the next call is unaffected`, async () => {
    const plain = await ask('', false)
    for (const stream of [false, true]) {
      const odd = await ask(`fault=${fault}`, stream)
      assert.equal(odd.status, 200)
      assert.equal(odd.call.outcome, 'completed')
      assert.equal(odd.call.usage_source, 'reported')
      assert.equal(odd.call.output_tokens, 12)
      if (stream) assert.equal(odd.events.at(-1), '[DONE]')
    }
    assert.equal((await ask('', false)).call.charged_nanos, plain.call.charged_nanos)
  })
}

for (const fault of ['U13', 'U19-negative', 'U19-huge', 'U19-string', 'U19-null']) {
  test(`${fault}: missing or impossible usage is replaced by our own count, which agrees with the tokenizer`, async () => {
    const { status, call, charged } = await ask(`fault=${fault}`, true)
    assert.equal(status, 200)
    assert.equal(call.usage_source, 'estimated')
    assert.equal(call.output_tokens, 12)
    assert.equal(charged, call.charged_nanos)
  })
}

for (const status of [400, 401, 402, 403, 404, 422]) {
  test(`a provider’s own ${status} is never shown as the caller’s: it is 502`, async () => {
    const answer = await ask(`status=${status}`, true)
    assert.equal(answer.status, 502)
    const isAboutTheKey = status === 401 || status === 402 || status === 403
    assert.equal(answer.call.attempts.at(-1)?.failed, isAboutTheKey ? 'key_rejected' : 'rejected')
  })
}

async function askModelAt(
  name: string,
  baseUrl: string,
): Promise<{ status: number; ms: number; failed: string | undefined }> {
  await addProvider(world.store, world.secrets, name, baseUrl)
  await addModel(world.store, {
    id: `model-${name}`,
    provider: name,
    deployment: { connectTimeoutMs: 300, firstTokenTimeoutMs: 2_000 },
  })
  await untilServed(`model-${name}`)
  const startedMs = performance.now()
  const { status, call } = await ask('', true, `model-${name}`)
  return { status, ms: performance.now() - startedMs, failed: call.attempts.at(-1)?.failed }
}

test('U1: a refused connection is 502 within a second', async () => {
  const { status, ms, failed } = await askModelAt('refused', `http://127.0.0.1:${await refusedPort()}/v1`)
  assert.deepEqual([status, failed], [502, 'refused'])
  assert.ok(ms < 1_000, `${ms} ms`)
})

test('U2: a connection that neither succeeds nor fails is 502 when the connect timer ends', async () => {
  const hole = await createBlackHole()
  try {
    const { status, ms, failed } = await askModelAt('hole', `http://127.0.0.1:${hole.port}/v1`)
    assert.deepEqual([status, failed], [502, 'connect_timeout'])
    assert.ok(ms < 900, `${ms} ms`)
  } finally {
    await hole.close()
  }
})

test('U3: a certificate that cannot be verified, and a server without TLS, are 502 and never spoken to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-keyout',
      key,
      '-out',
      cert,
      '-days',
      '1',
      '-subj',
      '/CN=localhost',
    ],
    { stdio: 'ignore' },
  )
  const secure = await createSimulator({ tls: { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') } })
  try {
    const selfSigned = await askModelAt('self-signed', `${secure.url.replace('http:', 'https:')}/v1`)
    assert.deepEqual([selfSigned.status, selfSigned.failed], [502, 'tls'])
    assert.equal(secure.calls.length, 0)
    const plain = await askModelAt('plain', `${world.simulator.url.replace('http:', 'https:')}/v1`)
    assert.deepEqual([plain.status, plain.failed], [502, 'tls'])
  } finally {
    await secure.close()
    rmSync(folder, { recursive: true })
  }
})

test('U4: a name that does not resolve is 502', async () => {
  const { status, failed } = await askModelAt('nowhere', 'http://nowhere.invalid/v1')
  assert.deepEqual([status, failed], [502, 'dns'])
})

test('a second route answers when the first fails before its first byte, and the call is charged once', async () => {
  await addModel(world.store, { id: 'sim-two', provider: 'refused', deployment: { position: 0 } })
  await addDeployment(world.store, { id: 'sim-two', provider: 'simulator', deployment: { position: 1 } })
  await until(async () => {
    const { status } = await ask('', true, 'sim-two')
    return status === 200
  })
  const { events, call, charged } = await ask('', true, 'sim-two')
  assert.equal(events.at(-1), '[DONE]')
  assert.deepEqual(
    call.attempts.map((attempt) => attempt.failed),
    ['refused', undefined],
  )
  assert.equal(charged, call.charged_nanos)
  assert.equal(call.output_tokens, 12)
})
