/** docs/benchmarks.md: its first part is written by hand and stays, everything below the mark is what was measured last. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './checkout.ts'

const PAGE = 'docs/benchmarks.md'
const PICTURE = 'docs/images/benchmarks.svg'
export const MARK = '<!-- Everything below is written by `npm run bench -- --write`. -->'

export async function writePage(tables: string, chart: string): Promise<void> {
  await mkdir(join(ROOT, 'docs/images'), { recursive: true })
  await writeFile(join(ROOT, PICTURE), chart)
  const path = join(ROOT, PAGE)
  await writeFile(path, pageWith(await readFile(path, 'utf8'), tables))
}

/** The page with another lower part. */
export function pageWith(page: string, tables: string): string {
  const [byHand, ...rest] = page.split(MARK)
  if (byHand === undefined || rest.length !== 1) throw new Error(`${PAGE} must have this line once: ${MARK}`)
  return `${byHand}${MARK}\n\n${tables}\n`
}
