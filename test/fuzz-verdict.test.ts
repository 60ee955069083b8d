import assert from 'node:assert/strict'
import { test } from 'node:test'
import { complaintAbout } from './fuzz/answers.ts'
import { randomOf } from './fuzz/part.ts'
import { tcpInputOf } from './fuzz/raw-requests.ts'
import { inputOf } from './fuzz/requests.ts'
import { answersIn } from './fuzz/wire.ts'
import { slopeMaxOf, slopeOf, type Seen } from './soak/verdict.ts'

const asked = { method: 'POST', isOpenAIErrors: false }
const headers = { 'x-request-id': 'r', 'content-type': 'application/json' }
const plain = { statusCode: 422, message: 'Mend it.', error: 'Unprocessable Entity' }
const openai = { message: 'Mend it.', type: 'invalid_request_error', code: 'invalid_value', param: null }
const stream = { 'x-request-id': 'r', 'content-type': 'text/event-stream' }

function judged(status: number, body: unknown, others: Partial<typeof asked> = {}): string | undefined {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return complaintAbout({ ...asked, ...others }, { status, headers, body: text })
}

test('an error in the documented shape is none, and any other is', () => {
  assert.equal(judged(422, plain), undefined)
  assert.equal(judged(422, { ...plain, error: openai }, { isOpenAIErrors: true }), undefined)
  const wrong: [number, unknown][] = [
    [500, { ...plain, statusCode: 500, error: 'Internal Server Error' }],
    [422, { ...plain, stack: 'at' }],
    [422, { ...plain, statusCode: 400 }],
    [422, { ...plain, error: openai }],
    [418, { ...plain, statusCode: 418, error: "I'm a Teapot" }],
    [422, 'Unprocessable'],
    [422, ''],
  ]
  for (const [status, body] of wrong) assert.ok(judged(status, body), JSON.stringify(body))
  assert.ok(judged(404, { statusCode: 404, message: 'm', error: openai }, { isOpenAIErrors: true }), 'a code of 422')
  assert.ok(complaintAbout(asked, { status: 422, headers: {}, body: JSON.stringify(plain) }), 'without x-request-id')
})

test('a stream must end, and each of its events be JSON', () => {
  const of = (body: string) => complaintAbout(asked, { status: 200, headers: stream, body })
  assert.equal(of('data: {"a":1}\n\ndata: [DONE]\n\n'), undefined)
  assert.equal(of('data: {"error":{"message":"m"}}\n\n'), undefined)
  assert.ok(of('data: {"a":1}\n\n'))
  assert.ok(of('data: {"a"\n\ndata: [DONE]\n\n'))
})

test('answers on a connection are read one by one, and what is none is told', () => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const chunks = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'
  const read = (text: string) => answersIn(Buffer.from(text), () => false)
  assert.deepEqual(
    read(`HTTP/1.1 100 Continue\r\n\r\n${answer}${chunks}`).answers.map(({ body }) => body),
    ['ok', 'ok'],
  )
  for (const text of [answer.slice(0, -1), chunks.slice(0, -4), 'HTTP/1.1 200', 'ok\r\n\r\n', `${answer}x\r\n\r\n`])
    assert.ok(read(text).problem, text)
})

test('an input can be made again by seed and number', () => {
  const project = { publisherId: 'p', id: 'i', publishableKey: 'k', secretKey: 's', headers: { 'x-secret-key': 's' } }
  const world = { callers: [project], outsiders: [project] }
  for (let n = 0; n < 50; n++) {
    assert.deepEqual(inputOf(randomOf(5, 'http', n), world, n), inputOf(randomOf(5, 'http', n), world, n))
    assert.deepEqual(tcpInputOf(randomOf(5, 'tcp', n), {}), tcpInputOf(randomOf(5, 'tcp', n), {}))
  }
  assert.notDeepEqual(inputOf(randomOf(5, 'http', 1), world, 1), inputOf(randomOf(6, 'http', 1), world, 1))
})

test('the slope of the heap is that of the samples after the warm-up, and unknown of too few', () => {
  const sample = (seconds: number, mebibytes: number): Seen => {
    return { seconds, heapBytes: mebibytes * 1024 * 1024, residentBytes: 0, descriptors: 0, lagMs: 0 }
  }
  const growing = Array.from({ length: 21 }, (_, n) => sample(n * 3, n < 7 ? 10 * n : 70 + n * 0.25))
  assert.equal(slopeOf(growing, 21).toFixed(3), '5.000')
  assert.ok(Number.isNaN(slopeOf(growing.slice(0, 9), 21)))
  assert.deepEqual(
    [slopeMaxOf(60, 3_000), slopeMaxOf(60, 4_500), slopeMaxOf(900, 64_000)].map((most) => most.toFixed(2)),
    ['4.10', '6.15', '1.00'],
  )
})
