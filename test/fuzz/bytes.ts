/** Bytes that went wrong on the way: cut, flipped, doubled, left out, or with something of another message in them. */
import type { Random } from '../support/random.ts'

const INSERTED = [
  '\u0000',
  '\r\n',
  '\n\n',
  '\r',
  'data: ',
  'data:',
  ': x\n',
  '"',
  '{',
  '}',
  '[DONE]',
  'null',
  '-1',
  '1e400',
]
  .concat(['event: error\n', '\uD800', '\uFEFF', '"\\ud800"', '😀', '[]', '{}', ',', ':', 'true', '""'])
  .map((text) => Buffer.from(text))

export function mutatedBytes(bytes: Buffer, random: Random, others: readonly Buffer[]): Buffer {
  let changed = bytes
  const changes = random.pick([1, 1, 1, 2, 3, 8])
  for (let n = 0; n < changes; n++) changed = changedOnce(changed, random, others)
  return changed
}

function changedOnce(bytes: Buffer, random: Random, others: readonly Buffer[]): Buffer {
  const at = random.int(bytes.length + 1)
  const end = Math.min(bytes.length, at + 1 + random.int(random.pick([2, 20, 200])))
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  switch (random.int(8)) {
    case 0:
      return before
    case 1: {
      const copy = Buffer.from(bytes)
      if (at < copy.length) copy[at] = random.int(256)
      return copy
    }
    case 2:
      return Buffer.concat([before, random.pick(INSERTED), after])
    case 3:
      return Buffer.concat([before, bytes.subarray(end)])
    case 4:
      return Buffer.concat([before, bytes.subarray(at, end), after])
    case 5: {
      const other = random.pick(others)
      return Buffer.concat([before, other.subarray(random.int(other.length + 1))])
    }
    case 6:
      return changedNumber(bytes, random)
    default:
      return changedWord(bytes, random)
  }
}

/** Numbers and words are where a format means something. */
function changedNumber(bytes: Buffer, random: Random): Buffer {
  return replacedOne(bytes, /\d+(?:\.\d+)?/g, random, [
    '-1',
    '0',
    '1e999',
    '9'.repeat(30),
    '1.5',
    'null',
    '"7"',
    '2147483648',
  ])
}

function changedWord(bytes: Buffer, random: Random): Buffer {
  return replacedOne(bytes, /"[a-z_]+"|null|true|false|\{\}|\[\]/gi, random, [
    'null',
    '"x"',
    '{}',
    '[]',
    '7',
    'true',
    '""',
  ])
}

function replacedOne(bytes: Buffer, pattern: RegExp, random: Random, by: readonly string[]): Buffer {
  const text = bytes.toString('latin1')
  const found = [...text.matchAll(pattern)]
  if (found.length === 0) return bytes
  const { index, 0: word } = random.pick(found)
  return Buffer.from(text.slice(0, index) + random.pick(by) + text.slice(index + word.length), 'latin1')
}

/** The bytes in up to so many pieces. */
export function pieces(bytes: Buffer, random: Random, most = 6): Buffer[] {
  const cuts = Array.from({ length: random.int(most) }, () => random.int(bytes.length + 1)).toSorted((a, b) => a - b)
  return [...cuts, bytes.length]
    .map((end, n) => bytes.subarray(cuts[n - 1] ?? 0, end))
    .filter((piece) => piece.length > 0)
}

/** With halves, quarters and so on taken out of it. */
export function* smallerBytes(bytes: Buffer): Generator<Buffer> {
  for (let size = Math.ceil(bytes.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < bytes.length; at += size)
      yield Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + size)])
}
