import { createHash } from 'node:crypto'

/**
 * Which half of somebody else's prompts the gates learn from; the other half is for measuring only. By the text's own
 * digest, so that nobody chooses and the same text never lies on both sides.
 */
export function isTrainingText(text: string): boolean {
  return (createHash('sha256').update(text).digest()[0] ?? 0) % 2 === 0
}
