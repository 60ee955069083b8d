import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Purpose, Secrets } from './secrets.ts'

/**
 * Values that are handed out and come back, in the link of a mail or in a cookie: everybody can read one, and only this
 * installation can make one. `VERSION.VALUE.SIGNATURE`
 */

/** `boundTo` is signed too, but is not in the text: when any of it has changed, the signature no longer holds. */
export function sign(secrets: Secrets, purpose: Purpose, value: object, boundTo: readonly string[]): string {
  const signed = `${secrets.version}.${Buffer.from(JSON.stringify(value)).toString('base64url')}`
  return `${signed}.${signatureOf(secrets.keyFor(purpose), signed, boundTo).toString('base64url')}`
}

export function isSigned(secrets: Secrets, purpose: Purpose, text: string, boundTo: readonly string[]): boolean {
  const [version = '', value = '', signature = ''] = text.split('.')
  const key = keyOf(secrets, purpose, Number(version))
  if (key === undefined) return false
  const expected = signatureOf(key, `${version}.${value}`, boundTo)
  const given = Buffer.from(signature, 'base64url')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** The value in a text, whoever wrote it: nothing may be done on its word before `isSigned`. */
export function valueIn(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString())
  } catch {
    return undefined
  }
}

function keyOf(secrets: Secrets, purpose: Purpose, version: number): Buffer | undefined {
  try {
    return secrets.keyFor(purpose, version)
  } catch {
    return undefined
  }
}

/** As JSON, because parts that are merely joined can be cut elsewhere and mean something else. */
function signatureOf(key: Buffer, signed: string, boundTo: readonly string[]): Buffer {
  return createHmac('sha256', key)
    .update(JSON.stringify([signed, ...boundTo]))
    .digest()
}
