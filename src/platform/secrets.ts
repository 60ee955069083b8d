import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

/**
 * The installation's root secrets, newest first. From each one, keys for separate purposes are derived, so that a leak
 * or a misuse of one purpose reveals nothing of another. Old ones stay listed until nothing uses them any more.
 */
export interface Secrets {
  /** The number of the newest secret: new digests and sealed texts are made under it. */
  readonly version: number
  /** The numbers of all that are configured, newest first. */
  readonly versions: readonly number[]
  /** A 32-byte key of the newest secret, or of the stated version. Throws MissingSecret when that one is not configured. */
  keyFor(purpose: Purpose, version?: number): Buffer
  /** Under the newest secret, or under the stated one. */
  seal(plaintext: string, context: string, purpose?: Purpose, version?: number): string
  /** Throws when the text was sealed for another context or was altered, and MissingSecret when its secret is not configured. */
  unseal(sealed: string, context: string, purpose?: Purpose): string
  /** The same text under the newest secret, with the ciphertext of what is in it untouched. What is there already stays. */
  rewrap(sealed: string, context: string, purpose?: Purpose): string
  /** The number of the secret that a sealed text needs. */
  versionOf(sealed: string): number
  /** Tells two secrets of the same number apart, and nothing else of them. */
  checkValueOf(version: number): Buffer
}

/** Thrown where something was made under a secret that this process was not given. */
export class MissingSecret extends Error {
  readonly version: number
  constructor(version: number) {
    super(`Secret version ${version} is in use, but PARLEY_SECRET does not list it.`)
    this.name = 'MissingSecret'
    this.version = version
  }
}

export type Purpose =
  | 'key-pair-pepper'
  | 'provider-keys'
  | 'message-digests'
  | 'stored-results'
  | 'console'
  | 'links'
  | 'devices'
  | 'mails'
  | 'playground'
  | 'matcher'
  | 'recommendations'
  | 'end-users'
  | 'prompt-caches'
  | 'webhooks'
  | 'digest-keys'
  | 'check-value'

export interface RootSecret {
  version: number
  bytes: Buffer
}

export function createSecrets(roots: readonly RootSecret[]): Secrets {
  const newest = roots[0]
  if (!newest) throw new Error('At least one root secret is needed.')
  const newestVersion = newest.version
  const derived = new Map<string, Buffer>()

  function keyFor(purpose: Purpose, version: number = newestVersion): Buffer {
    const name = `${purpose}/${version}`
    const known = derived.get(name)
    if (known) return known
    const root = roots.find((candidate) => candidate.version === version)
    if (!root) throw new MissingSecret(version)
    const key = Buffer.from(hkdfSync('sha256', root.bytes, '', `parley/${purpose}`, 32))
    derived.set(name, key)
    return key
  }

  function dataKeyOf(parts: Envelope, context: string, purpose: Purpose): Buffer {
    const { version, wrapped } = parts
    return decrypt(keyFor(purpose, version), wrapped, wrapBinding(purpose, context, version))
  }

  function wrap(dataKey: Buffer, context: string, purpose: Purpose, version: number): string {
    return textOf(encrypt(keyFor(purpose, version), dataKey, wrapBinding(purpose, context, version)))
  }

  function seal(
    plaintext: string,
    context: string,
    purpose: Purpose = 'provider-keys',
    version: number = newestVersion,
  ): string {
    const dataKey = randomBytes(KEY_BYTES)
    const wrapped = wrap(dataKey, context, purpose, version)
    const data = textOf(encrypt(dataKey, Buffer.from(plaintext), dataBinding(purpose, context)))
    dataKey.fill(0)
    return `v2.${version}.${wrapped}.${data}`
  }

  function unseal(sealed: string, context: string, purpose: Purpose = 'provider-keys'): string {
    const parts = partsOf(sealed)
    if (parts.format === 'v1') {
      return decrypt(keyFor(purpose, parts.version), parts.data, Buffer.from(context)).toString('utf8')
    }
    const dataKey = dataKeyOf(parts, context, purpose)
    const plaintext = decrypt(dataKey, parts.data, dataBinding(purpose, context)).toString('utf8')
    dataKey.fill(0)
    return plaintext
  }

  return {
    version: newestVersion,
    versions: roots.map(({ version }) => version),
    keyFor,
    seal,
    unseal,
    rewrap(sealed, context, purpose = 'provider-keys') {
      const parts = partsOf(sealed)
      // The former format has no key of its own to wrap anew.
      if (parts.format === 'v1') return seal(unseal(sealed, context, purpose), context, purpose)
      if (parts.version === newestVersion) return sealed
      const dataKey = dataKeyOf(parts, context, purpose)
      const wrapped = wrap(dataKey, context, purpose, newestVersion)
      dataKey.fill(0)
      return `v2.${newestVersion}.${wrapped}.${textOf(parts.data)}`
    },
    versionOf: (sealed) => partsOf(sealed).version,
    checkValueOf: (version) => createHmac('sha256', keyFor('check-value', version)).update('parley').digest(),
  }
}

const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
/** The cipher of every kind of box. Its tag, and where it may be opened, depend on the binding. */
const CIPHER = 'aes-256-gcm'

/** Ciphertext and what is needed to open it, apart from the key. */
interface Box {
  iv: Buffer
  tag: Buffer
  ciphertext: Buffer
}

/** Each text has a random key of its own (`data`), which is itself encrypted under the root secret (`wrapped`). */
interface Envelope {
  format: 'v2'
  version: number
  wrapped: Box
  data: Box
}

/** The format before envelopes: encrypted under the root secret itself. Still read, no longer written. */
interface Direct {
  format: 'v1'
  version: number
  data: Box
}

/** `v2.VERSION.IV.TAG.WRAPPED-KEY.IV.TAG.CIPHERTEXT`, or `v1.VERSION.IV.TAG.CIPHERTEXT`. */
function partsOf(sealed: string): Envelope | Direct {
  const [format, number = '', ...rest] = sealed.split('.')
  const isWhole = /^[1-9]\d{0,3}$|^0$/.test(number) && rest.every((part, n) => n % 3 === 2 || part !== '')
  const version = Number(number)
  if (isWhole && format === 'v1' && rest.length === 3) return { format, version, data: boxOf(rest) }
  if (isWhole && format === 'v2' && rest.length === 6) {
    return { format, version, wrapped: boxOf(rest.slice(0, 3)), data: boxOf(rest.slice(3)) }
  }
  throw new Error('This is not a sealed text.')
}

function boxOf([iv = '', tag = '', ciphertext = '']: readonly string[]): Box {
  return { iv: bytesOf(iv), tag: bytesOf(tag), ciphertext: bytesOf(ciphertext) }
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'base64url')
}

function textOf({ iv, tag, ciphertext }: Box): string {
  return [iv, tag, ciphertext].map((bytes) => bytes.toString('base64url')).join('.')
}

/** As JSON, because two parts that are merely joined can be cut elsewhere and mean something else. */
function wrapBinding(purpose: Purpose, context: string, version: number): Buffer {
  return Buffer.from(JSON.stringify(['parley', 'v2', 'key', purpose, context, version]))
}

/** Without the version of the root secret, which the key's wrapping is bound to: a rewrap leaves the data as it is. */
function dataBinding(purpose: Purpose, context: string): Buffer {
  return Buffer.from(JSON.stringify(['parley', 'v2', 'data', purpose, context]))
}

function encrypt(key: Buffer, plaintext: Buffer, binding: Buffer): Box {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(binding)
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()])
  return { iv, tag: cipher.getAuthTag(), ciphertext }
}

function decrypt(key: Buffer, { iv, tag, ciphertext }: Box, binding: Buffer): Buffer {
  // A tag that was cut to four bytes would otherwise pass, and can be guessed.
  const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES })
  decipher.setAAD(binding).setAuthTag(tag)
  return Buffer.concat([decipher.update(ciphertext), decipher.final()])
}
