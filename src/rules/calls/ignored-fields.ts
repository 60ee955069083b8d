import type { CallEndpointName } from '../endpoints.ts'
import { fieldsIn } from '../record.ts'
import { KNOWN_FIELDS } from './chat-request.ts'
import { KNOWN_EMBEDDING_FIELDS } from './embeddings-request.ts'
import { RESPONSES_FIELDS } from './responses/responses-request.ts'

/** Fields of a request that nobody reads: mostly typing errors, and parameters of other APIs. */

export const IGNORED_FIELDS_PER_DAY_MAX = 50
const NAME_CHARACTERS_MAX = 64
const FIELDS_READ_MAX = 500
/** In this many letters a name may differ from the one that was meant. */
const DISTANCE_MAX = 2

/** By the endpoint that reads them. */
const FIELDS: Record<CallEndpointName, ReadonlySet<string>> = {
  chat: KNOWN_FIELDS,
  responses: RESPONSES_FIELDS,
  embeddings: KNOWN_EMBEDDING_FIELDS,
}
const ALL_FIELDS = KNOWN_FIELDS.union(RESPONSES_FIELDS).union(KNOWN_EMBEDDING_FIELDS)

/** Their names as far as they can be seen, and never what was in them. */
export function ignoredFieldsOf(body: unknown, endpoint: CallEndpointName = 'chat'): string[] {
  const known = FIELDS[endpoint]
  const names = new Set<string>()
  // A body has room for ten thousand.
  for (const field of Object.keys(fieldsIn(body)).slice(0, FIELDS_READ_MAX)) {
    const name = known.has(field) ? '' : visibleNameOf(field)
    if (name !== '') names.add(name)
    if (names.size === IGNORED_FIELDS_PER_DAY_MAX) break
  }
  return [...names]
}

/** Blanks and letters that nobody sees would make a wrong name look like the right one. */
const UNSEEN = /(?! )[\p{C}\p{Z}\u115f\u1160\u3164\uffa0]/gu

/** Cut before anything else reads it: one may be as long as the body. A mark stands for what cannot be seen. */
function visibleNameOf(field: string): string {
  const start = field.slice(0, 4 * NAME_CHARACTERS_MAX).trim()
  return Array.from(start.replaceAll(UNSEEN, '\u{fffd}')).slice(0, NAME_CHARACTERS_MAX).join('')
}

/** The field, known at any endpoint, that a name is close to, so close that it was probably meant; undefined when there is none. */
export function suggestionFor(name: string): string | undefined {
  const sought = foldName(name)
  const near = [...ALL_FIELDS]
    // One that only another endpoint reads is no help to who has sent it here.
    .filter((known) => known !== name)
    .map((known) => ({ known, distance: distanceOf(sought, foldName(known)) }))
    // A name of three letters with two of them changed is another name.
    .filter(({ distance }) => distance <= DISTANCE_MAX && 2 * distance < sought.length)
    .toSorted((a, b) => a.distance - b.distance)
  return near[0]?.known
}

/** `maxTokens`, `Max-Tokens` and `max_tokens` are one name in three spellings. */
function foldName(name: string): string {
  return name.toLowerCase().replaceAll(/[_\- .]/g, '')
}

/** How many letters have to be added, taken away or exchanged (Levenshtein). */
function distanceOf(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, n) => n)
  for (let i = 0; i < from.length; i++) {
    let left = i + 1
    let diagonal = i
    above = above.map((up, j) => {
      if (j > 0) left = Math.min(left + 1, up + 1, diagonal + (from[i] === to[j - 1] ? 0 : 1))
      diagonal = up
      return left
    })
  }
  return above[to.length] ?? 0
}
