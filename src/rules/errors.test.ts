import assert from 'node:assert/strict'
import { STATUS_CODES } from 'node:http'
import { test } from 'node:test'
import { ERRORS, ParleyError, asParleyError, type ErrorCode } from './errors.ts'

const CODES = Object.keys(ERRORS) as ErrorCode[]

test('every error has a real HTTP status and a public sentence', () => {
  for (const code of CODES) {
    const { status, message } = ERRORS[code]
    assert.ok(status >= 400 && status < 600 && STATUS_CODES[status] !== undefined, code)
    assert.match(message, /^[A-Za-z].{10,}\.?$/, code)
  }
})

test('a refusal that clients may retry says so in its sentence', () => {
  for (const code of CODES) {
    if (ERRORS[code].status >= 500) assert.match(ERRORS[code].message, /[Rr]etry/, code)
  }
})

test('an error carries the status and the sentence of the catalogue', () => {
  for (const code of CODES) {
    const error = new ParleyError(code)
    assert.ok(error instanceof Error)
    assert.deepEqual(
      [error.name, error.code, error.status, error.message],
      ['ParleyError', code, ERRORS[code].status, ERRORS[code].message],
    )
  }
})

test('a more precise sentence replaces that of the catalogue, and nothing else', () => {
  const error = new ParleyError('invalid_value', { message: 'top_p must be at most 1.', param: 'top_p' })
  assert.equal(error.message, 'top_p must be at most 1.')
  assert.equal(error.status, 422)
  assert.equal(error.options.param, 'top_p')
})

test('our own errors pass through unchanged', () => {
  const error = new ParleyError('credit_held', { retryAfterSeconds: 2 })
  assert.equal(asParleyError(error), error)
})

test('whatever was not foreseen becomes a 500 that repeats nothing of it', () => {
  for (const [thrown, name] of [
    [new TypeError('my password is hunter2'), 'TypeError'],
    ['hunter2', 'string'],
    [{ message: 'hunter2' }, 'object'],
    [undefined, 'undefined'],
  ] as const) {
    const error = asParleyError(thrown)
    assert.equal(error.code, 'internal')
    assert.deepEqual(error.options.details, { name })
    assert.ok(!`${error.message}${error.stack}${JSON.stringify(error)}`.includes('hunter2'))
    assert.equal(error.cause, undefined)
  }
})
