import { timingSafeEqual } from 'node:crypto'
import { keyedDigest } from '../keyed-digest.ts'

/**
 * Keys look like `ply_pk_` + cell (2) + 22 base62 + checksum (6) and `ply_sk_` + cell (2) + 43 base62 + checksum (6);
 * the secret of a browser session is as that of a pair, with `ply_es_`.
 * The brand prefix and the checksum let secret scanners recognise a leaked key, and let us refuse a mistyped one without
 * asking the store. The cell code routes a request to its installation.
 */
export interface KeyPair {
  publishable: string
  secret: string
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const PUBLISHABLE = { prefix: 'ply_pk_', bodyLength: 22 }
const SECRET = { prefix: 'ply_sk_', bodyLength: 43 }
const SESSION_SECRET = { prefix: 'ply_es_', bodyLength: 43 }
const CHECKSUM_LENGTH = 6
const CELL = /^[0-9a-z]{2}$/
/** The checksum sees only the low byte of a character: without this an `İ` would pass for a `0`. */
const KEY_CHARACTERS = /^[0-9A-Za-z_]+$/

/** Enough that rejection sampling finds its 65 characters: the chance to need more is below 2^-100. */
export const KEY_PAIR_RANDOM_BYTES = 160

export function keyPairFrom(random: Uint8Array, cell: string): KeyPair {
  if (!CELL.test(cell)) throw new Error('A cell code is two characters of 0-9 a-z.')
  const characters = base62From(random)
  const pair = { publishable: keyFrom(characters, cell, PUBLISHABLE), secret: keyFrom(characters, cell, SECRET) }
  if (characters.length === 0) throw new Error('Not enough random bytes for a key pair.')
  return pair
}

/** Takes its cell from the publishable key that it is used beside. */
export function sessionSecretFrom(random: Uint8Array, publishable: string): string {
  const characters = base62From(random)
  const cell = publishable.slice(PUBLISHABLE.prefix.length, PUBLISHABLE.prefix.length + 2)
  const secret = keyFrom(characters, cell, SESSION_SECRET)
  if (characters.length === 0) throw new Error('Not enough random bytes for a secret.')
  return secret
}

/** Takes its characters from the front of `characters`. */
function keyFrom(characters: string[], cell: string, kind: typeof PUBLISHABLE): string {
  const body = kind.prefix + cell + characters.splice(0, kind.bodyLength).join('')
  return body + checksumOf(body)
}

/** Bytes of 248 and more are dropped: taking them modulo 62 would make some characters likelier than others. */
function base62From(random: Uint8Array): string[] {
  return Array.from(random)
    .filter((byte) => byte < 248)
    .map((byte) => ALPHABET.charAt(byte % 62))
}

export function isPublishableKey(text: string): boolean {
  return isKey(text, PUBLISHABLE)
}

export function isSecretKey(text: string): boolean {
  return isKey(text, SECRET)
}

/** By its beginning alone: whoever mistypes one is answered as one that has one. */
export function looksLikeSessionSecret(text: string | undefined): boolean {
  return text?.startsWith(SESSION_SECRET.prefix) ?? false
}

export function isSessionSecret(text: string): boolean {
  return isKey(text, SESSION_SECRET)
}

function isKey(text: string, kind: typeof PUBLISHABLE): boolean {
  const bodyLength = kind.prefix.length + 2 + kind.bodyLength
  if (text.length !== bodyLength + CHECKSUM_LENGTH || !text.startsWith(kind.prefix)) return false
  if (!KEY_CHARACTERS.test(text)) return false
  const body = text.slice(0, bodyLength)
  return checksumOf(body) === text.slice(bodyLength)
}

function checksumOf(text: string): string {
  let rest = crc32(text)
  let checksum = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    checksum = ALPHABET.charAt(rest % 62) + checksum
    rest = Math.floor(rest / 62)
  }
  return checksum
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

function crc32(text: string): number {
  let crc = 0xffffffff
  for (let i = 0; i < text.length; i++) crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ text.charCodeAt(i)) & 0xff] ?? 0)
  return (crc ^ 0xffffffff) >>> 0
}

/** Fast on purpose: the secret has 256 random bits, so a slow hash would protect nothing and cost a core at 37 calls/s. */
export function secretDigestOf(secret: string, pepper: Uint8Array): Buffer {
  return keyedDigest(pepper).update(secret).digest()
}

export function isSameDigest(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

export interface NamedKey {
  id: string
  name: string
  publishableKey: string
}

const HINT_CHARACTERS = 4

/** Returns each key's name in a list of several, with the end of its publishable key where others share that name. */
export function toldApart(keys: readonly NamedKey[]): Map<string, string> {
  const named = Map.groupBy(keys, ({ name }) => name)
  return new Map(
    keys.map(({ id, name, publishableKey }) => {
      const isShared = (named.get(name)?.length ?? 0) > 1
      return [id, isShared ? `${name} (…${publishableKey.slice(-HINT_CHARACTERS)})` : name]
    }),
  )
}
