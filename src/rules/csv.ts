import { visibleText } from './visible-text.ts'

/**
 * A spreadsheet runs a cell that begins with one of these as a formula, some of them also after blanks or in their
 * full-width forms; an apostrophe in front makes it text.
 */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@])/

export function csvOf(header: readonly string[], rows: readonly (readonly (string | null)[])[]): string {
  return [header, ...rows].map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('')
}

function cellOf(value: string | null): string {
  const seen = visibleText(value ?? '')
  const text = FORMULA.test(seen.slice(0, 100).normalize('NFKC')) ? `'${seen}` : seen
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
