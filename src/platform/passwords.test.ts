import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPasswords } from './passwords.ts'

test('a password is kept as argon2id with what OWASP asks for at least, and no two hashes are alike', async () => {
  const passwords = createPasswords()
  const [hash, again] = [await passwords.hash('a quiet river'), await passwords.hash('a quiet river')]
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  assert.notEqual(hash, again)
})

test('only the password opens its hash, however it was typed and whatever it cost then', async () => {
  const passwords = createPasswords()
  const hash = await createPasswords({ memoryKib: 8, passes: 1 }).hash('caf\u00e9 at noon')
  assert.equal(await passwords.verify('caf\u00e9 at noon', hash), true)
  assert.equal(await passwords.verify('cafe\u0301 at noon', hash), true)
  assert.equal(await passwords.verify('cafe at noon', hash), false)
  assert.equal(await passwords.verify('caf\u00e9 at noon', 'no hash'), false)
})
