import type { ContentChunk, RecommendationChunk } from '../../rules/calls/chunk.ts'

/** A stretch of an answer: so many characters of a kind, or where a call of a tool begins, counted from the first. */
export type Stretch =
  | { type: 'text' | 'refusal' | 'reasoning'; characters: number }
  | { type: 'tool_call'; call: number }

/** As most answers come, and as a message alone can be told again. */
const USUAL = ['reasoning', 'text', 'refusal', 'tool_call']

/** In which order an answer came, which its message does not say: some think, speak, call and think again. */
export function createOrder() {
  const order: Stretch[] = []
  const calls = new Set<number>()
  return {
    add(chunk: ContentChunk | RecommendationChunk): void {
      if (chunk.type === 'recommendation' || chunk.type === 'reasoning_signature' || chunk.type === 'embedding') return
      if (chunk.type === 'tool_call') {
        if (!calls.has(chunk.index)) order.push({ type: 'tool_call', call: chunk.index })
        calls.add(chunk.index)
        return
      }
      const last = order.at(-1)
      if (last && last.type === chunk.type) last.characters += chunk.text.length
      else order.push({ type: chunk.type, characters: chunk.text.length })
    },
    ifUnusual(): { order?: Stretch[] } {
      const ranks = order.map(({ type }) => USUAL.indexOf(type))
      const indexes = [...calls]
      const sorted = indexes.toSorted((a, b) => a - b)
      const isUsual =
        ranks.every((rank, n) => n === 0 || rank > Number(ranks[n - 1]) || (rank === 3 && ranks[n - 1] === 3)) &&
        indexes.every((index, n) => index === sorted[n])
      if (isUsual) return {}
      const numbered = (call: number): Stretch => ({ type: 'tool_call', call: sorted.indexOf(call) })
      return { order: order.map((each) => (each.type === 'tool_call' ? numbered(each.call) : each)) }
    },
  }
}
