import { createHash } from 'node:crypto'

/** Other providers write ids that some refuse. Call and result are changed alike, and by a digest, so that two ids never become the same. */

const PLAIN = /^[A-Za-z0-9_-]{1,64}$/
const KEPT_CHARACTERS = 51

/** For those who take up to 64 letters, digits, dashes and underscores. */
export function toolIdOf(id: string): string {
  if (PLAIN.test(id)) return id
  const readable = id.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(-KEPT_CHARACTERS)
  return `${readable}_${digestOf(id).slice(0, 12)}`
}

const NINE = /^[A-Za-z0-9]{9}$/

/** For those who take nine letters and digits, and nothing else. */
export function nineCharacterIdOf(id: string): string {
  return NINE.test(id) ? id : digestOf(id).slice(0, 9)
}

function digestOf(id: string): string {
  return createHash('sha256').update(id).digest('hex')
}
