/** The pictures in README and docs, and how each is taken: the same way for recording, retaking and comparing. */
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Furnished } from './furnish.ts'
import { ANSWER } from './talk.ts'
import { PHONE } from './watched-page.ts'

export const IMAGES = join(import.meta.dirname, '../../../docs/images')
const QUESTION = 'Write three headlines for a story about a town that banned cars for a week.'
const WIDE = { width: 1280, height: 800 }

export interface Picture {
  name: string
  path(made: Furnished): string
  theme?: 'dark'
  isPhone?: true
  /** Steps on the page before the picture is taken. */
  pose?(page: Page): Promise<void>
}

export const PICTURES: readonly Picture[] = [
  { name: 'home', path: inProject('') },
  { name: 'home-phone', path: inProject(''), theme: 'dark', isPhone: true },
  { name: 'calls-phone', path: inProject('/calls'), isPhone: true },
  { name: 'domain', path: inProject('/domain') },
  { name: 'new-keys', path: inProject('/keys'), pose: createKeys },
  { name: 'models', path: inProject('/models') },
  { name: 'playground', path: inProject('/playground'), pose: ask },
  { name: 'usage', path: inProject('/usage'), theme: 'dark' },
  { name: 'call', path: (made) => inProject(`/calls/${made.callId}`)(made) },
  { name: 'conversation', path: (made) => inProject(`/conversations/${made.conversationId}`)(made), theme: 'dark' },
  { name: 'wallet', path: inProject('/wallet') },
  { name: 'monetization', path: inProject('/monetization') },
]

function inProject(rest: string) {
  return ({ projectId }: Furnished) => `/projects/${projectId}${rest}`
}

async function createKeys(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'New key pair' }).first().click()
  await page.getByRole('dialog').getByLabel('Name').fill('Web server')
  await page.getByRole('button', { name: 'Create key pair' }).click()
  await page.getByRole('button', { name: 'Download .env' }).waitFor()
}

/** The simulated model is told what to say behind the scenes: the picture shows what a reader would see. */
export function sayingWhatToAnswer(body: string): string {
  return body.replace(QUESTION, `$& [[sim text=${encodeURIComponent(ANSWER)}]]`)
}

async function ask(page: Page): Promise<void> {
  await page.getByLabel('System prompt').fill('You are the editor of a small-town paper.')
  await page.getByLabel('Your message').fill(QUESTION)
  await page.getByLabel('Your message').press('Enter')
  await page.getByRole('article', { name: 'Answer 1' }).getByText('Cost').waitFor()
}

/** Wherever the machine is, its readers are in one place. */
export function openFor(browser: Browser, { theme, isPhone }: Picture, baseURL: string): Promise<BrowserContext> {
  return browser.newContext({
    baseURL,
    viewport: isPhone ? PHONE : WIDE,
    colorScheme: theme ?? 'light',
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
}

const PATIENCE_MS = 120_000
const CALM_MS = 200

/** A machine that does other things as well may think for long before it asks for the next thing. */
async function rest(page: Page): Promise<void> {
  const state = () => page.evaluate<string>(STATE)
  for (let before = '', calm = 0; calm < 3;) {
    await page.waitForLoadState('networkidle')
    await page.waitForTimeout(CALM_MS)
    const now = await state()
    calm = now !== 'loading' && now === before ? calm + 1 : 0
    before = now
  }
}

/** Runs in the page: what is seen of it, as far as it changes while it is loaded. */
const STATE = `document.querySelector('main .skeleton, [aria-busy=true]')
  ? 'loading' : location.href + document.querySelectorAll('*').length + document.body.innerText`

export interface Shown {
  image: Buffer
  /** The page in words. */
  words: string[]
}

export async function shoot(page: Page, picture: Picture, path: string): Promise<Shown> {
  // Only what is seen in the end counts: how long that takes is for other tests.
  page.setDefaultTimeout(PATIENCE_MS)
  await page.goto(path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await rest(page)
  await picture.pose?.(page)
  await rest(page)
  const words = (await page.locator('body').ariaSnapshot()).split('\n')
  return { image: await page.screenshot({ animations: 'disabled' }), words }
}
