import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog, errorFields, framesOf } from './log.ts'

function logged(level: string, write: (log: ReturnType<typeof createLog>) => void): string[] {
  const lines: string[] = []
  write(createLog(level, { write: (line) => lines.push(line) }))
  return lines
}

const SECRETS = [
  `ply_sk_00${'aB3'.repeat(16)}x`,
  `ply_pk_00${'aB3'.repeat(9)}x`,
  'sk-proj-abcDEF_123-456',
  'sk-ant-api03-abcdefgh',
  `AIza${'Sy0_-'.repeat(7)}`,
  `sk_live_${'aB3'.repeat(16)}`,
  `rk_test_${'aB3'.repeat(16)}`,
  `whsec_${'aB3'.repeat(10)}`,
  'Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc-_~+/',
]

test('a key never reaches the log, wherever in a line it stands', () => {
  for (const secret of SECRETS) {
    for (const line of logged('info', (log) => {
      log.info({ a: secret, b: { c: [`(${secret})`] } }, `refused ${secret}, and again ${secret}`)
      log.child({ key: secret }).warn(new Error(`with ${secret}`))
    })) {
      assert.ok(!line.includes(secret.slice(-12)), line)
      assert.ok(line.includes('[secret]'))
      assert.doesNotThrow(() => JSON.parse(line))
    }
  }
})

test('ordinary words that resemble keys stay readable', () => {
  const text = 'risk-assessment, task-force-eleven, sk-1, ask-me-anything, bearer of news, ply_pk_, AIza'
  const [line] = logged('info', (log) => log.info(text))
  assert.equal(JSON.parse(line ?? '').msg, text)
})

test('a line is one JSON object with time, level and the listed fields, and nothing of the machine', () => {
  const lines = logged('info', (log) => log.warn({ requestId: 'r1', status: 502 }, 'failed'))
  assert.equal(lines.length, 1)
  assert.ok(lines[0]?.endsWith('\n'))
  const { time, ...rest } = JSON.parse(lines[0] ?? '')
  assert.deepEqual(rest, { level: 'warn', requestId: 'r1', status: 502, msg: 'failed' })
  assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000)
})

test('lines below the level are not written', () => {
  for (const [level, expected] of [
    ['debug', ['a', 'b', 'c']],
    ['info', ['b', 'c']],
    ['error', ['c']],
    ['silent', []],
  ] as const) {
    const lines = logged(level, (log) => {
      log.debug('a')
      log.info('b')
      log.error('c')
    })
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).msg),
      expected,
    )
  }
})

test('of a foreign error only its name and code are said, for its text may quote a prompt', () => {
  const error = Object.assign(new TypeError('the prompt was hunter2'), { code: 'ECONNRESET', detail: 'hunter2' })
  assert.deepEqual(errorFields(error), { error: 'TypeError', errorCode: 'ECONNRESET' })
  assert.deepEqual(errorFields(new Error('hunter2')), { error: 'Error' })
  assert.deepEqual(errorFields(Object.assign(new Error('hunter2'), { code: 5 })), { error: 'Error' })
  assert.deepEqual(errorFields('hunter2'), { error: 'string' })
})

test('an error without a code says that of its cause, never its text', () => {
  const full = Object.assign(new Error('hunter2'), { code: '53100' })
  const gaveUp = new Error('gave up', { cause: full })
  assert.deepEqual(errorFields(gaveUp), { error: 'Error', errorCode: '53100', problem: "the database's disk is full" })
  const own = Object.assign(new Error('gave up', { cause: full }), { code: 'EPIPE' })
  assert.deepEqual(errorFields(own), { error: 'Error', errorCode: 'EPIPE' })
  for (const cause of ['hunter2', undefined, new Error('hunter2')])
    assert.deepEqual(errorFields(new Error('gave up', { cause })), { error: 'Error' })
})

test('refusals of the store that no repetition mends are said in a sentence, never in the words of the error', () => {
  const problemOf = (code: string | undefined, message = 'hunter2', urlFrom?: string) =>
    errorFields(Object.assign(new Error(message), { code, urlFrom })).problem
  assert.equal(
    problemOf('28P01', 'x', 'PARLEY_GATEWAY_DATABASE_URL'),
    'the database refuses the login in PARLEY_GATEWAY_DATABASE_URL',
  )
  assert.equal(problemOf('28000'), 'the database refuses the login')
  assert.equal(problemOf(undefined, 'SASL: hunter2'), 'the database refuses the login')
  assert.equal(problemOf('42501'), 'the login lacks a right: run the migrations, or parley doctor')
  assert.equal(problemOf('53100'), "the database's disk is full")
  assert.equal(problemOf('ENOSPC'), "this host's disk is full")
  assert.equal(
    problemOf(undefined, 'timeout exceeded when trying to connect'),
    'no connection to the database came free in time',
  )
  assert.equal(problemOf(undefined, 'Query read timeout'), 'the database did not answer in time')
  assert.equal(problemOf(undefined, 'Connection terminated unexpectedly'), 'the connection to the database was lost')
  assert.equal(problemOf(undefined, 'hunter2: Query read timeout'), undefined)
  assert.equal(problemOf('53300'), undefined)
  assert.equal(problemOf('2800'), undefined)
})

test('where an error arose is told by its frames, also when its text has lines that look like some', () => {
  const error = new Error('the prompt was: my secret\n    at home, said the user')
  const frames = framesOf(error)
  assert.match(frames[0] ?? '', /^at .*log\.test\.ts/)
  assert.doesNotMatch(frames.join('\n'), /secret|home/)
  assert.deepEqual(framesOf('a text that was thrown'), [])
})
