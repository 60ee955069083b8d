import { Buffer } from 'node:buffer'

const SHOWN_OF_AT_LEAST = 12

/** Returns the end of a key, to be shown. Empty for a short one, of which that would be too much. */
export function lastOf(apiKey: string): string {
  // In ACCESS_KEY_ID:SECRET_ACCESS_KEY and in an account's file, only the id is no secret.
  const shown = accountKeyIdIn(apiKey) ?? apiKey.split(':')[0] ?? ''
  return shown.length < SHOWN_OF_AT_LEAST ? '' : shown.slice(-4)
}

function accountKeyIdIn(apiKey: string): string | undefined {
  try {
    const file = JSON.parse(Buffer.from(apiKey, 'base64').toString()) as { private_key_id?: unknown } | null
    return typeof file?.private_key_id === 'string' ? file.private_key_id : ''
  } catch {
    return undefined
  }
}
