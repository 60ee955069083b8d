import assert from 'node:assert/strict'
import { test } from 'node:test'
import { weaknessOf } from './passwords.ts'

test('what everybody tries first is refused, also with digits and signs around it', () => {
  for (const password of [
    'passwordpassword',
    'P@ssw0rd1234!',
    'Password 2026!!',
    'qwertyuiop12',
    '123456789012',
    'aaaaaaaaaaaab',
    'correct horse battery staple',
    'abcdefghijklm',
  ])
    assert.notEqual(weaknessOf(password, 'a@b.example'), undefined, password)
})

test('the own address is no password', () => {
  assert.notEqual(weaknessOf('editor@example.com', 'editor@example.com'), undefined)
  assert.notEqual(weaknessOf('Lovelace-1815-12', 'lovelace@example.com'), undefined)
})

test('any other phrase is taken', () => {
  for (const password of ['a long and quiet river', 'tGf9#kk2-Lq81', 'ünïcödé påsswörd ja'])
    assert.equal(weaknessOf(password, 'a@b.example'), undefined, password)
})
