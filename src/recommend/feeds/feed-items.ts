import { delimitedItems } from './delimited-items.ts'
import type { FeedItem } from './feed-item.ts'
import { FeedError } from '../../rules/offers/feed-error.ts'
import { delimiterOf, detectFormat, SNIFFED_CHARS, type FeedFormat } from './feed-format.ts'
import { jsonDocumentItems, jsonLineItems } from './json-items.ts'
import { xmlItems } from './xml-items.ts'

export interface OpenFeed {
  format: FeedFormat
  items: AsyncIterable<FeedItem>
}

/** Looks at the beginning of a feed and reads the rest as what it is: item by item, so that its size does not matter. */
export async function openFeed(text: AsyncGenerator<string>, format?: FeedFormat): Promise<OpenFeed> {
  let beginning = ''
  let isWhole = false
  while (beginning.length < SNIFFED_CHARS && !isWhole) {
    const piece = await text.next()
    if (piece.done) isWhole = true
    else beginning += piece.value
  }
  if (beginning.trim() === '') throw new FeedError('The file is empty. Nothing was changed.')
  const chosen = format ?? detectFormat(beginning)
  return { format: chosen, items: itemsOf(chosen, beginning, resumed(beginning, text)) }
}

function itemsOf(format: FeedFormat, beginning: string, text: AsyncGenerator<string>): AsyncIterable<FeedItem> {
  switch (format) {
    case 'tsv':
    case 'csv':
      return delimitedItems(text, delimiterOf(format, beginning))
    case 'xml':
      return xmlItems(text)
    case 'jsonl':
      return jsonLineItems(text)
    case 'json':
      return jsonDocumentItems(text)
  }
}

async function* resumed(beginning: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield beginning
  yield* rest
}
