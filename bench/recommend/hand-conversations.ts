/** For information: few conversations of one author, judged by patterns, over the large public catalogue. */
import type { MatcherInProcess } from './matcher-in-process.ts'
import type { readHandConversations } from './sets.ts'
import { requestOf } from './silence-bars.ts'

export async function handLines(
  conversations: ReturnType<typeof readHandConversations>,
  matcher: MatcherInProcess,
): Promise<string[]> {
  const lines: string[] = []
  const counts = { wanted: 0, wantedShown: 0, right: 0, unwanted: 0, unwantedShown: 0 }
  for (const { id, turns, topic, fits } of conversations) {
    const reply = await matcher.match(requestOf({ turns }))
    const offer = 'match' in reply ? matcher.offerOf(reply.match.offerId) : undefined
    if (fits === undefined) {
      counts.unwanted += 1
      if (offer) counts.unwantedShown += 1
      if (offer) lines.push(`hand conversation ${id} (${topic}) had ${offer.title}`)
      continue
    }
    counts.wanted += 1
    if (!offer) continue
    counts.wantedShown += 1
    const isRight = fits.test([offer.title, offer.brand, offer.category, offer.description].join(' '))
    if (isRight) counts.right += 1
    else lines.push(`hand conversation ${id}: "${turns.at(-1)?.text.slice(0, 100)}" had ${offer.title}`)
  }
  const summary = `hand conversations, for information: ${counts.wantedShown} of ${counts.wanted} shown, ${counts.right} of them right by a lenient pattern; ${counts.unwantedShown} of ${counts.unwanted} that must have none`
  return [summary, ...lines]
}
