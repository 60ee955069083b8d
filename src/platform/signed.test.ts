import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createSecrets } from './secrets.ts'
import { isSigned, sign, valueIn } from './signed.ts'

const old = { version: 1, bytes: randomBytes(32) }
const secrets = createSecrets([old])
const value = { id: 'a', untilMs: 5 }
const text = sign(secrets, 'links', value, ['reset', 'hash'])

test('what was signed is read as it was, and proven', () => {
  assert.deepEqual(valueIn(text), value)
  assert.ok(isSigned(secrets, 'links', text, ['reset', 'hash']))
})

test('a value, a purpose or a binding that is another one proves nothing', () => {
  const [version, , signature] = text.split('.')
  const forged = `${version}.${Buffer.from('{"id":"b","untilMs":5}').toString('base64url')}.${signature}`
  assert.deepEqual(valueIn(forged), { id: 'b', untilMs: 5 })
  assert.ok(!isSigned(secrets, 'links', forged, ['reset', 'hash']))
  assert.ok(!isSigned(secrets, 'devices', text, ['reset', 'hash']))
  for (const boundTo of [[], ['reset'], ['reset', 'other'], ['resethash'], ['reset', 'hash', '']])
    assert.ok(!isSigned(secrets, 'links', text, boundTo), JSON.stringify(boundTo))
  for (const cut of ['', '.', '..', '1', text.slice(0, -1), `9${text}`, `${version}..${signature}`])
    assert.ok(!isSigned(secrets, 'links', cut, ['reset', 'hash']), cut)
})

test('what an older secret signed stays proven as long as that secret is listed', () => {
  const renewed = { version: 2, bytes: randomBytes(32) }
  assert.ok(isSigned(createSecrets([renewed, old]), 'links', text, ['reset', 'hash']))
  assert.ok(!isSigned(createSecrets([renewed]), 'links', text, ['reset', 'hash']))
})
