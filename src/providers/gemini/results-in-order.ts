import type { Message } from '../../rules/calls/message.ts'

/**
 * Where calls of functions have no ids, a result belongs to the call at its place. Callers name the call and may send the
 * results in any order: of tools that run at the same time, the quickest is often first. All stand right after their calls,
 * because results that the user's words divide are refused.
 */
export function resultsInOrder(messages: readonly Message[]): Message[] {
  const places = new Map<string, number>()
  const placeOf = (id: string) => places.get(id) ?? Infinity
  const ordered: Message[] = []
  let answer = -1
  for (const message of messages) {
    if (message.role === 'assistant') message.tool_calls?.forEach(({ id }, place) => places.set(id, place))
    let at = ordered.length
    if (message.role === 'assistant') answer = at
    if (message.role === 'tool' && answer >= 0) {
      const place = placeOf(message.tool_call_id)
      at = answer + 1
      for (let next = ordered[at]; next?.role === 'tool'; next = ordered[at]) {
        if (placeOf(next.tool_call_id) > place) break
        at++
      }
    }
    ordered.splice(at, 0, message)
  }
  return ordered
}
