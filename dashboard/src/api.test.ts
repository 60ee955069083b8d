import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { addressOf, api, ApiError } from './api.ts'
import { answerProof } from './proof/proof-requests.ts'

/** The browser's fetch, which answers like this and notes what it was asked. */
function answering(t: TestContext, ...answers: (Response | Error)[]) {
  const { mock } = t.mock.method(globalThis, 'fetch', () => {
    const answer = answers.shift() ?? assert.fail('nobody expected another request')
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
  })
  return mock
}

const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => assert.fail('it was answered'),
    (error: unknown) => (error instanceof ApiError ? error : assert.fail(String(error))),
  )

test('an address holds its parameters and what was asked, each as plain text, and nothing that was left out', () => {
  const params = { project: 'a/b c' }
  assert.equal(
    addressOf('GET /api/projects/:project/calls.csv', { params, query: { model: 'x&y', outcome: undefined } }),
    '/api/projects/a%2Fb%20c/calls.csv?model=x%26y',
  )
  assert.equal(
    addressOf('GET /api/projects/:project/ledger.csv', { params, query: {} }),
    '/api/projects/a%2Fb%20c/ledger.csv',
  )
})

test('a change is sent as JSON with the cookies of this site, and its reply is returned', async (t) => {
  const fetched = answering(t, Response.json({ done: true }))
  assert.deepEqual(await api('PATCH /api/me', { body: { name: 'Ada' } }), { done: true })
  const [address, init] = (fetched.calls[0]?.arguments ?? assert.fail()) as unknown as [string, RequestInit]
  assert.equal(address, '/api/me')
  assert.deepEqual(
    [init.method, init.credentials, init.headers, init.body],
    ['PATCH', 'same-origin', { 'content-type': 'application/json' }, '{"name":"Ada"}'],
  )
})

test('a refusal keeps its sentence, its name, the fields, the request and when to try again', async (t) => {
  const fields = [{ path: 'name', message: 'Enter a name.' }]
  const headers = { 'x-request-id': 'r-1', 'retry-after': '7' }
  answering(t, Response.json({ message: 'Slowly.', code: 'too_many_attempts', fields }, { status: 429, headers }))
  const {
    status,
    message,
    code,
    fields: beside,
    requestId,
    retryAfterSeconds,
  } = await refusalOf(api('GET /api/me', {}))
  assert.deepEqual(
    [status, message, code, beside, requestId, retryAfterSeconds],
    [429, 'Slowly.', 'too_many_attempts', fields, 'r-1', 7],
  )
})

test('what is not from our server, or does not come at all, is told in a sentence of ours', async (t) => {
  answering(t, new Response('<html>Bad gateway</html>', { status: 502 }), new TypeError('fetch failed'))
  const broken = await refusalOf(api('GET /api/me', {}))
  assert.deepEqual(
    [broken.status, broken.message, broken.fields, broken.requestId, broken.retryAfterSeconds],
    [502, 'Something went wrong on our side. Try again in a moment.', [], undefined, undefined],
  )
  const away = await refusalOf(api('GET /api/me', {}))
  assert.deepEqual(
    [away.status, away.message],
    [0, 'The server cannot be reached. Check your connection and try again.'],
  )
})

test('a server that is busy says so to people, whoever answered for it', async (t) => {
  const programs = { message: 'Parley is temporarily unavailable. Retry with exponential backoff.', code: 'x' }
  answering(
    t,
    Response.json(programs, { status: 503, headers: { 'retry-after': '2' } }),
    new Response('<html>Too many</html>', { status: 429 }),
    Response.json({ message: 'Too many wrong codes.', code: 'too_many_attempts' }, { status: 429 }),
  )
  const busy = await refusalOf(api('GET /api/me', {}))
  assert.deepEqual(
    [busy.message, busy.retryAfterSeconds],
    ['Parley is busy or being updated right now. Try again in a moment.', 2],
  )
  const proxy = await refusalOf(api('GET /api/me', {}))
  assert.equal(proxy.message, 'Too many requests at once. Wait a moment and try again.')
  assert.equal((await refusalOf(api('GET /api/me', {}))).message, 'Too many wrong codes.')
})

const proofNeeded = () => Response.json({ message: 'Prove it.', code: 'proof_needed' }, { status: 403 })

test('a change that needs a proof waits for it and is sent once more, with all that was typed', async (t) => {
  const fetched = answering(t, proofNeeded(), Response.json({ done: true }))
  const changed = api('POST /api/me/password', { body: { newPassword: 'a new one' } })
  await new Promise(setImmediate)
  assert.equal(fetched.callCount(), 1)
  answerProof(true)
  assert.deepEqual(await changed, { done: true })
  assert.deepEqual(fetched.calls[1]?.arguments, fetched.calls[0]?.arguments)
})

test('a change whose proof is not given, or is not enough, is refused and not sent again', async (t) => {
  const fetched = answering(t, proofNeeded(), proofNeeded(), proofNeeded())
  for (const [isProven, times] of [
    [false, 1],
    [true, 3],
  ] as const) {
    const refused = refusalOf(api('POST /api/me/password', { body: { newPassword: 'a new one' } }))
    await new Promise(setImmediate)
    answerProof(isProven)
    assert.equal((await refused).code, 'proof_needed')
    assert.equal(fetched.callCount(), times)
  }
})
