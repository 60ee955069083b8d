import { UpstreamError } from './provider.ts'

/**
 * Cuts a JSON object into the items of one of its lists, as its bytes come, and what is around them: an answer of two thousand
 * vectors has more than a hundred megabytes, of which no more than one item is held as text.
 */
export interface ItemSplitter {
  /** The items that end in these bytes, as their JSON. */
  split(bytes: Buffer): string[]
  /** At the end: the object with its list empty. Throws when it has not ended. */
  rest(): string
}

/** One item is no longer than this, and nor is all that is around them. */
const BYTES_MAX = { item: 1024 * 1024, around: 64 * 1024 }

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** The depth of everything directly in the list. */
const LIST_DEPTH = 2
/** Longer names are none that we look for. */
const NAME_CHARACTERS_MAX = 40

/** Where in the object the splitter is. */
interface Position {
  /** The number of open brackets. */
  depth: number
  isInString: boolean
  isEscaped: boolean
  isInList: boolean
  isListOver: boolean
  /** The last string directly in the object: the name of what follows. */
  name: string
}

export function createItemSplitter(listName: string): ItemSplitter {
  const at: Position = {
    depth: 0,
    isInString: false,
    isEscaped: false,
    isInList: false,
    isListOver: false,
    name: '',
  }
  const around = createKeeper(BYTES_MAX.around)
  const item = createKeeper(BYTES_MAX.item)
  return {
    split(bytes) {
      const items: string[] = []
      let start = 0
      let i = 0
      while (i < bytes.length) {
        if (at.isInString) {
          i = passString(at, bytes, i)
          continue
        }
        const byte = bytes[i++]
        if (byte === QUOTE) beginString(at)
        else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
          // Anything between two items is not kept: it is a comma at most.
          if (isBetweenItems(at)) start = i - 1
          if (opensList(at, byte, listName)) {
            around.keep(bytes.subarray(start, i))
            start = i
          }
        } else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && closesInList(at)) {
          if (at.isInList) {
            item.keep(bytes.subarray(start, i))
            items.push(item.take())
          } else start = i - 1
        }
      }
      if (!isBetweenItems(at)) (at.isInList ? item : around).keep(bytes.subarray(start))
      return items
    },
    rest() {
      if (at.depth !== 0 || at.isInString) throw new UpstreamError('truncated')
      return around.take()
    },
  }
}

function isBetweenItems({ isInList, depth }: Position): boolean {
  return isInList && depth === LIST_DEPTH
}

function beginString(at: Position): void {
  at.isInString = true
  if (at.depth === 1) at.name = ''
}

/** Returns where to go on: behind the string, if it ends in these bytes. */
function passString(at: Position, bytes: Buffer, from: number): number {
  let i = at.isEscaped ? from + 1 : from
  at.isEscaped = false
  for (;;) {
    const quote = bytes.indexOf(QUOTE, i)
    const end = quote === -1 ? bytes.length : quote
    const backslash = bytes.subarray(i, end).indexOf(BACKSLASH)
    if (backslash === -1) {
      if (at.depth === 1) at.name = (at.name + bytes.toString('latin1', from, end)).slice(0, NAME_CHARACTERS_MAX)
      at.isInString = quote === -1
      return at.isInString ? end : end + 1
    }
    i += backslash + 2
    if (i > bytes.length) {
      at.isEscaped = true
      return bytes.length
    }
  }
}

function opensList(at: Position, byte: number, listName: string): boolean {
  at.depth += 1
  const isList = byte === OPEN_ARRAY && at.depth === LIST_DEPTH && at.name === listName && !at.isListOver
  if (isList) at.isInList = true
  return isList
}

/** Whether an item has ended, or the list itself. */
function closesInList(at: Position): boolean {
  at.depth -= 1
  if (!at.isInList || at.depth > LIST_DEPTH) return false
  at.isListOver = at.depth < LIST_DEPTH
  at.isInList = !at.isListOver
  return true
}

/** Holds the bytes of one text, up to a limit. */
function createKeeper(bytesMax: number) {
  let parts: Buffer[] = []
  let kept = 0
  return {
    keep(bytes: Buffer): void {
      if (bytes.length === 0) return
      kept += bytes.length
      if (kept > bytesMax) throw new UpstreamError('event_too_big')
      parts.push(bytes)
    },
    take(): string {
      const text = Buffer.concat(parts).toString('utf8')
      parts = []
      kept = 0
      return text
    },
  }
}
