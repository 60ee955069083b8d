import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../platform/log.ts'
import { createMetrics } from '../metrics.ts'
import { INTAKE_LIMITS } from '../rules/limits.ts'
import type { Gateway } from './gateway.ts'
import { createRefusalLines } from './refusal-lines.ts'
import { createIntake } from './intake/intake.ts'
import { createWork } from './intake/work.ts'
import { createServer } from './server.ts'

function admittingAll() {
  const work = createWork({ accountPercent: 100 })
  const metrics = createMetrics()
  return { work, intake: createIntake({ callsMax: 10, limits: INTAKE_LIMITS, metrics, work }) }
}

test('what nobody expected is logged with its name, its code and where it was, never with its text', async () => {
  const lines: string[] = []
  const gateway = {
    log: createLog('error', { write: (line) => lines.push(line) }),
    metrics: createMetrics(),
    running: new Map(),
    refusalLines: createRefusalLines(),
    ...admittingAll(),
    authenticate: () => Promise.resolve({ project: {} }),
    get recommendations(): never {
      throw Object.assign(new RangeError('the prompt was hunter2'), { code: '42501' })
    },
  } as unknown as Gateway
  const app = createServer(gateway)
  const payload = { model: 'm', messages: [{ role: 'user', content: 'hunter2' }] }
  const { statusCode } = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload })
  await app.close()
  assert.equal(statusCode, 500)
  const [line = '{}'] = lines
  const { msg, error, errorCode, problem, stack } = JSON.parse(line) as Record<string, string>
  assert.deepEqual([msg, error, errorCode], ['unexpected', 'RangeError', '42501'])
  assert.match(problem ?? '', /lacks a right/)
  assert.match(stack ?? '', /server\.test\.ts/)
  assert.doesNotMatch(lines.join(''), /hunter2/)
})

test('what fails behind a link is logged with its cause, and the reader is told nothing of it', async () => {
  const lines: string[] = []
  const gateway = {
    log: createLog('error', { write: (line) => lines.push(line) }),
    metrics: createMetrics(),
    refusalLines: createRefusalLines(),
    ...admittingAll(),
    links: {
      offer: () => Promise.reject(Object.assign(new Error('permission denied: hunter2'), { code: '42501' })),
    },
  } as unknown as Gateway
  const app = createServer(gateway)
  const { statusCode, body } = await app.inject({ method: 'GET', url: '/r/token' })
  await app.close()
  assert.equal(statusCode, 500)
  assert.doesNotMatch(body + lines.join(''), /hunter2/)
  const { level, msg, errorCode, problem } = JSON.parse(lines[0] ?? '{}') as Record<string, string>
  assert.deepEqual([level, msg, errorCode], ['error', 'unexpected', '42501'])
  assert.match(problem ?? '', /lacks a right/)
})

test('what is no request is refused with a status and a JSON body, whatever it says of streaming', async () => {
  const gateway = {
    log: createLog('silent'),
    metrics: createMetrics(),
    running: new Map(),
    refusalLines: createRefusalLines(),
    ...admittingAll(),
    authenticate: () => Promise.resolve({ project: {} }),
  } as unknown as Gateway
  const app = createServer(gateway)
  const messages = [{ role: 'user', content: 'hello' }]
  const bodies: [status: number, body: unknown][] = [
    [400, null],
    [400, []],
    [400, 'text'],
    [400, {}],
    [400, { stream: true }],
    [400, { model: 7, messages, stream: true }],
    [422, { model: 'm', messages, stream: 'true' }],
    [422, { model: 'm', messages, stream: null }],
    [422, { model: 'm', messages, stream: true, stream_options: true }],
    [422, { model: 'm', messages, stream: true, stream_options: { include_usage: 1 } }],
  ]
  for (const [status, body] of bodies) {
    const headers = { 'content-type': 'application/json' }
    const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', headers, body: JSON.stringify(body) })
    assert.equal(reply.statusCode, status, JSON.stringify(body))
    assert.equal(reply.headers['content-type'], 'application/json; charset=utf-8')
    assert.match(String(reply.headers['x-completion-id']), /^chatcmpl-/)
    assert.equal(reply.json<{ statusCode: number }>().statusCode, status)
  }
  await app.close()
})
