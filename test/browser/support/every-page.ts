/** Looks at every page that the web app registers: is it accessible, does it fit, does anything move while it loads? */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { BrowserContext, Page } from 'playwright-core'
import type { Person } from '../../support/console.ts'
import type { BrowserWorld, Visitor } from './browser-world.ts'
import { PHONE } from './watched-page.ts'

const SOURCE = join(import.meta.dirname, '../../../dashboard/src')
const PREFIXES: Record<string, string> = {
  project: '/projects/$project',
  publisher: '/publishers/$publisher',
  account: '/account',
  advertiser: '/advertisers/$advertiser',
}
const HUGE = { width: 3840, height: 2160 }
/** More than a hundred characters, and nobody finds the beginning of the next line. */
const LINE_PX_MAX = 1_200
/** Pages about one of many things, which are therefore never empty. */
export const DETAIL = /\$(?!project|publisher|advertiser)/

/** From the files that the web app makes its routes from: whoever adds a page need not know of this test. */
export async function registeredPages(): Promise<string[]> {
  const found: string[] = []
  for await (const file of glob('pages/*/page.ts', { cwd: SOURCE })) {
    const code = await readFile(join(SOURCE, file), 'utf8')
    const pages = Array.from(code.matchAll(/scope: '(\w+)',\s+path: '([^']*)'/g), ([, scope = '', path = '']) =>
      path === '' ? `${PREFIXES[scope]}` : `${PREFIXES[scope]}/${path}`,
    )
    assert.equal(pages.length, code.match(/definePage\(/g)?.length, `${file} is not read as a whole`)
    found.push(...pages)
  }
  return found.toSorted()
}

/** The pages of the router itself: before the sign-in, and behind it but without the navigation. */
export async function routedPages(list: 'signPages' | 'focusedPages'): Promise<string[]> {
  const code = await readFile(join(SOURCE, 'router.tsx'), 'utf8')
  const [, body = ''] = new RegExp(`const ${list} = \\{([^}]*(?:\\}[^}\\n]*)*?)\\n\\}`).exec(code) ?? []
  const paths = Array.from(body.matchAll(/'(\/[\w-]+)': lazy/g), (match) => match[1] ?? '')
  assert.ok(paths.length > 1, list)
  return paths
}

export function placed(pattern: string, places: Record<string, string>): string {
  return pattern.replaceAll(/\$(\w+)/g, (_, name: string) => {
    const value = places[name]
    assert.ok(value, `${pattern} needs a $${name}: furnish() makes what there is to look at`)
    return value
  })
}

/** Both sizes at the same time: what takes long is waiting for the page. All pages are looked at before any is told of. */
export async function checkAll(
  world: BrowserWorld,
  paths: readonly string[],
  open: (viewport?: typeof PHONE) => Promise<Visitor>,
): Promise<void> {
  assert.ok(paths.length > 0)
  const visitors = [await open(), await open(PHONE)]
  for (const { context } of visitors) await shuffleReplies(context)
  const failures: string[] = []
  for (const path of paths) {
    const checks = await Promise.allSettled(visitors.map(({ page }) => checkPage(world, page, path)))
    for (const check of checks) if (check.status === 'rejected') failures.push(String(check.reason))
  }
  assert.deepEqual(failures, [])
  for (const { context } of visitors) await context.close()
}

/**
 * Makes replies that a page asks for together arrive separately and shuffled, in the same order in every run: nothing drawn
 * from one reply may move when another one arrives.
 */
async function shuffleReplies(context: BrowserContext): Promise<void> {
  await context.route('**/api/**', async (route) => {
    const { pathname } = new URL(route.request().url())
    const digest = createHash('sha256')
      .update(pathname.replaceAll(/[0-9a-f-]{36}/g, ''))
      .digest()
    await delay((digest.readUInt8() % 4) * 40)
    await route.continue()
  })
}

async function checkPage(world: BrowserWorld, page: Page, path: string): Promise<void> {
  await page.goto(path)
  await page.getByRole('heading').first().waitFor()
  // Themes and widths change things that are independent of each other: one thorough look at each is enough.
  const isPhone = page.viewportSize()?.width === PHONE.width
  await world.check(page, isPhone ? { themes: ['dark'], isOnly: true } : {})
  const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  assert.ok(excess <= 0, `${path} is ${excess} px too wide for ${page.viewportSize()?.width} px`)
  if (!isPhone) await checkHuge(page, path)
}

/** On a 4K screen lines stay short enough to be read, and nothing is wider than the screen. */
async function checkHuge(page: Page, path: string): Promise<void> {
  const before = page.viewportSize()
  await page.setViewportSize(HUGE)
  const [excess = 0, longest = 0] = await page.evaluate<number[]>(LINES)
  assert.ok(excess <= 0, `${path} is ${excess} px too wide for ${HUGE.width} px`)
  assert.ok(longest <= LINE_PX_MAX, `a line of ${path} is ${longest} px long on a screen of ${HUGE.width} px`)
  if (before) await page.setViewportSize(before)
}

/** Runs in the page. */
const LINES = `[document.documentElement.scrollWidth - innerWidth,
  Math.max(0, ...[...document.querySelectorAll('main p')].flatMap((text) => {
    const range = document.createRange()
    range.selectNodeContents(text)
    return [...range.getClientRects()].map(({ width }) => Math.round(width))
  }))]`

export function as(world: BrowserWorld, person: Person) {
  return (viewport?: typeof PHONE) => world.visitAs(person, viewport && { viewport })
}
