import { isUtf8 } from 'node:buffer'

/** Why a text is not accepted as JSON, in words for the caller. */
export class JsonError extends Error {}

export interface JsonLimits {
  depthMax: number
  keysMax: number
  /** For all arrays together. */
  itemsMax?: number
  /** Arrays and objects together. */
  bracketsMax?: number
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
  const scan = scanJson(bytes, limits)
  while (!scan.isOver()) scan.next()
  return parseText(bytes.toString('utf8'))
}

/** The same, a slice at a time: `giveWay` lets the others have a turn. */
export async function parseJsonInTurns(
  bytes: Buffer,
  limits: JsonLimits,
  giveWay: () => Promise<void>,
): Promise<unknown> {
  if (!isUtf8(bytes)) throw new JsonError('The body is not valid UTF-8.')
  const scan = scanJson(bytes, limits)
  while (!scan.isOver()) {
    scan.next()
    await giveWay()
  }
  const text = bytes.toString('utf8')
  await giveWay()
  return parseText(text)
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new JsonError('The body is not valid JSON.')
  }
}

/** A few milliseconds of work. */
const SLICE_BYTES = 512 * 1024

/** Reads JSON without making anything of it, and throws where it is beyond the limits. */
export function scanJson(bytes: Buffer, limits: JsonLimits) {
  const { depthMax, keysMax, itemsMax = Number.POSITIVE_INFINITY, bracketsMax = Number.POSITIVE_INFINITY } = limits
  /** For each open bracket: the keys seen so far in an object, or undefined in an array. */
  const open: (Set<string> | undefined)[] = []
  let keys = 0
  let items = 0
  let brackets = 0
  let atKey = false
  /** Where the string begins that is being read; -1: none is. */
  let stringAt = -1
  let position = 0

  function endString(end: number): void {
    if (atKey) {
      if (++keys > keysMax) throw new JsonError(`The body has more than ${keysMax} fields.`)
      addKey(open.at(-1), bytes, stringAt, end)
      atKey = false
    }
    stringAt = -1
  }

  function readMark(byte: number | undefined): void {
    switch (byte) {
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (open.length >= depthMax) throw new JsonError(`The body is nested deeper than ${depthMax} levels.`)
        if (++brackets > bracketsMax) throw new JsonError(`The body has more than ${bracketsMax} arrays and objects.`)
        open.push(byte === OPEN_OBJECT ? new Set() : undefined)
        atKey = byte === OPEN_OBJECT
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        open.pop()
        atKey = false
        break
      case COMMA:
        atKey = open.at(-1) !== undefined
        if (!atKey && ++items >= itemsMax) throw new JsonError(`The body has more than ${itemsMax} items in arrays.`)
        break
      case COLON:
        atKey = false
        break
      default:
    }
  }

  return {
    /** Reads the next slice. A string without an end is left for JSON.parse to refuse. */
    next(): void {
      const end = Math.min(position + SLICE_BYTES, bytes.length)
      let i = position
      for (; i < end; i++) {
        const byte = bytes[i]
        if (stringAt >= 0) {
          if (byte === BACKSLASH) i++
          else if (byte === QUOTE) endString(i)
        } else if (byte === QUOTE) stringAt = i
        else readMark(byte)
      }
      position = i
    },
    isOver: () => position >= bytes.length,
    /** The counts so far, also where they were too high. */
    seen: () => ({ keys, items }),
  }
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
