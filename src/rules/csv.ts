import { visibleText } from './visible-text.ts'

/**
 * A spreadsheet runs a cell that begins with one of these as a formula, some of them also after blanks or in their
 * full-width forms; an apostrophe in front makes it text.
 */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@])/
/** Where the list separator is one of these, whatever follows it is a cell. */
const FORMULA_BEHIND_SEPARATOR = /([;\t]\s*)(?=[=+\-@＝＋－＠])/g

export function csvOf(header: readonly string[], rows: readonly (readonly (string | null)[])[]): string {
  return [header, ...rows].map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('')
}

/** Nearly all cells: figures, ids and names in plain letters. */
const PLAIN = /^(?:\w[\w .:/-]*)?$/

function cellOf(value: string | null): string {
  if (value === null || PLAIN.test(value)) return value ?? ''
  const seen = visibleText(value).replaceAll(FORMULA_BEHIND_SEPARATOR, "$1'")
  const text = FORMULA.test(seen.slice(0, 100).normalize('NFKC')) ? `'${seen}` : seen
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
