/** Takes the pictures in docs/images again: `npm run build && node test/browser/support/docs-images.ts`. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { freePort } from '../../support/free-port.ts'
import { globalSetup, globalTeardown } from '../../support/global-setup.ts'
import { createBrowserWorld, PHONE, type BrowserWorld } from './browser-world.ts'
import { furnish, type Furnished } from './furnish.ts'
import { ANSWER } from './talk.ts'

const FOLDER = join(import.meta.dirname, '../../../docs/images')
const QUESTION = 'Write three headlines for a story about a town that banned cars for a week.'

interface Picture {
  name: string
  path(made: Furnished): string
  theme?: 'dark'
  isPhone?: true
  /** What is done on the page first. */
  pose?(page: Page): Promise<void>
}

const PICTURES: Picture[] = [
  { name: 'home', path: inProject('') },
  { name: 'home-phone', path: inProject(''), theme: 'dark', isPhone: true },
  { name: 'calls-phone', path: inProject('/calls'), isPhone: true },
  { name: 'domain', path: inProject('/domain') },
  { name: 'new-keys', path: inProject('/keys'), pose: makeKeys },
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

async function makeKeys(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'New key pair' }).first().click()
  await page.getByRole('dialog').getByLabel('Name').fill('Web server')
  await page.getByRole('button', { name: 'Create key pair' }).click()
  await page.getByRole('button', { name: 'Download .env' }).waitFor()
}

async function ask(page: Page): Promise<void> {
  // The simulated model is told what to say behind the scenes: the picture shows what a reader would see.
  await page.route('**/playground', (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    const directive = `[[sim text=${encodeURIComponent(ANSWER)}]]`
    return route.continue({ postData: String(route.request().postData()).replace(QUESTION, `$& ${directive}`) })
  })
  await page.getByLabel('System prompt').fill('You are the editor of a small-town paper.')
  await page.getByLabel('Your message').fill(QUESTION)
  await page.getByLabel('Your message').press('Enter')
  await page.getByRole('article', { name: 'Answer 1' }).getByText('Cost').waitFor()
}

async function take(world: BrowserWorld, made: Furnished, picture: Picture): Promise<void> {
  const { page, context } = await world.visitAs(made.person, {
    colorScheme: picture.theme ?? 'light',
    ...(picture.isPhone && { viewport: PHONE }),
  })
  await page.goto(picture.path(made))
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForLoadState('networkidle')
  await picture.pose?.(page)
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  await page.screenshot({ path: join(FOLDER, `${picture.name}.png`) })
  await context.close()
}

await globalSetup()
// The playground asks the gateway at its public address.
const port = String(await freePort())
const world = await createBrowserWorld({
  env: { PARLEY_PORT: port, PARLEY_PUBLIC_URL: `http://127.0.0.1:${port}` },
})
try {
  await mkdir(FOLDER, { recursive: true })
  const made = await furnish(world)
  for (const picture of PICTURES) await take(world, made, picture)
} finally {
  await world.close()
  await globalTeardown()
}
