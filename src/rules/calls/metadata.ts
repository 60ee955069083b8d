import { withBytes, type DailyBytes } from '../daily-bytes.ts'
import { fieldsIn } from '../record.ts'
import { textDigestOf } from '../text-digest.ts'

/** A pair that a publisher sends along with a call, to find the call by later. */
export interface MetadataPair {
  key: string
  value: string
}

/** As the SDKs promise: sixteen pairs, 64 characters in a key and 512 in a value. */
export const METADATA_PAIRS_MAX = 16
export const METADATA_KEY_CHARACTERS_MAX = 64
export const METADATA_VALUE_CHARACTERS_MAX = 512
/** As much as those take in ASCII. Letters of four bytes would cost a table four times as much. */
const METADATA_BYTES_MAX = METADATA_PAIRS_MAX * (METADATA_KEY_CHARACTERS_MAX + METADATA_VALUE_CHARACTERS_MAX)
const PAIRS_READ_MAX = 500

/** The pairs of a body that can be kept. Whatever else it has there is no reason to refuse a call: it is left out. */
export function metadataOf(body: unknown): MetadataPair[] {
  const pairs: MetadataPair[] = []
  let bytes = 0
  for (const [key, value] of Object.entries(fieldsIn(fieldsIn(body).metadata)).slice(0, PAIRS_READ_MAX)) {
    if (key === '' || !isText(key, METADATA_KEY_CHARACTERS_MAX)) continue
    if (!isText(value, METADATA_VALUE_CHARACTERS_MAX)) continue
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
    if (bytes > METADATA_BYTES_MAX) break
    pairs.push({ key, value })
    if (pairs.length === METADATA_PAIRS_MAX) break
  }
  return pairs
}

/** Something that can be stored, of so many characters at most: an emoji is one, though it is two to JavaScript. */
function isText(value: unknown, charactersMax: number): value is string {
  if (typeof value !== 'string' || value.length > 2 * charactersMax) return false
  return value.isWellFormed() && !value.includes('\0') && Array.from(value).length <= charactersMax
}

/** About as many as a digest has: to index one of a shorter value would gain nothing. */
const INDEXED_BYTES_MAX = 64

/** By what a value is found, or undefined where that is the value itself. */
export function digestOfLong(value: string): string | undefined {
  if (Buffer.byteLength(value) <= INDEXED_BYTES_MAX) return undefined
  return textDigestOf(value).toString('base64url')
}

/** The most metadata that each gateway keeps for a project per day in UTC. */
export const METADATA_BYTES_PER_DAY = 64 * 1024 * 1024

/** Undefined: there is no room for these any more today. */
export function withMetadata(
  kept: DailyBytes | undefined,
  pairs: readonly MetadataPair[],
  nowMs: number,
): DailyBytes | undefined {
  const more = pairs.reduce((sum, { key, value }) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  const today = withBytes(kept, more, nowMs)
  return today.bytes > METADATA_BYTES_PER_DAY ? undefined : today
}

/** For a cell of a table: an object, as it was sent. */
export function jsonOfMetadata(pairs: readonly MetadataPair[]): string {
  return pairs.length === 0 ? '' : JSON.stringify(Object.fromEntries(pairs.map(({ key, value }) => [key, value])))
}
