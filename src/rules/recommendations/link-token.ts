import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'

/**
 * The token in the links of a recommendation: its id, a seal of the line that it stands in, and our signature. It reveals
 * nothing about a user, a project or a conversation. The target of a link is looked up by the id, so a token can name no
 * address. 56 characters.
 */

const VERSION_BYTES = 2
const ID_BYTES = 16
const SEAL_BYTES = 12
const SIGNATURE_BYTES = 12
const SEAL_AT = VERSION_BYTES + ID_BYTES
const SIGNED_BYTES = SEAL_AT + SEAL_BYTES
export const TOKEN_CHARS = ((SIGNED_BYTES + SIGNATURE_BYTES) * 4) / 3

/** Key objects, because a signature with the bare bytes takes five times as long, and a body may hold 40,000 to check. */
export interface SigningKey {
  version: number
  key: KeyObject
}

/** The line that a token is made for: in another project, or with other words, it is not ours. */
export interface SealedLine {
  projectId: string
  words: string
}

/** Asked for the key of a version, which it may not have any more. */
export type KeyOf = (version: number) => KeyObject | undefined

export function tokenOf(id: string, line: SealedLine, { version, key }: SigningKey): string {
  const named = Buffer.alloc(SEAL_AT)
  named.writeUInt16BE(version)
  named.write(id.replaceAll('-', ''), VERSION_BYTES, 'hex')
  const signed = Buffer.concat([named, sealOf(id, line, key)])
  return Buffer.concat([signed, signatureOf(signed, key)]).toString('base64url')
}

/** The id, if the token is one of ours, whichever line it stood in. */
export function idOf(token: string, keyOf: KeyOf): string | undefined {
  const bytes = bytesOf(token)
  const key = bytes && keyOf(bytes.readUInt16BE())
  if (!bytes || !key) return undefined
  const signature = signatureOf(bytes.subarray(0, SIGNED_BYTES), key)
  return timingSafeEqual(signature, bytes.subarray(SIGNED_BYTES)) ? namedId(bytes) : undefined
}

/** The id, if the token is one of ours and was made for exactly this line. */
export function idOfLine(token: string, line: SealedLine, keyOf: KeyOf): string | undefined {
  const bytes = bytesOf(token)
  const key = bytes && keyOf(bytes.readUInt16BE())
  if (!bytes || !key) return undefined
  const seal = sealOf(namedId(bytes), line, key)
  return timingSafeEqual(seal, bytes.subarray(SEAL_AT, SIGNED_BYTES)) ? idOf(token, keyOf) : undefined
}

/** Other spellings of the same bytes are not ours. */
function bytesOf(token: string): Buffer | undefined {
  const bytes = Buffer.from(token, 'base64url')
  const isOurs = bytes.length === SIGNED_BYTES + SIGNATURE_BYTES && bytes.toString('base64url') === token
  return isOurs ? bytes : undefined
}

function namedId(bytes: Buffer): string {
  const hex = bytes.toString('hex', VERSION_BYTES, SEAL_AT)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

function sealOf(id: string, { projectId, words }: SealedLine, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(`line/${id}/${projectId}/${words}`).digest().subarray(0, SEAL_BYTES)
}

function signatureOf(signed: Buffer, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(signed).digest().subarray(0, SIGNATURE_BYTES)
}
