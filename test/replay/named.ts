/** Names the differences that are not the gateway's fault. */
import type { Reading } from './reading.ts'

/** Undefined: nothing explains it. */
export function reasonFor(said: Reading | undefined): string | undefined {
  if (said?.extras.has('server tools')) return 'tools that the provider runs itself, which nobody can ask us for'
  if (said?.extras.has('images')) return 'images in an answer, which nobody can ask us for'
  return undefined
}
