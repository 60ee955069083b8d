import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import {
  KEY_PAIR_RANDOM_BYTES,
  isPublishableKey,
  isSameDigest,
  isSecretKey,
  keyPairFrom,
  secretDigestOf,
  toldApart,
} from './keys.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function newPair(cell = '00') {
  return keyPairFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), cell)
}

test('keys have the documented shape and carry their cell', () => {
  for (let i = 0; i < 200; i++) {
    const { publishable, secret } = newPair('e1')
    assert.match(publishable, /^ply_pk_e1[0-9A-Za-z]{28}$/)
    assert.match(secret, /^ply_sk_e1[0-9A-Za-z]{49}$/)
    assert.ok(isPublishableKey(publishable) && isSecretKey(secret))
  }
})

test('the last six characters are the CRC-32 of the rest in base 62, so that a secret scanner can check them', () => {
  const { publishable, secret } = newPair()
  for (const key of [publishable, secret]) {
    const checksum = key
      .slice(-6)
      .split('')
      .reduce((sum, character) => sum * 62 + ALPHABET.indexOf(character), 0)
    assert.equal(checksum, crc32(key.slice(0, -6)))
  }
})

test('a cell code of another shape is refused', () => {
  for (const cell of ['', '0', '000', 'E1', 'e_', 'é1', '0\n']) assert.throws(() => newPair(cell), /cell code/)
})

test('the same random bytes give the same pair, and other bytes another pair', () => {
  const random = randomBytes(KEY_PAIR_RANDOM_BYTES)
  assert.deepEqual(keyPairFrom(random, '00'), keyPairFrom(random, '00'))
  assert.notDeepEqual(newPair(), newPair())
  const { publishable, secret } = newPair()
  assert.notEqual(publishable.slice(9, 31), secret.slice(9, 31), 'the secret does not repeat the publishable key')
})

test('too few random bytes are an error, never a short key', () => {
  assert.throws(() => keyPairFrom(randomBytes(64), '00'), /random bytes/)
  assert.throws(() => keyPairFrom(new Uint8Array(KEY_PAIR_RANDOM_BYTES).fill(255), '00'), /random bytes/)
})

test('a publishable key is not a secret key, nor the other way round', () => {
  const { publishable, secret } = newPair()
  assert.equal(isPublishableKey(secret), false)
  assert.equal(isSecretKey(publishable), false)
})

test('every single mistyped character is noticed, wherever it is', () => {
  const pair = newPair()
  const printable = Array.from({ length: 95 }, (_, i) => 32 + i)
  // Their low bytes are those of printable characters.
  const typos = [...printable, ...printable.map((code) => 0x100 + code)]
  for (const [key, isKey] of [
    [pair.publishable, isPublishableKey],
    [pair.secret, isSecretKey],
  ] as const) {
    for (let at = 0; at < key.length; at++) {
      for (const code of typos) {
        const typo = String.fromCharCode(code)
        if (typo === key[at]) continue
        const wrong = key.slice(0, at) + typo + key.slice(at + 1)
        assert.equal(isKey(wrong), false, `${JSON.stringify(typo)} at ${at}`)
      }
    }
  }
})

test('a missing, doubled or swapped character is noticed', () => {
  const pair = newPair()
  for (const [key, isKey] of [
    [pair.publishable, isPublishableKey],
    [pair.secret, isSecretKey],
  ] as const) {
    for (let at = 0; at < key.length; at++) {
      const [before, character, after] = [key.slice(0, at), key.charAt(at), key.slice(at + 1)]
      assert.equal(isKey(before + after), false, `without ${at}`)
      assert.equal(isKey(before + character + character + after), false, `twice ${at}`)
      if (after === '' || after.charAt(0) === character) continue
      assert.equal(isKey(before + after.charAt(0) + character + after.slice(1)), false, `swapped ${at}`)
    }
    for (const wrong of ['', ` ${key}`, `${key} `, `${key}\n`, key.toUpperCase(), key.toLowerCase()]) {
      assert.equal(isKey(wrong), false, JSON.stringify(wrong))
    }
  }
})

test('of 100,000 random strings of the right shape not one passes', () => {
  const random = randomBytes(100_000 * 28)
  let passed = 0
  for (let i = 0; i < 100_000; i++) {
    const body = Array.from(random.subarray(i * 28, (i + 1) * 28), (byte) => ALPHABET.charAt(byte % 62)).join('')
    if (isPublishableKey(`ply_pk_00${body}`)) passed++
  }
  // One in 2^32 would; that this run meets one has a chance of 1 in 40,000.
  assert.equal(passed, 0)
})

test('each of the 62 characters is equally likely', () => {
  const counts = new Map<string, number>()
  const pairs = 2_000
  for (let i = 0; i < pairs; i++) {
    const { publishable, secret } = newPair()
    for (const character of publishable.slice(9, -6) + secret.slice(9, -6))
      counts.set(character, (counts.get(character) ?? 0) + 1)
  }
  const expected = (pairs * 65) / 62
  assert.equal(counts.size, 62)
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
  // 61 degrees of freedom: above 150 by chance once in a hundred million runs. Without rejecting bytes it is above 1,000.
  assert.ok(chiSquare < 150, `chi-square ${chiSquare}`)
})

test('every byte value maps to its character without favouring any', () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  const charactersOf = (random: Uint8Array) => {
    const { publishable, secret } = keyPairFrom(random, '00')
    return publishable.slice(9, -6) + secret.slice(9, -6)
  }
  assert.equal(charactersOf(bytes), (ALPHABET + ALPHABET).slice(0, 65))
  const backwards = Array.from(ALPHABET).toReversed().join('')
  assert.equal(charactersOf(bytes.toReversed()), (backwards + backwards).slice(0, 65), '248 to 255 are no characters')
})

test('a digest depends on the secret and on the pepper, and only equal digests are the same', () => {
  const { secret } = newPair()
  const pepper = randomBytes(32)
  const digest = secretDigestOf(secret, pepper)
  assert.equal(digest.length, 32)
  assert.ok(isSameDigest(digest, secretDigestOf(secret, Buffer.from(pepper))))
  assert.equal(isSameDigest(digest, secretDigestOf(secret, randomBytes(32))), false)
  assert.equal(isSameDigest(digest, secretDigestOf(newPair().secret, pepper)), false)
  assert.equal(isSameDigest(digest, digest.subarray(1)), false, 'another length is another digest, not an exception')
})

test('two keys with the same name are told apart by the end of their publishable keys, and others keep their names', () => {
  const keys = [
    { id: '1', name: 'website', publishableKey: 'pk_aaaaAb3d' },
    { id: '2', name: 'import', publishableKey: 'pk_bbbbXy9z' },
    { id: '3', name: 'website', publishableKey: 'pk_ccccQr7s' },
  ]
  assert.deepEqual(
    [...toldApart(keys)],
    [
      ['1', 'website (…Ab3d)'],
      ['2', 'import'],
      ['3', 'website (…Qr7s)'],
    ],
  )
})
