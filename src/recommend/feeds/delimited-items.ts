import { pipeline, Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { FIELDS_MAX, itemOf, type FeedItem } from './feed-item.ts'
import { FeedError } from '../../rules/offers/feed-error.ts'
import { ITEM_CHARS_MAX } from './feed-text.ts'
import { fieldNameOf, type FeedFields } from '../../rules/offers/field-names.ts'
import { createShopifyExport, isShopifyExport } from './shopify-products.ts'

/** Without these no row can be accepted, so the header is told of it, and not a million rows. */
const NEEDED: readonly (readonly string[])[] = [
  ['id', 'item_id', 'offer_id', 'sku'],
  ['title', 'name'],
  ['link', 'url', 'product_url'],
  ['price', 'sale_price'],
]

/** Rows under a header line, as spreadsheets and merchant feeds write them. */
export async function* delimitedItems(text: AsyncGenerator<string>, delimiter: string): AsyncGenerator<FeedItem> {
  const parser = parse({
    delimiter,
    // A quotation mark inside a cell is often a size in inches.
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: ITEM_CHARS_MAX,
  })
  // The reader below is told of a failure of the text: that is all this waits for.
  pipeline(Readable.from(text), parser, () => {})
  let header: string[] | undefined
  let fieldsOf: (row: FeedFields) => FeedFields | undefined = asTheyAre
  try {
    for await (const cells of parser as AsyncIterable<string[]>) {
      if (header === undefined) {
        header = headerOf(cells)
        if (isShopifyExport(header)) fieldsOf = createShopifyExport()
        continue
      }
      const row = rowOf(header, cells)
      if ('problem' in row) yield row
      const fields = 'fields' in row && fieldsOf(row.fields)
      if (fields) yield itemOf(fields)
    }
  } catch (error) {
    throw error instanceof CsvError ? unreadable(error) : error
  }
  if (header === undefined) throw new FeedError('The file is empty. Nothing was changed.')
}

function asTheyAre(row: FeedFields): FeedFields {
  return row
}

function headerOf(cells: readonly string[]): string[] {
  if (cells.length > FIELDS_MAX) throw new FeedError(`The header line has more than ${FIELDS_MAX} columns.`)
  const names = cells.map(fieldNameOf)
  if (isShopifyExport(names)) return names
  const missing = NEEDED.filter((choices) => !choices.some((name) => names.includes(name))).map(([first]) => first)
  if (missing.length === 0) return names
  throw new FeedError(
    `The header line has no column ${missing.join(', ')}. The first line must name the columns, like: id, title, description, link, price, availability.`,
  )
}

function rowOf(header: readonly string[], cells: readonly string[]): FeedItem {
  if (cells.length > header.length) {
    return { problem: `it has ${cells.length} columns and the header ${header.length}` }
  }
  // From the last to the first, so that the first column of a name counts.
  const entries = cells.map((cell, n): [string, string] => [header[n] ?? '', cell]).toReversed()
  return itemOf(Object.fromEntries(entries))
}

function unreadable(error: CsvError): FeedError {
  const line = typeof error.lines === 'number' ? ` near line ${error.lines}` : ''
  const why =
    error.code === 'CSV_MAX_RECORD_SIZE' || error.code === 'CSV_QUOTE_NOT_CLOSED'
      ? 'a quotation mark is opened and not closed'
      : error.message
  return new FeedError(`The file cannot be read${line}: ${why}. Correct it and import it again.`)
}
