import { randomFillSync } from 'node:crypto'

/** Before and behind all others. */
export const FIRST_UUID = '00000000-0000-0000-0000-000000000000'
export const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** In small letters, as we and PostgreSQL write them: ids are compared as texts, and capitals would sort elsewhere. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Whether its first 48 bits are the time. */
export function isUuidv7(text: string): boolean {
  return isUuid(text) && text[14] === '7'
}

/** When a uuid of version 7 was made. */
export function timeOfUuid(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}

const POOL_BYTES = 10 * 256
const pool = Buffer.allocUnsafe(POOL_BYTES)
let used = POOL_BYTES

/** A uuid of version 7: its first 48 bits are the time, so that new rows go to the end of an index and to today's partition. */
export function uuidv7(nowMs: number = Date.now()): string {
  if (used === POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  const bytes = Buffer.allocUnsafe(16)
  bytes.writeUIntBE(nowMs, 0, 6)
  pool.copy(bytes, 6, used, used + 10)
  used += 10
  return uuidWith(bytes, 7)
}

/** A uuid of version 8, which is made of bytes of our own: of a digest, for one. */
export function uuidOf(digest: Buffer): string {
  return uuidWith(Buffer.from(digest.subarray(0, 16)), 8)
}

/** Writes version and variant into the bytes. */
function uuidWith(bytes: Buffer, version: number): string {
  bytes[6] = (version << 4) | ((bytes[6] ?? 0) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
