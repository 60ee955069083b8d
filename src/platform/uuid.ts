import { randomFillSync } from 'node:crypto'

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
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
