import { createHash } from 'node:crypto'

/**
 * Whether a public prompt is in the half that the gates learn from; the other half is for measuring only. The text's own
 * digest decides, so that nobody chooses and the same text is never on both sides.
 */
export function isTrainingText(text: string): boolean {
  return (createHash('sha256').update(text).digest()[0] ?? 0) % 2 === 0
}
