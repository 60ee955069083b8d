import type { Message } from '../../rules/calls/message.ts'

/**
 * Where calls of functions have no ids, a result belongs to the call at its place. Callers name the call and may send the
 * results in any order: of tools that run at the same time, the quickest is often first.
 */
export function resultsInOrder(messages: readonly Message[]): Message[] {
  const places = new Map<string, number>()
  const placeOf = (id: string) => places.get(id) ?? Infinity
  const ordered: Message[] = []
  for (const message of messages) {
    if (message.role === 'assistant') message.tool_calls?.forEach(({ id }, place) => places.set(id, place))
    let at = ordered.length
    if (message.role === 'tool') {
      const place = placeOf(message.tool_call_id)
      for (let before = ordered[at - 1]; before?.role === 'tool'; before = ordered[at - 1]) {
        if (placeOf(before.tool_call_id) <= place) break
        at--
      }
    }
    ordered.splice(at, 0, message)
  }
  return ordered
}
