import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createSecrets } from './secrets.ts'

const OLD = { version: 1, bytes: randomBytes(32) }
const NEW = { version: 2, bytes: randomBytes(32) }
const secrets = createSecrets([OLD])

test('what was sealed is unsealed in the same context, whatever the text', () => {
  for (const text of ['', 'sk-live-abc', '👩‍👩‍👧‍👦\0\n"', 'x'.repeat(100_000)]) {
    assert.equal(secrets.unseal(secrets.seal(text, 'provider/1'), 'provider/1'), text)
  }
})

test('a sealed text shows nothing of what is in it, and sealing twice gives two texts', () => {
  const sealed = secrets.seal('sk-live-abc', 'provider/1')
  assert.match(sealed, /^v1\.1\.[\w-]{16}\.[\w-]{22}\.[\w-]+$/)
  assert.ok(!sealed.includes(Buffer.from('sk-live').toString('base64url').slice(0, 8)))
  assert.notEqual(sealed, secrets.seal('sk-live-abc', 'provider/1'))
})

test('a sealed text that was moved to another context does not open', () => {
  const sealed = secrets.seal('sk-live-abc', 'provider/1')
  for (const context of ['provider/2', 'provider/', 'provider/11', '']) {
    assert.throws(() => secrets.unseal(sealed, context), context)
  }
})

test('a sealed text with any one bit changed does not open', () => {
  const sealed = secrets.seal('sk-live-abc', 'provider/1')
  const parts = sealed.split('.')
  for (const part of [2, 3, 4]) {
    const bytes = Buffer.from(parts[part] ?? '', 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const altered = Buffer.from(bytes)
      altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const text = parts.with(part, altered.toString('base64url')).join('.')
      assert.throws(() => secrets.unseal(text, 'provider/1'), `bit ${bit} of part ${part}`)
    }
  }
})

test('a sealed text of which something was cut off does not open', () => {
  const [format, version, iv, tag, ciphertext] = secrets.seal('sk-live-abc', 'provider/1').split('.')
  const tagBytes = Buffer.from(tag ?? '', 'base64url')
  for (let length = 0; length < 16; length++) {
    const shortTag = tagBytes.subarray(0, length).toString('base64url')
    const text = [format, version, iv, shortTag, ciphertext].join('.')
    assert.throws(() => secrets.unseal(text, 'provider/1'), `a tag of ${length} bytes`)
  }
  for (const text of [
    [format, version, iv, tag, ciphertext?.slice(0, -4)].join('.'),
    [format, version, iv, tag, ''].join('.'),
    [format, version, iv, tag].join('.'),
    [format, version, '', tag, ciphertext].join('.'),
  ])
    assert.throws(() => secrets.unseal(text, 'provider/1'), text)
})

test('what is not a sealed text is refused in words', () => {
  for (const text of ['', 'sk-live-abc', 'v2.1.a.b.c', 'v1.1.a', 'v1....']) {
    assert.throws(() => secrets.unseal(text, 'provider/1'), /not a sealed text/, text)
  }
})

test('a secret that is no longer listed is named, so that the operator knows which one to bring back', () => {
  const sealed = secrets.seal('sk-live-abc', 'provider/1')
  assert.throws(() => createSecrets([NEW]).unseal(sealed, 'provider/1'), /Secret version 1/)
  assert.throws(() => createSecrets([NEW]).keyFor('key-pair-pepper', 1), /Secret version 1/)
})

test('another secret under the same number does not open what the first one sealed', () => {
  const sealed = secrets.seal('sk-live-abc', 'provider/1')
  assert.throws(() => createSecrets([{ version: 1, bytes: randomBytes(32) }]).unseal(sealed, 'provider/1'))
})

test('after a rotation new texts are sealed under the new secret and old ones still open', () => {
  const sealedBefore = secrets.seal('sk-live-abc', 'provider/1')
  const rotated = createSecrets([NEW, OLD])
  const sealedAfter = rotated.seal('sk-live-def', 'provider/1')
  assert.equal(rotated.version, 2)
  assert.equal(rotated.unseal(sealedBefore, 'provider/1'), 'sk-live-abc')
  assert.equal(rotated.unseal(sealedAfter, 'provider/1'), 'sk-live-def')
  assert.match(sealedAfter, /^v1\.2\./)
  assert.throws(() => secrets.unseal(sealedAfter, 'provider/1'), /Secret version 2/)
  assert.deepEqual(rotated.keyFor('key-pair-pepper', 1), secrets.keyFor('key-pair-pepper', 1))
})

test('a text that claims another version does not open under that version', () => {
  const rotated = createSecrets([NEW, OLD])
  const sealed = rotated.seal('sk-live-abc', 'provider/1')
  assert.throws(() => rotated.unseal(sealed.replace(/^v1\.2\./, 'v1.1.'), 'provider/1'))
})

test('each purpose and each version has a key of its own, the same every time', () => {
  const rotated = createSecrets([NEW, OLD])
  const keys = (['key-pair-pepper', 'provider-keys', 'message-digests'] as const).flatMap((purpose) =>
    [1, 2].map((version) => rotated.keyFor(purpose, version).toString('hex')),
  )
  assert.equal(new Set(keys).size, 6)
  for (const key of keys) assert.match(key, /^[0-9a-f]{64}$/)
  const again = createSecrets([NEW, OLD]).keyFor('message-digests').toString('hex')
  assert.equal(again, keys[5])
  for (const root of [OLD, NEW]) assert.ok(!keys.includes(root.bytes.toString('hex')), 'no key is a root secret itself')
})

test('without a root secret nothing works, from the start', () => {
  assert.throws(() => createSecrets([]), /root secret/)
})
