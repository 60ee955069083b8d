import assert from 'node:assert/strict'
import { test } from 'node:test'
import { curlForSession, firstOf, nameOf, shareSpentOf } from './browser-session.ts'

test('a session is called by whom it is for, and by the end of its secret where that is nobody', () => {
  const id = '5f0c2b1e-8a10-8c3e-9a53-1f2e3d4c5b6a'
  const secretHint = 'ply_es_00…k3Zq'
  assert.equal(nameOf({ secretHint, endUser: { id, label: 'Grace' } }), 'Grace')
  assert.equal(nameOf({ secretHint, endUser: { id, label: null } }), '5f0c2b1e…')
  assert.equal(nameOf({ secretHint, endUser: null }), secretHint)
})

test('of a list, the first is shown and the rest is counted', () => {
  assert.deepEqual([firstOf(['a']), firstOf(['a', 'b', 'c'])], ['a', 'a and 2 more'])
})

test('what running calls hold is as good as spent', () => {
  assert.equal(shareSpentOf({ moneyNanos: '1000', spentNanos: '250', heldNanos: '250' }), 0.5)
  assert.equal(shareSpentOf({ moneyNanos: '1000', spentNanos: '1000', heldNanos: '0' }), 1)
  assert.equal(shareSpentOf({ moneyNanos: '1000', spentNanos: '0', heldNanos: '0' }), 0)
})

test('the example is one command, whose body is JSON', () => {
  const [command = '', ...rest] = curlForSession('https://gateway.example').split(' \\\n  ')
  assert.equal(command, 'curl -sS https://gateway.example/v1/sessions')
  const body = /^-d '(.*)'$/.exec(rest.at(-1) ?? '')?.[1] ?? ''
  assert.deepEqual(JSON.parse(body), { end_user: 'customer-17', calls: 20, money: '250000000' })
})
