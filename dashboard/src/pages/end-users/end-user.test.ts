import assert from 'node:assert/strict'
import { test } from 'node:test'
import { curlForEndUser, nameOf } from './end-user.ts'

test('an end user without a label is called by the beginning of the digest', () => {
  const id = '5f0c2b1e-8a10-8c3e-9a53-1f2e3d4c5b6a'
  assert.deepEqual([nameOf({ id, label: null }), nameOf({ id, label: 'Grace' })], ['5f0c2b1e…', 'Grace'])
})

test('the example says whom the call is for, and is whole otherwise', () => {
  const curl = ['curl -sS https://g.example/v1/chat/completions', `-H 'a: b'`, `-d '{}'`].join(' \\\n  ')
  assert.equal(
    curlForEndUser(curl),
    [
      'curl -sS https://g.example/v1/chat/completions',
      `-H 'x-end-user-id: customer-17'`,
      `-H 'x-end-user-label: Grace'`,
      `-H 'a: b'`,
      `-d '{}'`,
    ].join(' \\\n  '),
  )
})
