/** A whole Parley and a real Chromium in front of it. What a page must never do is watched from its first byte. */
import assert from 'node:assert/strict'
import { chromium, type BrowserContext, type Locator, type Page } from 'playwright-core'
import {
  createConsoleWorld,
  newPerson,
  newProject,
  ORIGIN,
  type ConsoleWorld,
  type Person,
} from '../../support/console.ts'
import type { WorldOptions } from '../../support/world.ts'
import { violationsOf } from './accessibility.ts'
import { copyOfWeb, faultsOf, watch, WATCH } from './watched-page.ts'

export { faultsOf, PHONE } from './watched-page.ts'

const WIDE = { width: 1280, height: 800 }

/** A dialog moves the focus a frame after it opens or closes. */
export function waitForFocus(target: Locator): Promise<void> {
  return target.and(target.page().locator(':focus')).waitFor()
}

export interface Visitor {
  page: Page
  context: BrowserContext
}

export interface SignedUp extends Visitor {
  person: Person
  project: { id: string }
}

export interface VisitOptions {
  viewport?: { width: number; height: number }
  colorScheme?: 'light' | 'dark'
}

export interface CheckOptions {
  /** The themes in which every rule is tried; in the others only colours are looked at, since nothing else differs. */
  themes?: readonly Theme[]
  /** Leaves the other themes out altogether. */
  isOnly?: boolean
}

const THEMES = ['light', 'dark'] as const
type Theme = (typeof THEMES)[number]

export interface BrowserWorld extends ConsoleWorld {
  /** Where the browser finds the console; addresses in mails begin with it, too. */
  origin: string
  /** Somebody who is not signed in. */
  visit(options?: VisitOptions): Promise<Visitor>
  /** Somebody with a confirmed address and a project, signed in. */
  signedUp(options?: VisitOptions): Promise<SignedUp>
  /** Lets somebody who was made through the API look through a browser. */
  visitAs(person: Person, options?: VisitOptions): Promise<Visitor>
  /** Axe in both themes, and everything that the page did since it was opened: see `faultsOf`. */
  check(page: Page, options?: CheckOptions): Promise<void>
}

export interface BrowserWorldOptions extends Omit<WorldOptions, 'webRoot'> {
  /** Where other names lead in the browser, to servers with a certificate of the test. */
  hosts?: Record<string, string>
}

export async function createBrowserWorld(options: BrowserWorldOptions = {}): Promise<BrowserWorld> {
  const webRoot = await copyOfWeb()
  const world = await createConsoleWorld({ ...options, webRoot })
  const { hosts = {} } = options
  const names = { ...hosts, [new URL(ORIGIN).hostname]: new URL(world.consoleUrl).host }
  const rules = Object.entries(names).map(([name, place]) => `MAP ${name} ${place}`)
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      // The console's name leads to this world; the clipboard and others want an origin that counts as secure.
      `--host-resolver-rules=${rules.join(',')}`,
      `--unsafely-treat-insecure-origin-as-secure=${ORIGIN}`,
    ],
  })
  let visitors = 0

  async function visit({ viewport = WIDE, colorScheme = 'light' }: VisitOptions = {}): Promise<Visitor> {
    const context = await browser.newContext({
      baseURL: ORIGIN,
      viewport,
      colorScheme,
      reducedMotion: 'reduce',
      ignoreHTTPSErrors: Object.keys(hosts).length > 0,
      // Everybody comes from an address of their own: throttles of one test do not reach the next.
      extraHTTPHeaders: { 'x-forwarded-for': `10.8.0.${(visitors += 1)}` },
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await context.addInitScript(WATCH)
    const page = await context.newPage()
    watch(page)
    return { page, context }
  }
  async function visitAs(person: Person, how?: VisitOptions): Promise<Visitor> {
    const visitor = await visit(how)
    const cookies = [...person.cookies].map(([name, value]) => ({
      name,
      value: decodeURIComponent(value),
      url: ORIGIN,
    }))
    await visitor.context.addCookies(cookies.map((cookie) => ({ ...cookie, value: encodeURIComponent(cookie.value) })))
    return visitor
  }

  return {
    ...world,
    origin: ORIGIN,
    visit,
    visitAs,
    check,
    async signedUp(how) {
      const person = await newPerson(world)
      const project = { id: await newProject(person, 'Recipes', 'recipes.example.com') }
      return { ...(await visitAs(person, how)), person, project }
    },
    async close() {
      await browser.close()
      await world.close()
    },
  }
}

/** A colour that fades may start another fade in what inherits it. */
const UNTIL_STILL = `(async () => {
  const frame = () => new Promise(requestAnimationFrame)
  for (await frame(), await frame(); document.getAnimations().length > 0; await frame())
    await Promise.all(document.getAnimations().map(({ finished }) => finished.catch(() => {})))
})()`

async function check(page: Page, { themes = ['light'], isOnly = false }: CheckOptions = {}): Promise<void> {
  await page.waitForLoadState('networkidle')
  assert.deepEqual(await faultsOf(page), [], `faults of ${page.url()}`)
  const before = await page.evaluate<string>('document.documentElement.dataset.theme')
  for (const theme of isOnly ? themes : THEMES) {
    await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
    await page.evaluate(UNTIL_STILL)
    const violations = await violationsOf(page, { isColoursOnly: !themes.includes(theme) })
    assert.deepEqual(violations, [], `accessibility of ${page.url()} in the ${theme} theme`)
  }
  await page.evaluate(`document.documentElement.dataset.theme = '${before}'`)
}
