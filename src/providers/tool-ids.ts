import { createHash } from 'node:crypto'

const PLAIN = /^[A-Za-z0-9_-]{1,64}$/
const KEPT_CHARACTERS = 51

/**
 * Other providers write ids that some refuse. Call and result are changed alike, and by a digest, so that two ids never
 * become the same.
 */
export function toolIdOf(id: string): string {
  if (PLAIN.test(id)) return id
  const readable = id.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(-KEPT_CHARACTERS)
  return `${readable}_${createHash('sha256').update(id).digest('hex').slice(0, 12)}`
}
