import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/**
 * The installation's root secrets, newest first. From each one, keys for separate purposes are derived, so that a leak
 * or a misuse of one purpose reveals nothing of another. Old ones stay listed until nothing uses them any more.
 */
export interface Secrets {
  /** The number of the newest secret: new digests and sealed texts are made under it. */
  readonly version: number
  /** A 32-byte key of the newest secret, or of the stated version. Throws when that version is no longer configured. */
  keyFor(purpose: Purpose, version?: number): Buffer
  seal(plaintext: string, context: string, purpose?: Purpose): string
  /** Throws when the text was sealed for another context, under an unknown secret, or was altered. */
  unseal(sealed: string, context: string, purpose?: Purpose): string
}

export type Purpose = 'key-pair-pepper' | 'provider-keys' | 'message-digests' | 'stored-results'

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
    if (!root) throw new Error(`Secret version ${version} is in use, but PARLEY_SECRET does not list it.`)
    const key = Buffer.from(hkdfSync('sha256', root.bytes, '', `parley/${purpose}`, 32))
    derived.set(name, key)
    return key
  }

  return {
    version: newestVersion,
    keyFor,
    seal(plaintext, context, purpose = 'provider-keys') {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', keyFor(purpose), iv)
      cipher.setAAD(Buffer.from(context))
      const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
      return [
        'v1',
        newestVersion,
        iv.toString('base64url'),
        cipher.getAuthTag().toString('base64url'),
        ciphertext.toString('base64url'),
      ].join('.')
    },
    unseal(sealed, context, purpose = 'provider-keys') {
      const [format, version, iv, tag, ciphertext] = sealed.split('.')
      if (format !== 'v1' || !version || !iv || !tag || ciphertext === undefined)
        throw new Error('This is not a sealed text.')
      const decipher = createDecipheriv(
        'aes-256-gcm',
        keyFor(purpose, Number(version)),
        Buffer.from(iv, 'base64url'),
        // A tag that was cut to four bytes would otherwise pass, and can be guessed.
        { authTagLength: 16 },
      )
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(Buffer.from(tag, 'base64url'))
      return Buffer.concat([decipher.update(Buffer.from(ciphertext, 'base64url')), decipher.final()]).toString('utf8')
    },
  }
}
