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
  assert.match(sealed, /^v2\.1\.[\w-]{16}\.[\w-]{22}\.[\w-]{43}\.[\w-]{16}\.[\w-]{22}\.[\w-]+$/)
  assert.ok(!sealed.includes(Buffer.from('sk-live').toString('base64url').slice(0, 8)))
  assert.notEqual(sealed, secrets.seal('sk-live-abc', 'provider/1'))
})

test('a sealed text that was moved to another context does not open', () => {
  const sealed = secrets.seal('sk-live-abc', 'provider/1')
  for (const context of ['provider/2', 'provider/', 'provider/11', '']) {
    assert.throws(() => secrets.unseal(sealed, context), context)
  }
})

/** The parts of `v2.VERSION.…`: of the wrapped key, then of the data. */
const PARTS = [2, 3, 4, 5, 6, 7]

test('a sealed text with any one bit changed does not open', () => {
  const parts = secrets.seal('sk-live-abc', 'provider/1').split('.')
  for (const part of PARTS) {
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
  const parts = secrets.seal('sk-live-abc', 'provider/1').split('.')
  for (const part of PARTS) {
    const bytes = Buffer.from(parts[part] ?? '', 'base64url')
    for (let length = 0; length < bytes.length; length++) {
      const text = parts.with(part, bytes.subarray(0, length).toString('base64url')).join('.')
      assert.throws(() => secrets.unseal(text, 'provider/1'), `part ${part} with ${length} bytes`)
    }
  }
  for (let kept = 0; kept < parts.length; kept++) {
    assert.throws(() => secrets.unseal(parts.slice(0, kept).join('.'), 'provider/1'), `${kept} parts`)
  }
})

test('parts of two sealed texts do not open together, not even of the same context', () => {
  const one = secrets.seal('sk-live-abc', 'provider/1').split('.')
  const other = secrets.seal('sk-live-abc', 'provider/1').split('.')
  for (const taken of [[2, 3, 4], [5, 6, 7], ...PARTS.map((part) => [part])]) {
    const mixed = one.map((part, n) => (taken.includes(n) ? other[n] : part)).join('.')
    assert.throws(() => secrets.unseal(mixed, 'provider/1'), `parts ${taken.join()} of another`)
  }
})

test('a text that was sealed for one purpose does not open for another', () => {
  const sealed = secrets.seal('answer', 'result/1', 'stored-results')
  assert.equal(secrets.unseal(sealed, 'result/1', 'stored-results'), 'answer')
  assert.throws(() => secrets.unseal(sealed, 'result/1'))
  assert.throws(() => secrets.unseal(sealed, 'result/1', 'message-digests'))
})

test('no initialisation vector is used twice in 20,000 seals', () => {
  const seen = new Set<string>()
  for (let n = 0; n < 20_000; n++) {
    const parts = secrets.seal('x', 'c').split('.')
    seen.add(parts[2] ?? '').add(parts[5] ?? '')
  }
  assert.equal(seen.size, 40_000)
})

/** As it was before envelopes: made by the code of that time, under a secret of 32 bytes of 7 … */
const FORMER = {
  secrets: createSecrets([NEW, { version: 1, bytes: Buffer.alloc(32, 7) }]),
  sealed: 'v1.1.gi7NWohnmGFZHNcs.DeJRwtExVbntZvsF3AKgSg.pmfXcFi5yLl-',
}

test('a text of the former format still opens, is bound to its context, and becomes an envelope when it is rewrapped', () => {
  assert.equal(FORMER.secrets.unseal(FORMER.sealed, 'provider/1'), 'sk-former')
  assert.equal(FORMER.secrets.versionOf(FORMER.sealed), 1)
  assert.throws(() => FORMER.secrets.unseal(FORMER.sealed, 'provider/2'))
  const rewrapped = FORMER.secrets.rewrap(FORMER.sealed, 'provider/1')
  assert.match(rewrapped, /^v2\.2\./)
  assert.equal(createSecrets([NEW]).unseal(rewrapped, 'provider/1'), 'sk-former')
})

test('rewrapping changes the wrapping alone, after which the old secret can be dropped', () => {
  const before = secrets.seal('sk-live-abc', 'provider/1')
  const rotated = createSecrets([NEW, OLD])
  const after = rotated.rewrap(before, 'provider/1')
  assert.deepEqual([rotated.versionOf(before), rotated.versionOf(after)], [1, 2])
  assert.deepEqual(after.split('.').slice(5), before.split('.').slice(5), 'the data is untouched')
  assert.equal(createSecrets([NEW]).unseal(after, 'provider/1'), 'sk-live-abc')
  assert.throws(() => createSecrets([NEW]).unseal(before, 'provider/1'), /Secret version 1/)
  assert.equal(rotated.rewrap(after, 'provider/1'), after, 'a second time changes nothing')
})

test('a text cannot be rewrapped into another context or purpose', () => {
  const rotated = createSecrets([NEW, OLD])
  const sealed = secrets.seal('sk-live-abc', 'provider/1')
  assert.throws(() => rotated.rewrap(sealed, 'provider/2'))
  assert.throws(() => rotated.rewrap(sealed, 'provider/1', 'stored-results'))
})

test('what is not a sealed text is refused in words', () => {
  for (const text of [
    '',
    'sk-live-abc',
    'v2.1.a.b.c',
    'v3.1.a.b.c.d.e.f',
    'v1.1.a',
    'v1....',
    'v2.......',
    'v2.x.a.b.c.d.e.f',
  ]) {
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
  assert.match(sealedAfter, /^v2\.2\./)
  assert.throws(() => secrets.unseal(sealedAfter, 'provider/1'), /Secret version 2/)
  assert.deepEqual(rotated.keyFor('key-pair-pepper', 1), secrets.keyFor('key-pair-pepper', 1))
})

test('a text that claims another version does not open under that version', () => {
  const rotated = createSecrets([NEW, OLD])
  const sealed = rotated.seal('sk-live-abc', 'provider/1')
  assert.throws(() => rotated.unseal(sealed.replace(/^v2\.2\./, 'v2.1.'), 'provider/1'))
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

test('a check value is another for each secret and number, and none of the keys in use', () => {
  const rotated = createSecrets([NEW, OLD])
  const other = createSecrets([{ version: 1, bytes: randomBytes(32) }])
  const values = [rotated.checkValueOf(1), rotated.checkValueOf(2), other.checkValueOf(1)]
  assert.equal(new Set(values.map((value) => value.toString('hex'))).size, 3)
  assert.deepEqual(secrets.checkValueOf(1), rotated.checkValueOf(1), 'wherever it stands in the list')
  assert.notDeepEqual(secrets.checkValueOf(1), secrets.keyFor('check-value'))
})
