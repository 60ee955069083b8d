import { FeedError, type FeedItem } from './feed-item.ts'
import { ITEM_CHARS_MAX } from './feed-text.ts'
import { fieldsOfJson } from './json-fields.ts'
import { createJsonSplitter, type ItemText } from './json-splitter.ts'

const TOO_LONG: FeedItem = { problem: `it has more than ${ITEM_CHARS_MAX} characters` }

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
  if (!isJson(line))
    throw new FeedError('The last line is not complete: the file was cut off. Send it again. Nothing was changed.')
  yield* itemsIn(line)
}

/** An array of objects, or a document with one: also JSON-LD as shops put it into their pages. */
export async function* jsonDocumentItems(text: AsyncGenerator<string>): AsyncGenerator<FeedItem> {
  const splitter = createJsonSplitter()
  for await (const piece of text) {
    for (const item of splitter.split(piece)) yield* itemsIn(item)
  }
  splitter.expectComplete()
}

function itemsIn(text: ItemText): FeedItem[] {
  if (text === undefined) return [TOO_LONG]
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return [{ problem: 'it is not JSON' }]
  }
  if (typeof value !== 'object' || value === null) return [{ problem: 'it is not a JSON object' }]
  return fieldsOfJson(value).map((fields) => ({ fields }))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
