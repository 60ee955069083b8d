import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { newPerson, newProject, PASSWORD } from '../support/console.ts'
import { freePort } from '../support/free-port.ts'
import { credit, until } from '../support/world.ts'
import { createBrowserWorld, type BrowserWorld } from './support/browser-world.ts'

/** More than any page has on the way to its content. */
const TABS_MAX = 60

let world: BrowserWorld
before(async () => {
  // The playground asks the gateway at its public address.
  const port = String(await freePort())
  world = await createBrowserWorld({ env: { PARLEY_PORT: port, PARLEY_PUBLIC_URL: `http://127.0.0.1:${port}` } })
})
after(() => world.close())

const isFocused = (target: Locator) => target.evaluate((element) => element === element.ownerDocument.activeElement)

/** Presses Tab until the target has the focus, as somebody without a mouse does. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let n = 0; n < TABS_MAX; n++) {
    if (await isFocused(target)) return
    await page.keyboard.press('Tab')
  }
  assert.fail(`${String(target)} is not reached by Tab`)
}

async function press(page: Page, target: Locator, key = 'Enter'): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.press(key)
}

test('with the keyboard alone somebody signs in, makes a key pair, stops an answer, and deletes the pair by typing its name', async () => {
  const { email, ...person } = await newPerson(world)
  const project = await newProject({ email, ...person }, 'Recipes', 'recipes.example.com')
  await setDomainVerified(world.store.db, project, new Date())
  await credit(world.store, project, 10_000_000_000n)
  const { page, context } = await world.visit()
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const link = (name: string) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name })

  await page.goto('/sign-in')
  await tabTo(page, page.getByRole('textbox', { name: 'Email' }))
  await page.keyboard.type(email)
  await tabTo(page, page.getByRole('textbox', { name: 'Password' }))
  await page.keyboard.type(PASSWORD)
  await page.keyboard.press('Enter')

  await press(page, link('API keys'))
  await page.getByText('No key pairs yet').waitFor()
  await press(page, button('New key pair').first())
  const dialog = page.getByRole('dialog')
  await tabTo(page, dialog.getByRole('textbox', { name: 'Name' }))
  await page.keyboard.type('Old laptop')
  await page.keyboard.press('Enter')
  await press(page, button('Copy secret key'))
  assert.match(await page.evaluate<string>('navigator.clipboard.readText()'), /^ply_sk_/)
  await press(page, dialog.getByRole('checkbox', { name: 'I stored it' }), 'Space')
  await press(page, button('Done'))
  await dialog.waitFor({ state: 'hidden' })

  await press(page, link('Playground'))
  await tabTo(page, page.getByRole('textbox', { name: 'Your message' }))
  await page.keyboard.type('Hello [[sim tokens=2000 gap=50]]')
  await page.keyboard.press('Enter')
  await page.getByRole('article', { name: 'Answer 1' }).locator('[data-answer]').waitFor()
  await page.keyboard.press('Escape')
  await until(() => world.simulator.openCalls() === 0)
  await page.getByText('Stopped. You were charged for what the model had read and written by then.').waitFor()

  await press(page, link('API keys'))
  await press(page, button('Actions for Old laptop'))
  const remove = page.getByRole('menuitem', { name: 'Delete…' })
  await remove.waitFor()
  while (!(await isFocused(remove))) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await tabTo(page, page.getByRole('textbox', { name: 'Type Old laptop to confirm' }))
  await page.keyboard.type('Old laptop')
  await press(page, button('Delete key pair'))
  await page.getByText('No key pairs yet').waitFor()
  await context.close()
})
