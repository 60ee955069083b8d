import { createGunzip } from 'node:zlib'
import { Readable, pipeline } from 'node:stream'
import { FeedError } from '../../rules/offers/feed-error.ts'

/** For the unpacked text: a small archive can hold an endless one. */
export const FEED_BYTES_MAX = 1_000_000_000
/** Product feeds shrink to a tenth or a thirtieth. What shrinks to less than this was made to fill a disk or a memory. */
const UNPACKED_RATIO_MAX = 200
/** Below it the ratio does not matter. */
const RATIO_FROM_BYTES = 10_000_000
/** More characters in one item than this are a broken file rather than a product. */
export const ITEM_CHARS_MAX = 1_000_000

const GZIP = Buffer.from([0x1f, 0x8b])
const UTF16 = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])]

/** A feed's bytes as text, piece by piece, unpacked if they are packed. Nothing of it is kept. */
export async function* feedTextOf(bytes: AsyncIterable<Buffer>, bytesMax = FEED_BYTES_MAX): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: false })
  let seen = 0
  for await (const piece of unpacked(bytes)) {
    if (seen === 0 && UTF16.some((mark) => piece.subarray(0, 2).equals(mark))) {
      throw new FeedError('The file is UTF-16. Save it as UTF-8.')
    }
    seen += piece.length
    if (seen > bytesMax) throw new FeedError(`The feed has more than ${bytesMax} bytes. Divide it into several feeds.`)
    const text = decoder.decode(piece, { stream: true })
    if (text !== '') yield text
  }
  const rest = decoder.decode()
  if (rest !== '') yield rest
}

async function* unpacked(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const pieces = bytes[Symbol.asyncIterator]()
  const first = await pieces.next()
  if (first.done) return
  const all = Readable.from(startingWith(first.value, pieces))
  if (!first.value.subarray(0, 2).equals(GZIP)) {
    yield* all as AsyncIterable<Buffer>
    return
  }
  const gunzip = createGunzip()
  // The reader of the last stream is told of the first one's failure: that is all this waits for.
  pipeline(all, gunzip, () => {})
  let size = 0
  try {
    for await (const piece of gunzip as AsyncIterable<Buffer>) {
      size += piece.length
      if (size > RATIO_FROM_BYTES && size > gunzip.bytesWritten * UNPACKED_RATIO_MAX)
        throw new FeedError(
          `The archive unpacks to more than ${UNPACKED_RATIO_MAX} times its size, which no feed does.`,
        )
      yield piece
    }
  } catch (error) {
    const code = (error as { code?: unknown }).code
    if (typeof code !== 'string' || !code.startsWith('Z_')) throw error
    throw new FeedError('The gzip archive is damaged or was cut off. Send the file again.')
  }
}

async function* startingWith<T>(first: T, rest: AsyncIterator<T>): AsyncGenerator<T> {
  try {
    yield first
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
