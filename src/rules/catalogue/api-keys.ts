import { Buffer } from 'node:buffer'

const SHOWN_OF_AT_LEAST = 12

/** What is shown of a key. Of a short one that would be too much. */
export function lastOf(apiKey: string): string {
  // Of ACCESS_KEY_ID:SECRET_ACCESS_KEY and of an account's file, only the id is no secret.
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
