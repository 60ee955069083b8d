import { FeedError } from '../../rules/offers/feed-error.ts'
import { ITEM_ARRAYS } from './json-splitter.ts'

export const FEED_FORMATS = ['tsv', 'csv', 'xml', 'jsonl', 'json'] as const
export type FeedFormat = (typeof FEED_FORMATS)[number]

export const FEED_FORMAT_WORDS: Record<FeedFormat, string> = {
  tsv: 'tab-separated',
  csv: 'comma-separated',
  xml: 'RSS or Atom',
  jsonl: 'JSON Lines',
  json: 'JSON or JSON-LD',
}

/** How much of the beginning is looked at. */
export const SNIFFED_CHARS = 65_536

/** By the first characters of the text: names of files are often wrong. */
export function detectFormat(beginning: string): FeedFormat {
  const text = beginning.trimStart()
  if (text.startsWith('<')) return 'xml'
  if (text.startsWith('[')) return 'json'
  const [line = ''] = text.split(/\r?\n/, 1)
  if (text.startsWith('{')) return isWholeItem(line) ? 'jsonl' : 'json'
  if (line.includes('\t')) return 'tsv'
  if (/[,;|]/.test(line)) return 'csv'
  throw new FeedError(
    'The file has none of the known formats: tab- or comma-separated with a header line, RSS or Atom, JSON Lines, JSON-LD.',
  )
}

/** A first line that is a whole object of its own, and not a document that happens to have no line breaks. */
function isWholeItem(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Object.keys(value).some((name) => ITEM_ARRAYS.has(name))
  } catch {
    return false
  }
}

/** The sign that stands most often in the header line. */
export function delimiterOf(format: 'tsv' | 'csv', beginning: string): string {
  if (format === 'tsv') return '\t'
  const [line = ''] = beginning.trimStart().split(/\r?\n/, 1)
  const counted = [',', ';', '|'].map((sign): [string, number] => [sign, line.split(sign).length])
  return counted.toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? ','
}
