/**
 * The offers that annotators judge: for each conversation everything that any engine puts among its first, and the ones that
 * the author had in mind, in an order that tells nothing.
 */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { Turn } from '../../src/rules/recommendations/matching.ts'
import type { Engine } from './engines.ts'
import { createProgress } from './progress.ts'
import type { CatalogueOffer, Conversation } from './sets.ts'

/** As deep as a difference between engines could matter for one recommendation. */
const DEPTH = 5

export interface Pooled {
  conversation: string
  turns: readonly Turn[]
  candidates: Pick<CatalogueOffer, 'id' | 'title' | 'brand' | 'category' | 'description'>[]
}

export async function poolOf(
  conversations: readonly Conversation[],
  offers: readonly CatalogueOffer[],
  engines: readonly Engine[],
): Promise<Pooled[]> {
  const byId = new Map(offers.map((offer) => [offer.id, offer]))
  const progress = createProgress('pooling', conversations.length)
  const pool: Pooled[] = []
  for (const conversation of conversations) {
    const { id, turns, intended } = conversation
    const found = new Set(intended)
    for (const engine of engines) for (const offerId of await engine.rank(conversation, DEPTH)) found.add(offerId)
    const candidates = [...found]
      .toSorted((a, b) => (shuffleKey(id, a) < shuffleKey(id, b) ? -1 : 1))
      .flatMap((offerId) => {
        const offer = byId.get(offerId)
        if (!offer) return []
        const { title, brand, category, description } = offer
        return [{ id: offerId, title, brand, category, description }]
      })
    pool.push({ conversation: id, turns, candidates })
    progress.add()
  }
  progress.end()
  return pool
}

/** The same in every run, and without any relation to how good a candidate is. */
function shuffleKey(conversationId: string, offerId: string): string {
  return createHash('sha256').update(`${conversationId}/${offerId}`).digest('hex')
}

/** A line for each candidate: people read it. */
export function writePool(path: string, pool: readonly Pooled[]): void {
  const lines = pool.map(({ candidates, ...rest }) => {
    const head = JSON.stringify(rest).slice(0, -1)
    return `${head},"candidates":[\n ${candidates.map((candidate) => JSON.stringify(candidate)).join(',\n ')}]}`
  })
  writeFileSync(path, `[${lines.join(',\n')}]\n`)
}
