/** A spreadsheet runs a cell that begins with one of these as a formula; an apostrophe in front makes it text. */
const FORMULA = /^[=+\-@\t\r]/

export function csvOf(header: readonly string[], rows: readonly (readonly (string | null)[])[]): string {
  return [header, ...rows].map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('')
}

function cellOf(value: string | null): string {
  const text = value === null ? '' : FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
