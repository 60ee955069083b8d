import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

/**
 * The largest number, of either sign, that each channel of what goes into a weight matrix had in texts of ours. They were
 * measured at full precision by `scripts/measure-ranges.ts`; what lies beyond them in another text is cut to them.
 */
export type Ranges = (name: string) => Float32Array

export const RANGES_PATH = new URL('ranges.json', import.meta.url)

export function readRanges(): Ranges {
  const file = JSON.parse(readFileSync(RANGES_PATH, 'utf8')) as Record<string, string>
  return (name) => {
    const bytes = Uint8Array.from(Buffer.from(file[name] ?? assert.fail(`no ranges of ${name}`), 'base64'))
    return Float32Array.from(new Float16Array(bytes.buffer))
  }
}

/** Base64 of halves, a line for each name. */
export function rangesJson(ranges: ReadonlyMap<string, Float32Array>): string {
  const halves = [...ranges].map(([name, range]) => [
    name,
    Buffer.from(Float16Array.from(range).buffer).toString('base64'),
  ])
  return `${JSON.stringify(Object.fromEntries(halves), undefined, 2)}\n`
}
