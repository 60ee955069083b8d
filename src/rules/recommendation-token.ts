import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * What stands in the links of a recommendation: its id and our signature, nothing of a user, a project or a conversation.
 * Where a link leads is looked up by the id, so a token can name no address. 40 characters.
 */

const VERSION_BYTES = 2
const ID_BYTES = 16
const SIGNATURE_BYTES = 12
const SIGNED_BYTES = VERSION_BYTES + ID_BYTES

export interface SigningKey {
  version: number
  key: Buffer
}

export function tokenOf(id: string, { version, key }: SigningKey): string {
  const signed = Buffer.alloc(SIGNED_BYTES)
  signed.writeUInt16BE(version)
  signed.write(id.replaceAll('-', ''), VERSION_BYTES, 'hex')
  return Buffer.concat([signed, signatureOf(signed, key)]).toString('base64url')
}

/** The id, if the token is one of ours; `keyOf` is asked for the key of a version and may not have it any more. */
export function idOf(token: string, keyOf: (version: number) => Buffer | undefined): string | undefined {
  const bytes = Buffer.from(token, 'base64url')
  // Other spellings of the same bytes are not ours.
  if (bytes.length !== SIGNED_BYTES + SIGNATURE_BYTES || bytes.toString('base64url') !== token) return undefined
  const signed = bytes.subarray(0, SIGNED_BYTES)
  const key = keyOf(signed.readUInt16BE())
  if (key === undefined || !timingSafeEqual(signatureOf(signed, key), bytes.subarray(SIGNED_BYTES))) return undefined
  const hex = signed.toString('hex', VERSION_BYTES)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

function signatureOf(signed: Buffer, key: Buffer): Buffer {
  return createHmac('sha256', key).update(signed).digest().subarray(0, SIGNATURE_BYTES)
}
