/** JSON that nobody sends by accident: a valid value, changed somewhere, and written with what JSON.stringify cannot write. */
import type { Random } from '../support/random.ts'

/** Stands in a value as it is to be written. */
export class Raw {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Unbroken runs of fewer characters than this keep the simulator busy for seconds, which counts them exactly. */
const LONG = 'x'.repeat(8_500)

const ODD_NUMBERS = [0, -1, 1.5, 1e308, 2 ** 31 - 1, 2 ** 31, 2 ** 53, -(2 ** 63), 5e-324].concat(-0)
const ODD_TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\uD800',
  '\uDC00\uD800',
  'A\u0301\u202E\u200B',
  '💥 '.repeat(50),
  LONG,
]
  .concat([
    '__proto__',
    'constructor',
    'toString',
    'true',
    '1',
    'null',
    '[DONE]',
    '\r\n\r\ndata: {}',
    '../../etc/passwd',
  ])
  .concat(['data:image/png;base64,', 'data:application/pdf;base64,AAAA', 'data:,', 'https://[::1', 'javascript:0'])
  .concat(['<|endoftext|>', '\u2028\u2029\uFEFF', '%00%ff', "'; drop table wallets; --", '${7*7}', '-----'])
const ODD_RAW = ['1e400', '-1e400', '123456789012345678901234567890', '1E-400', '0.1e+1', '-0.0', '"\\ud800"']
  .concat(['{"__proto__":{"polluted":true}}', '{"constructor":{"prototype":{"polluted":true}}}', '"\\u0000"'])
  .concat(['{"a":1,"a":2}', '{"\\u0061":1,"a":2}', '{"":""}', '[,]', 'NaN', 'undefined', "'a'", '01', '"\t"', '"\\x"'])
const ODD_KEYS = ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', '', '\u0000', '\uD800', 'then']

export function oddValue(random: Random): unknown {
  switch (random.int(12)) {
    case 0:
      return null
    case 1:
      return random.int(2) === 0
    case 2:
    case 3:
      return random.pick(ODD_NUMBERS)
    case 4:
    case 5:
    case 6:
      return random.pick(ODD_TEXTS)
    case 7:
      return random.pick([[], {}, [[]], [null], [{}], [[[[]]]], { type: 'text' }, { type: 'x' }])
    case 8:
      return {
        [random.pick(ODD_KEYS)]: random.pick(ODD_TEXTS),
        type: random.pick(['text', 'image_url', 'function', '']),
      }
    case 9:
      return nested(random)
    default:
      return new Raw(random.pick(ODD_RAW))
  }
}

/** Deep enough to be refused, or to overflow a stack that does not look. */
function nested(random: Random): Raw {
  const depth = random.pick([10, 30, 31, 32, 33, 100, 2_000, 20_000])
  return random.int(2) === 0
    ? new Raw(`${'['.repeat(depth)}${']'.repeat(depth)}`)
    : new Raw(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)
}

const CHARACTERS_MULTIPLIED = 1_000
const PLACES_CHANGED = 3_000

type Place = { owner: Record<string, unknown> | unknown[]; key: string | number }

function placesIn(value: unknown, found: Place[] = []): Place[] {
  if (Array.isArray(value)) {
    for (const [key, each] of value.entries()) {
      found.push({ owner: value, key })
      placesIn(each, found)
    }
  } else if (typeof value === 'object' && value !== null && !(value instanceof Raw)) {
    for (const [key, each] of Object.entries(value)) {
      found.push({ owner: value as Record<string, unknown>, key })
      placesIn(each, found)
    }
  }
  return found
}

/** A copy with one to a few places changed. */
export function mutated(value: unknown, random: Random): unknown {
  const copy: unknown = structuredClone(value)
  const changes = random.pick([1, 1, 1, 1, 2, 3, 6])
  for (let n = 0; n < changes; n++) {
    const places = placesIn(copy)
    if (places.length === 0) return oddValue(random)
    if (places.length > PLACES_CHANGED) break
    changeAt(random.pick(places), random, places)
  }
  return random.int(40) === 0 ? oddValue(random) : copy
}

/** Also `__proto__` becomes a field of its own this way. */
const fieldOf = (value: unknown) => ({ value, enumerable: true, writable: true, configurable: true })

function changeAt({ owner, key }: Place, random: Random, places: readonly Place[]): void {
  const fields = owner as Record<string | number, unknown>
  switch (random.int(8)) {
    case 0:
      if (Array.isArray(owner)) owner.splice(Number(key), 1)
      else Reflect.deleteProperty(owner, key)
      return
    case 1:
      fields[key] = [fields[key]]
      return
    case 2: {
      // The value of somewhere else: the right type at the wrong place.
      const other = random.pick(places)
      const found: unknown = (other.owner as Record<string | number, unknown>)[other.key]
      fields[key] = found instanceof Raw ? found : structuredClone(found)
      return
    }
    case 3:
      if (Array.isArray(owner)) {
        // A value that is already long is not multiplied: it would fill the memory.
        const isShort = written(owner[Number(key)]).length < CHARACTERS_MULTIPLIED
        const times = isShort ? random.pick([1, 2, 5, 130, 2_100]) : 1
        for (let n = 0; n < times; n++) owner.push(owner[Number(key)])
      } else Object.defineProperty(owner, random.pick(ODD_KEYS), fieldOf(oddValue(random)))
      return
    case 4:
      if (typeof fields[key] === 'string') fields[key] = oddText(fields[key], random)
      else fields[key] = oddValue(random)
      return
    default:
      fields[key] = oddValue(random)
  }
}

function oddText(text: string, random: Random): string {
  const at = random.int(text.length + 1)
  const odd = random.pick(ODD_TEXTS)
  return random.pick([text.slice(0, at), text.slice(0, at) + odd + text.slice(at), text + odd, text.toUpperCase(), odd])
}

/** As text. Values that no JSON has are left out, like JSON.stringify does. */
export function written(value: unknown): string {
  if (value instanceof Raw) return value.text
  if (Array.isArray(value)) return `[${value.map((each) => written(each)).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}:${written(each)}`)
    return `{${fields.join(',')}}`
  }
  return Object.is(value, -0) ? '-0' : (JSON.stringify(value) ?? 'null')
}

/** The text of a value, sometimes with a field twice, cut off, or with a character too many. */
export function brokenText(text: string, random: Random): string {
  const at = random.int(text.length + 1)
  switch (random.int(6)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return text.slice(0, at) + random.pick(['"', '{', '}', ',', '\\', '\u0000', ']', '\uFEFF']) + text.slice(at)
    case 2:
      return text.replace(/^\{("(?:\w+)":)/, `{$1${random.pick(ODD_RAW)},$1`)
    case 3:
      return `${text}${random.pick([text, ' x', '\n\n', '\u0000', ','])}`
    case 4:
      return text.slice(0, at) + text.slice(at + 1 + random.int(20))
    default:
      return `\uFEFF${text}`
  }
}
