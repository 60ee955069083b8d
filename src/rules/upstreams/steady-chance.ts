import { createHash } from 'node:crypto'

/**
 * Rendezvous hashing: the same conversation draws the same number for the same thing, on every gateway and without a word
 * between them. Its prompt then comes to where the provider has cached it. What one thing draws does not depend on the
 * others, so that one that goes away moves its own conversations and no others.
 */
export function steadyChance(conversation: string): (thing: { id: string }) => number {
  return ({ id }) => createHash('sha256').update(`${conversation}/${id}`).digest().readUIntBE(0, 6) / 2 ** 48
}

/** All of them, each first as often as the others, in the same order for the same conversation. */
export function inSteadyOrder<T extends { id: string }>(things: readonly T[], conversation: string): T[] {
  if (things.length < 2) return [...things]
  const chance = steadyChance(conversation)
  const drawn = things.map((thing) => ({ thing, at: chance(thing) }))
  return drawn.toSorted((a, b) => a.at - b.at).map(({ thing }) => thing)
}
