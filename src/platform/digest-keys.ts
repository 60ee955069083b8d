import { hkdfSync } from 'node:crypto'
import type { Secrets } from './secrets.ts'

/**
 * The keys of digests that records are found by. They outlive every root secret, which only seals them: were they derived
 * from the newest one, two gateways in the middle of a rotation would not find each other's records, and a repeated
 * Idempotency-Key would be charged twice.
 */
export type DigestKeys = Readonly<Record<DigestPurpose, Buffer>>

const PURPOSES = ['message-digests', 'recommendations', 'end-users', 'prompt-caches'] as const
export type DigestPurpose = (typeof PURPOSES)[number]

const CONTEXT = 'installation'

/** For an installation that has none yet: the keys that the version before derives, so that it finds the same records. */
export function firstDigestKeys(secrets: Secrets): DigestKeys {
  return digestKeysFrom((purpose) => secrets.keyFor(purpose))
}

export function sealDigestKeys(secrets: Secrets, keys: DigestKeys, version: number): string {
  const texts = Object.fromEntries(PURPOSES.map((purpose) => [purpose, keys[purpose].toString('base64')]))
  return secrets.seal(JSON.stringify(texts), CONTEXT, 'digest-keys', version)
}

export function unsealDigestKeys(secrets: Secrets, sealed: string): DigestKeys {
  const texts = JSON.parse(secrets.unseal(sealed, CONTEXT, 'digest-keys')) as Partial<Record<DigestPurpose, string>>
  const first = Buffer.from(texts['message-digests'] ?? '', 'base64')
  return digestKeysFrom((purpose) => {
    const text = texts[purpose]
    // A purpose that is newer than these keys: all gateways derive the same for it.
    if (text === undefined) return Buffer.from(hkdfSync('sha256', first, '', `parley/${purpose}`, 32))
    return Buffer.from(text, 'base64')
  })
}

function digestKeysFrom(keyOf: (purpose: DigestPurpose) => Buffer): DigestKeys {
  return Object.fromEntries(PURPOSES.map((purpose) => [purpose, keyOf(purpose)])) as unknown as DigestKeys
}
