import { createHash } from 'node:crypto'

/** The SHA-256 of a text. Rows are found by it, and vectors that cost time to make: it never changes. */
export function textDigestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
