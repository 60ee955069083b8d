import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, test } from 'node:test'
import { createMetrics } from '../metrics.ts'
import type { MatchRequest } from '../rules/recommendations/matching.ts'
import { createMatcherClient, type MatcherClient } from './matcher-client.ts'

const NEVER = new AbortController().signal
const REQUEST: MatchRequest = {
  turns: [{ role: 'user', text: 'shoes?' }],
  answer: 'Yes, shoes.',
  minRelevance: 0,
  floorNanos: '0',
  blockedCategories: [],
  blockedAdvertisers: [],
  blockedDomains: [],
  seenOffers: [],
  deadlineMs: 2_000,
}

let open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open) await close()
  open = []
})

async function clientOf(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<MatcherClient> {
  const server: Server = createServer(answer).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createMatcherClient({ url, token: 'token', metrics: createMetrics() })
  open.push(
    () => client.close(),
    () => server.closeAllConnections(),
    () => server.close(),
  )
  return client
}

const outcomeOf = async (client: MatcherClient, changes: Partial<MatchRequest> = {}, signal = NEVER) =>
  (await client.match({ ...REQUEST, ...changes }, signal)).outcome

test('what a matcher says is passed on, and asked for with the token', async () => {
  const client = await clientOf((request, response) => {
    assert.equal(request.headers.authorization, 'Bearer token')
    response.end('{"outcome":"no_match"}')
  })
  assert.equal(await outcomeOf(client), 'no_match')
})

const MATCH = {
  offerId: '01980000-0000-7000-8000-000000000001',
  campaignId: '01980000-0000-7000-8000-000000000002',
  advertiserId: '01980000-0000-7000-8000-000000000003',
  advertiser: 'Nordlicht',
  headline: 'Aurora desk lamp',
  benefit: '',
  relevance: 0.7,
  priceNanos: '1',
}

test('a match is read with the hint that decided it, without one as older matchers send it, and with what newer ones may add', async () => {
  const said = [MATCH, { ...MATCH, hint: 'for people who read at night' }, { ...MATCH, mood: 'bright' }]
  const client = await clientOf((_, response) =>
    response.end(JSON.stringify({ outcome: 'matched', match: said.shift() })),
  )
  const read = async () => {
    const reply = await client.match(REQUEST, NEVER)
    return 'match' in reply && reply.match
  }
  assert.deepEqual(await read(), MATCH)
  assert.deepEqual(await read(), { ...MATCH, hint: 'for people who read at night' })
  assert.deepEqual(await read(), MATCH)
})

for (const [what, status, body] of [
  ['a failure', 500, '{}'],
  ['no room', 503, '{}'],
  ['no JSON', 200, 'hello'],
  ['an outcome that nobody knows', 200, '{"outcome":"surely"}'],
  ['an outcome that is not for a matcher to say', 200, '{"outcome":"served"}'],
  ['a match without an offer', 200, '{"outcome":"matched"}'],
  ['more than any answer has', 200, `{"outcome":"no_match","filler":"${'x'.repeat(200_000)}"}`],
] as const) {
  test(`${what} is a reason for no recommendation, never an error`, async () => {
    const client = await clientOf((_request, response) => response.writeHead(status).end(body))
    assert.equal(await outcomeOf(client), 'unavailable')
  })
}

test('a matcher that says nothing costs no more than the deadline', async () => {
  const client = await clientOf(() => {})
  const startedMs = performance.now()
  assert.equal(await outcomeOf(client, { deadlineMs: 50 }), 'deadline')
  assert.ok(performance.now() - startedMs < 5_000, 'it would never have answered')
})

test('a caller who hung up is not waited for', async () => {
  const client = await clientOf(() => {})
  const hungUp = new AbortController()
  const asked = outcomeOf(client, {}, hungUp.signal)
  setTimeout(() => hungUp.abort(), 20)
  assert.equal(await asked, 'aborted')
  assert.equal(await outcomeOf(client, {}, hungUp.signal), 'aborted')
})

test('a dead matcher is not asked again and again, and asked once more after a while', async (t) => {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  let asked = 0
  let isDead = true
  const client = await clientOf((request, response) => {
    asked += 1
    if (isDead) request.socket.destroy()
    else response.end('{"outcome":"no_match"}')
  })
  const askedAfter = async (ms: number) => {
    nowMs += ms
    for (let n = 0; n < 50; n++) assert.equal(await outcomeOf(client), 'unavailable')
    return asked
  }
  const askedAtOnceAfter = async (ms: number) => {
    nowMs += ms
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => outcomeOf(client)))
    assert.deepEqual(new Set(outcomes), new Set(['unavailable']))
    return asked
  }
  assert.equal(await askedAfter(0), 5)
  assert.equal(await askedAfter(999), 5, 'it rests for a second')
  assert.equal(await askedAfter(1), 6, 'one call finds out whether it is back')
  assert.equal(await askedAfter(999), 6)
  assert.equal(await askedAtOnceAfter(1), 7, 'and the others rest on until it has')
  isDead = false
  nowMs += 1_000
  for (let n = 0; n < 3; n++) assert.equal(await outcomeOf(client), 'no_match')
  assert.equal(asked, 10)
})

for (const status of [400, 413, 503]) {
  test(`a matcher that answers ${status} is well: the next call asks it again`, async () => {
    let asked = 0
    const client = await clientOf((_request, response) => {
      asked += 1
      response.writeHead(status).end('{}')
    })
    for (let n = 0; n < 20; n++) assert.equal(await outcomeOf(client), 'unavailable')
    assert.equal(asked, 20)
  })
}

const PROJECTS = Array.from({ length: 3 }, () => crypto.randomUUID())

test('only so many wait at once: the rest are told at once', async () => {
  const client = await clientOf(() => {})
  const asked = Array.from({ length: 100 }, () =>
    outcomeOf(client, { deadlineMs: 100, projectId: crypto.randomUUID() }),
  )
  const outcomes = await Promise.all(asked)
  assert.equal(outcomes.filter((outcome) => outcome === 'deadline').length, 64)
  assert.equal(outcomes.filter((outcome) => outcome === 'unavailable').length, 36)
})

test('a project has no more places than it leaves to others, and gets them back', async () => {
  const held: ServerResponse[] = []
  let isHolding = true
  const client = await clientOf((_request, response) => {
    if (isHolding) held.push(response)
    else response.end('{"outcome":"no_match"}')
  })
  const flood = (projectId: string | undefined) =>
    Array.from({ length: 100 }, () => outcomeOf(client, { deadlineMs: 60_000, projectId }))
  const [first, second] = [flood(PROJECTS[0]), flood(PROJECTS[1])]
  const third = outcomeOf(client, { projectId: PROJECTS[2] })
  while (held.length < 32 + 16 + 1) await new Promise((resolve) => setTimeout(resolve, 5))
  for (const response of held.splice(0)) response.end('{"outcome":"no_match"}')
  assert.equal(await third, 'no_match')
  const answered = async (asked: Promise<string>[]) =>
    (await Promise.all(asked)).filter((outcome) => outcome === 'no_match').length
  assert.deepEqual([await answered(first), await answered(second)], [32, 16])
  isHolding = false
  assert.equal(await answered(flood(PROJECTS[0])), 32)
})

test('a matcher that answers others in time is not taken for dead because of one project’s questions', async () => {
  const client = await clientOf((request, response) => {
    let text = ''
    request.on('data', (piece: Buffer) => (text += piece.toString()))
    request.on('end', () => void (text.includes('slow') || response.end('{"outcome":"no_match"}')))
  })
  // Long enough for the others to be answered first, also on a busy machine.
  const slow = { turns: [{ role: 'user' as const, text: 'slow' }], deadlineMs: 1_000, projectId: PROJECTS[0] }
  const asked = Array.from({ length: 20 }, () => outcomeOf(client, slow))
  assert.equal(await outcomeOf(client, { projectId: PROJECTS[1] }), 'no_match')
  assert.deepEqual(new Set(await Promise.all(asked)), new Set(['deadline']))
  assert.equal(await outcomeOf(client, { projectId: PROJECTS[1] }), 'no_match')
})
