import { JsonError, parseJson } from '../../platform/json.ts'
import { itemOf, type FeedItem } from './feed-item.ts'
import { FeedError } from '../../rules/offers/feed-error.ts'
import { ITEM_CHARS_MAX } from './feed-text.ts'
import { fieldsOfJson } from './json-fields.ts'
import { createJsonSplitter, type ItemText } from './json-splitter.ts'

/** An amount inside an offer of a variant in a group of a list is at 9. */
const DEPTH_MAX = 16
/** For a group with all its variants. */
const KEYS_MAX = 20_000
/** Variants of one group: each repeats what the group says, so few bytes can hold very many words. */
const PRODUCTS_MAX = 500
const TOO_LONG: FeedItem = { problem: `it has more than ${ITEM_CHARS_MAX} characters` }
const NOT_JSON = 'it is not valid JSON'

/** One object in every line. A broken line is that line's misfortune alone. */
export async function* jsonLineItems(text: AsyncGenerator<string>): AsyncGenerator<FeedItem> {
  let line = ''
  let isTooLong = false
  for await (const piece of text) {
    const parts = piece.split('\n')
    for (const [n, part] of parts.entries()) {
      if (!isTooLong) line += part
      isTooLong ||= line.length > ITEM_CHARS_MAX
      if (isTooLong) line = ''
      if (n === parts.length - 1) break
      if (isTooLong) yield TOO_LONG
      else if (line.trim() !== '') yield* itemsIn(line)
      line = ''
      isTooLong = false
    }
  }
  if (isTooLong) yield TOO_LONG
  if (line.trim() === '') return
  for (const item of itemsIn(line)) {
    if ('problem' in item && item.problem === NOT_JSON)
      throw new FeedError('The last line is not complete: the file was cut off. Send it again. Nothing was changed.')
    yield item
  }
}

/** An array of objects, or a document with one: also JSON-LD as shops put it into their pages. */
export async function* jsonDocumentItems(text: AsyncGenerator<string>): AsyncGenerator<FeedItem> {
  const splitter = createJsonSplitter()
  for await (const piece of text) {
    for (const item of splitter.split(piece)) yield* itemsIn(item)
  }
  splitter.expectComplete()
}

function* itemsIn(text: ItemText): Generator<FeedItem> {
  if (text === undefined) return yield TOO_LONG
  let value: unknown
  try {
    value = parseJson(Buffer.from(text), { depthMax: DEPTH_MAX, keysMax: KEYS_MAX })
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return yield { problem: error.message.replace('The body', 'it').replace(/\.$/, '') }
  }
  if (typeof value !== 'object' || value === null) return yield { problem: 'it is not a JSON object' }
  let products = 0
  for (const fields of fieldsOfJson(value)) {
    if (++products > PRODUCTS_MAX) return yield { problem: `it holds more than ${PRODUCTS_MAX} products` }
    yield itemOf(fields)
  }
}
