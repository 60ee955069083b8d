import { SaxesParser, type SaxesTagPlain } from 'saxes'
import { FIELDS_MAX, itemOf, type FeedItem } from './feed-item.ts'
import { FeedError } from '../../rules/offers/feed-error.ts'
import { ITEM_CHARS_MAX } from './feed-text.ts'
import { fieldNameOf } from '../../rules/offers/field-names.ts'

/** RSS calls them items, Atom calls them entries. */
const ITEM_NAMES = new Set(['item', 'entry'])

/**
 * RSS 2.0 and Atom with the merchant names. The parser knows no document types, so there are no entities to be expanded
 * and no files to be fetched; a document that declares one is refused.
 */
export async function* xmlItems(text: AsyncGenerator<string>): AsyncGenerator<FeedItem> {
  const reader = createItemReader()
  for await (const piece of text) {
    // In small steps: one element must not be able to fill the memory before anybody looks at its size.
    for (let start = 0; start < piece.length; start += STEP_CHARS) {
      reader.read(piece.slice(start, start + STEP_CHARS))
      yield* reader.take()
    }
  }
  reader.end()
  yield* reader.take()
  if (!reader.hasItems()) {
    throw new FeedError('The XML has no <item> and no <entry>. It must be an RSS or Atom feed of products.')
  }
}

const STEP_CHARS = 65_536

interface ItemReader {
  read(text: string): void
  /** The items that are complete; each is given once. */
  take(): FeedItem[]
  hasItems(): boolean
  end(): void
}

function createItemReader(): ItemReader {
  const parser = new SaxesParser({ xmlns: false as const })
  let ready: FeedItem[] = []
  let hasItems = false
  const path: string[] = []
  let item: OpenItem | undefined
  let value = ''
  let attributes = 0
  let sinceEvent = 0
  let channelLanguage = ''

  const isTooLong = ({ start }: OpenItem) => parser.position - start > ITEM_CHARS_MAX
  parser.on('doctype', () => {
    throw new FeedError('The XML declares a document type (<!DOCTYPE …>), which is not accepted. Remove that line.')
  })
  parser.on('error', (error) => {
    throw new FeedError(`The XML is broken: ${error.message.slice(0, 200)}. Correct it and import it again.`)
  })
  const see = (text: string) => {
    sinceEvent = 0
    if (item && path.length > item.depth && !isTooLong(item)) value += text
    else if (!item && path.at(-1) === 'language')
      channelLanguage = `${channelLanguage}${text}`.trimStart().slice(0, LANGUAGE_CHARS_MAX)
  }
  parser.on('text', see)
  parser.on('cdata', see)
  parser.on('opentagstart', () => (attributes = 0))
  parser.on('attribute', () => {
    if (++attributes > ATTRIBUTES_MAX)
      throw new FeedError(`The XML has an element with more than ${ATTRIBUTES_MAX} attributes, which no feed needs.`)
  })
  parser.on('opentag', (tag) => {
    sinceEvent = 0
    path.push(tag.name)
    if (path.length > DEPTH_MAX)
      throw new FeedError(`The XML is nested deeper than ${DEPTH_MAX} elements, which no feed needs.`)
    if (!item && ITEM_NAMES.has(tag.name)) item = { depth: path.length, start: parser.position, fields: new Map() }
    // Elements inside a field are part of its text.
    else if (!item || path.length === item.depth + 1) value = addressIn(tag)
  })
  parser.on('closetag', ({ name }) => {
    sinceEvent = 0
    if (item && path.length === item.depth + 1) keep(item.fields, name, value)
    if (item && path.length === item.depth) {
      hasItems = true
      if (channelLanguage !== '' && !item.fields.has('language')) item.fields.set('language', channelLanguage)
      ready.push(isTooLong(item) ? { problem: TOO_LONG } : itemOf(Object.fromEntries(item.fields)))
      item = undefined
    }
    path.pop()
  })
  return {
    read(text) {
      sinceEvent += text.length
      if (sinceEvent > ITEM_CHARS_MAX + STEP_CHARS) {
        throw new FeedError(`The XML has an element of more than ${ITEM_CHARS_MAX} characters. Correct it.`)
      }
      parser.write(text)
    },
    take() {
      const taken = ready
      ready = []
      return taken
    },
    hasItems: () => hasItems,
    end: () => void parser.close(),
  }
}

/** An item whose end has not come yet. */
interface OpenItem {
  depth: number
  /** Where in the document it begins. */
  start: number
  fields: Map<string, string>
}

/** Feeds are five or six deep; a description may hold a page of a shop, and tables in it. */
const DEPTH_MAX = 32
const ATTRIBUTES_MAX = 100
/** "zh-Hant-TW", and blanks after it. */
const LANGUAGE_CHARS_MAX = 40
const TOO_LONG = `it has more than ${ITEM_CHARS_MAX} characters`

/** Atom puts the address of a link into an attribute. */
function addressIn({ name, attributes }: SaxesTagPlain): string {
  return name === 'link' && (attributes.rel ?? 'alternate') === 'alternate' ? (attributes.href ?? '') : ''
}

/** A merchant's own field ("g:title") before the feed's ("title"), and the first of several. */
function keep(fields: Map<string, string>, tag: string, value: string): void {
  const name = fieldNameOf(tag)
  const isMerchants = /^g:/i.test(tag)
  const mark = `g:${name}`
  // One more than is accepted, to be told from those that have exactly as many.
  const isFull = fields.size > FIELDS_MAX
  if (isFull || value.trim() === '' || fields.has(mark) || (fields.has(name) && !isMerchants)) return
  fields.set(name, value)
  if (isMerchants) fields.set(mark, '')
}
