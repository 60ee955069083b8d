import { SaxesParser } from 'saxes'
import { FeedError, type FeedItem } from './feed-item.ts'
import { ITEM_CHARS_MAX } from './feed-text.ts'
import { fieldNameOf } from './field-names.ts'

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
    throw new FeedError('The XML holds no <item> and no <entry>. It must be an RSS or Atom feed of products.')
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
  let item: Map<string, string> | undefined
  let itemDepth = 0
  let value = ''
  let sinceEvent = 0
  let itemChars = 0
  let channelLanguage = ''

  parser.on('doctype', () => {
    throw new FeedError('The XML declares a document type (<!DOCTYPE …>), which is not accepted. Remove that line.')
  })
  parser.on('error', (error) => {
    throw new FeedError(`The XML is broken: ${error.message.slice(0, 200)}. Correct it and import it again.`)
  })
  const see = (text: string) => {
    sinceEvent = 0
    itemChars += text.length
    if (item && path.length > itemDepth && itemChars <= ITEM_CHARS_MAX) value += text
    else if (!item && path.at(-1) === 'language') channelLanguage += text
  }
  parser.on('text', see)
  parser.on('cdata', see)
  parser.on('opentag', ({ name, attributes }) => {
    sinceEvent = 0
    path.push(name)
    if (!item && ITEM_NAMES.has(name)) {
      item = new Map()
      itemDepth = path.length
      itemChars = 0
      return
    }
    // Elements inside a field are part of its text.
    if (item && path.length > itemDepth + 1) return
    // Atom puts the address of a link into an attribute.
    const isLink = name === 'link' && (attributes.rel ?? 'alternate') === 'alternate'
    value = isLink ? (attributes.href ?? '') : ''
  })
  parser.on('closetag', ({ name }) => {
    sinceEvent = 0
    if (item && path.length === itemDepth + 1) keep(item, name, value)
    if (item && path.length === itemDepth) {
      hasItems = true
      if (channelLanguage !== '' && !item.has('language')) item.set('language', channelLanguage.trim())
      const isTooLong = itemChars > ITEM_CHARS_MAX
      ready.push(isTooLong ? { problem: TOO_LONG } : { fields: Object.fromEntries(item) })
      item = undefined
    }
    path.pop()
  })
  return {
    read(text) {
      sinceEvent += text.length
      if (sinceEvent > ITEM_CHARS_MAX + STEP_CHARS) {
        throw new FeedError(`The XML holds an element of more than ${ITEM_CHARS_MAX} characters. Correct it.`)
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

const TOO_LONG = `it has more than ${ITEM_CHARS_MAX} characters`

/** A merchant's own field ("g:title") before the feed's ("title"), and the first of several. */
function keep(item: Map<string, string>, tag: string, value: string): void {
  const name = fieldNameOf(tag)
  const isMerchants = /^g:/i.test(tag)
  const mark = `g:${name}`
  if (value.trim() === '' || item.has(mark) || (item.has(name) && !isMerchants)) return
  item.set(name, value)
  if (isMerchants) item.set(mark, '')
}
