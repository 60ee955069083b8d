import { isUtf8 } from 'node:buffer'

/** Why a text is not accepted as JSON, in words for the caller. */
export class JsonError extends Error {}

export interface JsonLimits {
  depthMax: number
  keysMax: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

/**
 * JSON.parse for bytes from strangers. One pass over the bytes first, without recursion: JSON.parse would take half a
 * second and gigabytes for a small body that is only brackets, and it silently keeps the last of two equal keys, so that
 * two readers of the same body could see different requests.
 */
export function parseJson(bytes: Buffer, limits: JsonLimits): unknown {
  if (!isUtf8(bytes)) throw new JsonError('The body is not valid UTF-8.')
  scan(bytes, limits)
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new JsonError('The body is not valid JSON.')
  }
}

function scan(bytes: Buffer, limits: JsonLimits): void {
  /** For each open bracket: the keys seen so far in an object, or undefined in an array. */
  const open: (Set<string> | undefined)[] = []
  let keys = 0
  let atKey = false
  for (let i = 0; i < bytes.length; i++) {
    switch (bytes[i]) {
      case QUOTE: {
        const end = endOfString(bytes, i)
        if (atKey) {
          if (++keys > limits.keysMax) throw new JsonError(`The body has more than ${limits.keysMax} fields.`)
          addKey(open.at(-1), bytes, i, end)
          atKey = false
        }
        i = end
        break
      }
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (open.length >= limits.depthMax)
          throw new JsonError(`The body is nested deeper than ${limits.depthMax} levels.`)
        open.push(bytes[i] === OPEN_OBJECT ? new Set() : undefined)
        atKey = bytes[i] === OPEN_OBJECT
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        open.pop()
        atKey = false
        break
      case COMMA:
        atKey = open.at(-1) !== undefined
        break
      case COLON:
        atKey = false
        break
      default:
        break
    }
  }
}

/** The position of the closing quote; a string without one is left for JSON.parse to refuse. */
function endOfString(bytes: Buffer, start: number): number {
  for (let i = start + 1; i < bytes.length; i++) {
    if (bytes[i] === BACKSLASH) i++
    else if (bytes[i] === QUOTE) return i
  }
  return bytes.length
}

function addKey(seen: Set<string> | undefined, bytes: Buffer, start: number, end: number): void {
  if (!seen) return
  let key = bytes.toString('utf8', start + 1, end)
  if (key.includes('\\')) {
    try {
      key = String(JSON.parse(`"${key}"`))
    } catch {
      throw new JsonError('The body is not valid JSON.')
    }
  }
  if (seen.has(key)) throw new JsonError('The body has the same field twice in one object.')
  seen.add(key)
}
