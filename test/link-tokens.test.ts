import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { uuidv7 } from '../src/platform/uuid.ts'
import { idOf, idOfLine, TOKEN_CHARS, tokenOf, type SigningKey } from '../src/rules/recommendations/link-token.ts'
import { createRandom, type Random } from './support/random.ts'

/** A link counts clicks that cost money, so nobody may make one, nor change one into another. */

const TRIES = 1_000_000
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const keys = [1, 2].map((version): SigningKey => ({ version, key: createSecretKey(randomBytes(32)) })) as [
  SigningKey,
  SigningKey,
]
const keyOf = (version: number) => keys.find((each) => each.version === version)?.key
const stranger: SigningKey = { version: 1, key: createSecretKey(randomBytes(32)) }
const LINE = { projectId: uuidv7(), words: 'Northwind Audio: Hush 45' }
const REAL = Array.from({ length: 500 }, (_, n) => tokenOf(uuidv7(), LINE, keys[n % 2]!))
const KNOWN = new Set(REAL)
const FORGED = Array.from({ length: 500 }, () => tokenOf(uuidv7(), LINE, stranger))

function bytesWith(token: string, change: (bytes: Buffer) => void): string {
  const bytes = Buffer.from(token, 'base64url')
  change(bytes)
  return bytes.toString('base64url')
}

/** Everything that somebody may try who has seen real links. */
const TAMPERINGS: ((token: string, other: string, random: Random) => string)[] = [
  (token, _, random) => bytesWith(token, (bytes) => void (bytes[random.int(bytes.length)]! ^= 1 << random.int(8))),
  (token, _, random) => bytesWith(token, (bytes) => void (bytes[random.int(bytes.length)]! ^= 1 + random.int(255))),
  (token, _, random) => {
    const at = random.int(token.length)
    return token.slice(0, at) + ALPHABET[random.int(ALPHABET.length)]! + token.slice(at + 1)
  },
  // The front of one and the end of another, wherever it is cut.
  (token, other, random) => {
    const at = 1 + random.int(token.length - 1)
    return token.slice(0, at) + other.slice(at)
  },
  (token, _, random) => bytesWith(token, (bytes) => void bytes.writeUInt16BE(random.int(65_536))),
  (token, _, random) => token.slice(0, random.int(token.length)),
  (token, other, random) => token + other.slice(0, 1 + random.int(8)),
  (token, _, random) => {
    const at = random.int(token.length)
    return token.slice(0, at) + token.slice(at).toUpperCase()
  },
  // Nobody's signature: of another installation, of nothing but zeros, by chance.
  (_, __, random) => random.pick(FORGED),
  (token) => bytesWith(token, (bytes) => void bytes.fill(0, bytes.length - 12)),
  (_, __, random) => Array.from({ length: TOKEN_CHARS }, () => ALPHABET[random.int(ALPHABET.length)]).join(''),
  // Other spellings of the same bytes.
  (token, _, random) => `${token}${'='.repeat(1 + random.int(3))}`,
  (token) => ` ${token}`,
  (token) => `${token}\n`,
  (token) => token.replaceAll('-', '+').replaceAll('_', '/').concat('~'),
]

test('of a million tokens that somebody made up or changed, none is taken for ours', () => {
  const random = createRandom(20_261_118)
  let tried = 0
  const accepted: string[] = []
  while (tried < TRIES) {
    const tamper = TAMPERINGS[tried % TAMPERINGS.length]!
    const token = tamper(random.pick(REAL), random.pick(REAL), random)
    // A change may undo itself, or a cut put the same pieces together again.
    if (KNOWN.has(token)) continue
    tried += 1
    if (idOf(token, keyOf) !== undefined) accepted.push(token)
  }
  assert.deepEqual(accepted, [])
})

test('of the tokens that are ours, all are taken, and only in the line and the project that they were made for', () => {
  for (const token of REAL) {
    assert.equal(idOf(token, keyOf), idOfLine(token, LINE, keyOf))
    assert.ok(idOf(token, keyOf))
    assert.equal(idOfLine(token, { ...LINE, words: `${LINE.words}.` }, keyOf), undefined)
    assert.equal(idOfLine(token, { ...LINE, projectId: uuidv7() }, keyOf), undefined)
    assert.equal(
      idOf(token, () => undefined),
      undefined,
      'without the key of its version',
    )
  }
})
