import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { firstDigestKeys, sealDigestKeys, unsealDigestKeys } from './digest-keys.ts'
import { createSecrets, MissingSecret } from './secrets.ts'

const OLD = { version: 1, bytes: randomBytes(32) }
const NEW = { version: 2, bytes: randomBytes(32) }
const both = createSecrets([OLD, NEW])

test('the keys of digests open with each secret that they were sealed under, and with no other', () => {
  const keys = firstDigestKeys(createSecrets([OLD]))
  assert.deepEqual(unsealDigestKeys(createSecrets([NEW]), sealDigestKeys(both, keys, 2)), keys)
  assert.deepEqual(unsealDigestKeys(createSecrets([OLD]), sealDigestKeys(both, keys, 1)), keys)
  assert.throws(() => unsealDigestKeys(createSecrets([OLD]), sealDigestKeys(both, keys, 2)), MissingSecret)
})

test('the first keys are those that the version before derives from the first secret', () => {
  const keys = firstDigestKeys(both)
  assert.deepEqual(keys['message-digests'], both.keyFor('message-digests', 1))
  assert.deepEqual(keys.recommendations, both.keyFor('recommendations', 1))
})

test('a purpose that is newer than the stored keys has a key of its own, and the same for every secret', () => {
  const text = JSON.stringify({ 'message-digests': Buffer.alloc(32, 3).toString('base64') })
  const [one, other] = [1, 2].map((version) =>
    unsealDigestKeys(both, both.seal(text, 'installation', 'digest-keys', version)),
  )
  assert.deepEqual(one, other)
  assert.equal(one?.recommendations.length, 32)
  assert.notDeepEqual(one?.recommendations, one?.['message-digests'])
})
