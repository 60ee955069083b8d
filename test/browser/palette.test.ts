import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { newProject } from '../support/console.ts'
import { createBrowserWorld, PHONE, waitForFocus, type BrowserWorld } from './support/browser-world.ts'

let world: BrowserWorld
before(async () => {
  world = await createBrowserWorld()
})
after(() => world.close())

const field = (page: Page) => page.getByRole('combobox', { name: 'Search pages, projects and actions' })
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })
const focused = (page: Page) =>
  page.evaluate<string>('document.activeElement.ariaLabel ?? document.activeElement.id ?? ""')
const isThere = (page: Page) => page.getByRole('dialog').isVisible()

async function run(page: Page, typed: string): Promise<void> {
  await page.keyboard.press('Control+k')
  await field(page).waitFor()
  await page.keyboard.type(typed)
  await page.keyboard.press('Enter')
}

test('with the keyboard alone the palette leads to pages, projects and dialogs, and tells screen readers of the choice', async () => {
  const { page, context, project, person } = await world.signedUp()
  const other = await newProject(person, 'Sports', 'sports.example.com')
  await setDomainVerified(world.store.db, project.id, new Date())
  const scripts: string[] = []
  page.on('request', (request) => request.resourceType() === 'script' && scripts.push(request.url()))
  await page.goto(`/projects/${project.id}/quick-start`, { waitUntil: 'networkidle' })
  assert.deepEqual(
    scripts.filter((each) => /palette|keyboard-help/.test(each)),
    [],
    'its code comes when it is asked for',
  )

  await page.keyboard.press('Control+k')
  await field(page).waitFor()
  assert.ok(scripts.some((each) => /palette/.test(each)))
  await page.getByRole('option', { name: 'Home' }).waitFor()
  await world.check(page)
  await page.keyboard.type('wlt')
  const chosen = page.getByRole('option', { selected: true })
  assert.equal(await chosen.textContent(), 'Wallet')
  assert.equal(await field(page).getAttribute('aria-activedescendant'), await chosen.getAttribute('id'))
  assert.equal(await page.getByRole('option').count(), 1)
  await page.getByRole('dialog').getByRole('status').getByText('1 result').waitFor()
  await world.check(page)
  await page.keyboard.press('Enter')
  await heading(page, 'Wallet').waitFor()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  assert.equal(await focused(page), 'main', 'the new page begins at its top')

  await run(page, 'new key')
  await page.getByRole('dialog', { name: 'New key pair' }).waitFor()
  assert.match(page.url(), new RegExp(`/projects/${project.id}/keys\\?open=new-key-pair$`))
  await page.keyboard.type('Web server')
  assert.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), 'Web server', 'its field has the focus')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  assert.match(page.url(), /\/keys$/)
  await run(page, 'new key')
  await page.getByRole('dialog', { name: 'New key pair' }).waitFor()
  await page.waitForFunction('document.activeElement.tagName === "INPUT"')
  await page.keyboard.type('Once more')
  assert.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), 'Once more', 'also from the same page')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })

  await page.keyboard.press('Control+k')
  await field(page).waitFor()
  await page.keyboard.press('ArrowUp')
  assert.match((await chosen.textContent()) ?? '', /^Sports/, 'from the first choice, up leads to the last')
  await page.keyboard.press('ArrowDown')
  assert.equal(await chosen.textContent(), 'Home')
  await page.keyboard.type('sports')
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/projects/${other}/keys`)

  await run(page, 'invite')
  await page.getByRole('dialog', { name: 'Invite to the team' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await run(page, 'dark')
  await page.waitForFunction('document.documentElement.dataset.theme === "dark"')
  await run(page, 'sign out')
  await heading(page, 'Sign in').waitFor()
  await page.keyboard.press('Control+k')
  await page.locator('h1').click()
  await page.keyboard.press('Control+k')
  await page.keyboard.press('?')
  assert.equal(await isThere(page), false, 'there is nothing to go to before the sign-in')
  await context.close()
})

test('/ leads to the search or first filter, ? lists the shortcuts, and no key does anything to who types', async () => {
  const { page, context, project } = await world.signedUp()
  await page.goto(`/projects/${project.id}/conversations`)
  await page.getByText('No conversations yet').waitFor()
  await page.keyboard.press('/')
  const search = page.getByRole('searchbox').first()
  await waitForFocus(search)
  for (const key of ['/', '?', 'Control+k']) await page.keyboard.press(key)
  assert.equal(await search.inputValue(), '/?')
  assert.equal(await isThere(page), false)

  await page.goto(`/projects/${project.id}/usage`)
  await heading(page, 'Usage').waitFor()
  await page.keyboard.press('/')
  assert.match(await page.evaluate<string>('document.activeElement.tagName'), /SELECT|INPUT/)
  await page.locator('h1').click()
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await help.waitFor()
  await world.check(page)
  await page.keyboard.press('Control+k')
  assert.equal(await field(page).count(), 0, 'nothing opens over a dialog')
  await help.getByRole('switch', { name: /Single-key shortcuts/ }).click()
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'hidden' })
  await page.keyboard.press('?')
  await run(page, 'shortcuts')
  await help.waitFor()
  await help.getByRole('switch', { name: /Single-key shortcuts/ }).click()
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'hidden' })
  await page.keyboard.press('?')
  await help.waitFor()
  await context.close()
})

test('on a phone the palette is behind the search button, fits, and says when nothing matches', async () => {
  const { page, context, project } = await world.signedUp({ viewport: PHONE, colorScheme: 'dark' })
  await page.goto(`/projects/${project.id}/quick-start`)
  await page.getByRole('button', { name: 'Search the console' }).click()
  await field(page).fill('nothing of this name')
  await page.getByText('Nothing matches “nothing of this name”.').waitFor()
  await world.check(page, { themes: ['dark'] })
  await field(page).fill('limi')
  await world.check(page, { themes: ['dark'] })
  const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  assert.ok(excess <= 0, `${excess} px too wide`)
  await page.getByRole('option', { name: 'Limits' }).click()
  await heading(page, 'Limits').waitFor()
  await page.getByRole('button', { name: 'Search the console' }).click()
  await field(page).waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await context.close()
})
