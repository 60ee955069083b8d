import { FeedError } from '../../rules/offers/feed-error.ts'
import { ITEM_CHARS_MAX } from './feed-text.ts'

/** The arrays of a document in which its items are. */
export const ITEM_ARRAYS: ReadonlySet<string> = new Set([
  '@graph',
  'itemListElement',
  'products',
  'items',
  'offers_list',
])

/** The text of one item, or undefined for one that was too long to be kept. */
export type ItemText = string | undefined

export interface JsonSplitter {
  /** The items that end in this piece. */
  split(piece: string): ItemText[]
  /** To be called at the end: a document that was cut off has no end. */
  expectComplete(): void
}

/** Where in the document the splitter is. */
interface Position {
  /** The number of open brackets. */
  depth: number
  /** The depth at which items begin: inside the array of items, or that of the document itself. */
  floor: number
  isInItem: boolean
  isInString: boolean
  isEscaped: boolean
  /** The array of items has ended. */
  isDone: boolean
  /** The last string directly inside the document: the name of what follows. */
  name: string
}

/**
 * Cuts a JSON document into the elements of its array of items, without holding more of it than one element: what
 * stands between brackets is counted, not understood, so that a broken element costs only itself: libraries end at the
 * first. A document that has no such array is one item by itself.
 */
export function createJsonSplitter(charsMax: number = ITEM_CHARS_MAX): JsonSplitter {
  const at: Position = {
    depth: 0,
    floor: 0,
    isInItem: false,
    isInString: false,
    isEscaped: false,
    isDone: false,
    name: '',
  }
  const item = createKeeper(charsMax)
  return {
    split(piece) {
      const items: ItemText[] = []
      let start = 0
      let nameStart = 0
      for (let n = 0; n < piece.length; n++) {
        const code = piece.charCodeAt(n)
        if (at.isInString) {
          if (!endsString(at, code)) continue
          if (isNaming(at)) at.name = named(at, piece.slice(nameStart, n))
        } else if (code === QUOTE) {
          at.isInString = true
          nameStart = n + 1
          if (isNaming(at)) at.name = ''
        } else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
          const was = at.isInItem
          open(at, code)
          if (!was && at.isInItem) start = n
          // The text kept of the document around its items is forgotten.
          if (was && !at.isInItem) item.take()
        } else if ((code === CLOSE_ARRAY || code === CLOSE_OBJECT) && closesItem(at)) {
          item.keep(piece.slice(start, n + 1))
          items.push(item.take())
        }
      }
      if (at.isInString && isNaming(at)) at.name = named(at, piece.slice(nameStart))
      if (at.isInItem) item.keep(piece.slice(start))
      return items
    },
    expectComplete() {
      if (at.depth === 0 && !at.isInString) return
      throw new FeedError('The JSON ends in the middle: the file was cut off. Send it again. Nothing was changed.')
    },
  }
}

function endsString(at: Position, code: number): boolean {
  if (at.isEscaped) at.isEscaped = false
  else if (code === BACKSLASH) at.isEscaped = true
  else if (code === QUOTE) at.isInString = false
  return !at.isInString
}

/** Goes down into the array of items when it begins; otherwise an item may begin. */
function open(at: Position, code: number): void {
  at.depth++
  if (code === OPEN_ARRAY && isArrayOfItems(at)) {
    at.floor = at.depth
    at.isInItem = false
  } else if (!at.isDone) {
    at.isInItem = true
  }
}

/** Is it the end of an item? What follows the array of items says nothing of items. */
function closesItem(at: Position): boolean {
  at.depth--
  if (at.depth < at.floor) {
    at.floor = 0
    at.isDone = true
  }
  if (!at.isInItem || at.depth !== at.floor) return false
  at.isInItem = false
  return true
}

/** Is a string the name of a field of the document itself? */
function isNaming({ floor, depth, isInItem }: Position): boolean {
  return floor === 0 && depth === 1 && isInItem
}

function named({ name }: Position, text: string): string {
  return `${name}${text}`.slice(0, NAME_CHARS_MAX)
}

function isArrayOfItems({ isDone, floor, depth, isInItem, name }: Position): boolean {
  if (isDone || floor !== 0) return false
  return (depth === 1 && !isInItem) || (depth === 2 && isInItem && ITEM_ARRAYS.has(name))
}

/** Holds the parts of one item, or nothing of one that is too long. */
function createKeeper(charsMax: number) {
  let kept = ''
  let isTooLong = false
  return {
    keep(text: string): void {
      isTooLong ||= kept.length + text.length > charsMax
      kept = isTooLong ? '' : kept + text
    },
    take(): ItemText {
      const taken = isTooLong ? undefined : kept
      kept = ''
      isTooLong = false
      return taken
    },
  }
}

/** Longer ones are none that we know. */
const NAME_CHARS_MAX = 40
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
