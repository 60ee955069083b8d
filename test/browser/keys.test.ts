import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { credit } from '../support/world.ts'
import {
  createBrowserWorld,
  PHONE,
  type BrowserWorld,
  type SignedUp,
  type VisitOptions,
} from './support/browser-world.ts'

let world: BrowserWorld

before(async () => {
  world = await createBrowserWorld()
})
after(() => world.close())

async function developer(options?: VisitOptions): Promise<SignedUp> {
  const signedUp = await world.signedUp(options)
  await setDomainVerified(world.store.db, signedUp.project.id, new Date())
  await credit(world.store, signedUp.project.id, 10_000_000_000n)
  return signedUp
}

const clipboard = (page: Page) => page.evaluate<string>('navigator.clipboard.readText()')

async function choose(page: Page, name: string, item: string): Promise<void> {
  await page
    .getByRole('button', { name: `Actions for ${name}` })
    .first()
    .click()
  await page.getByRole('menuitem', { name: item }).click()
}

test('before the domain is verified there is no pair to be made, and the page leads to where that is done', async () => {
  const { page, project } = await world.signedUp()
  await page.goto(`/projects/${project.id}/keys`)
  await page.getByText('You can create key pairs once').waitFor()
  assert.ok(await page.getByRole('button', { name: 'New key pair' }).isDisabled())
  await world.check(page)
  await page.getByRole('link', { name: 'Verify the domain' }).click()
  await page.waitForURL(/\/domain$/)
})

test('a developer makes a pair by the keyboard alone, sees the secret once, and the copied curl streams an answer', async () => {
  const { page, project } = await developer()
  await page.goto(`/projects/${project.id}/keys`)
  await page.getByText('No key pairs yet').waitFor()
  await world.check(page)
  await page.getByRole('button', { name: 'New key pair' }).first().focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'New key pair' }).getByLabel('Name').focus()
  await page.keyboard.type('Web server')
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Your new key pair: Web server' })
  await dialog.waitFor()
  await world.check(page)

  const secretField = dialog.getByLabel('secret key', { exact: true })
  const isMasked = async () => /^ply_sk_•+$/.test(String(await secretField.textContent()))
  assert.ok(await isMasked())
  assert.ok(!(await page.content()).match(/ply_sk_[0-9A-Za-z]{10}/))
  await dialog.getByRole('button', { name: 'Copy secret key' }).click()
  const secret = await clipboard(page)
  assert.match(secret, /^ply_sk_00[0-9A-Za-z]{49}$/)
  await dialog.getByRole('button', { name: 'Reveal' }).click()
  assert.equal(await secretField.textContent(), secret)

  const downloading = page.waitForEvent('download')
  await dialog.getByRole('button', { name: 'Download .env' }).click()
  const env = await readFile(await (await downloading).path(), 'utf8')
  assert.match(
    env,
    new RegExp(`^PARLEY_BASE_URL=http.*/v1\nPARLEY_PUBLISHABLE_KEY=ply_pk_.*\nPARLEY_SECRET_KEY=${secret}\n$`),
  )

  await dialog.getByRole('button', { name: /^Copy Try it/ }).click()
  const curl = await clipboard(page)
  assert.match(curl, /^curl -sSN http:\/\/127\.0\.0\.1:8080\/v1\/chat\/completions/)
  // The gateway of the test listens elsewhere than its public address says.
  const { stdout } = await promisify(execFile)('bash', ['-c', curl.replace('http://127.0.0.1:8080', world.url)])
  assert.match(stdout, /^data: \{[^]*data: \[DONE\]\s*$/)

  await page.keyboard.press('Escape')
  await dialog.getByText('Closing is final').waitFor()
  const done = dialog.getByRole('button', { name: 'Done' })
  assert.ok(await done.isDisabled())
  await dialog.getByRole('checkbox', { name: 'I stored it' }).focus()
  await page.keyboard.press('Space')
  await done.press('Enter')
  await dialog.waitFor({ state: 'hidden' })
  await page
    .getByRole('cell', { name: /Web server/ })
    .first()
    .waitFor()
  assert.ok(!(await page.content()).includes(secret))
  await page.reload()
  await page.getByText(`ply_sk_00…${secret.slice(-4)}`).waitFor()
  assert.ok(!(await page.content()).includes(secret))
  await world.check(page)
})

test('a rolled pair stands under the new one with its countdown, and can be ended at once', async () => {
  const { page, person, project } = await developer()
  await person.send(`POST /api/projects/${project.id}/keys`, { body: { name: 'Importer' } })
  await page.goto(`/projects/${project.id}/keys`)
  await choose(page, 'Importer', 'Roll…')
  const roll = page.getByRole('dialog', { name: 'Roll Importer' })
  assert.deepEqual(await roll.getByLabel('The old pair works').getByRole('option').allTextContents(), [
    'Not at all: end it now',
    '1 hour',
    '24 hours',
    '7 days',
  ])
  assert.equal(await roll.getByLabel('The old pair works').inputValue(), '86400')
  await world.check(page)
  await roll.getByRole('button', { name: 'Roll key pair' }).click()
  const once = page.getByRole('dialog', { name: 'Your new key pair: Importer' })
  await once.getByText('The old pair ends').waitFor()
  await once.getByRole('checkbox', { name: 'I stored it' }).click()
  await once.getByRole('button', { name: 'Done' }).click()
  const old = page.getByRole('row', { name: /old pair/ })
  await old.getByText(/ends in 2[34] h/).waitFor()
  await page.reload()
  await old.waitFor()
  await world.check(page)
  await old.getByRole('button', { name: 'End now: the old pair of Importer' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'End now' }).click()
  await old.getByText('Ended', { exact: true }).waitFor()
})

test('on a phone a pair is deactivated, activated, and deleted by typing its name', async () => {
  const { page, person, project } = await developer({ viewport: PHONE })
  await person.send(`POST /api/projects/${project.id}/keys`, { body: { name: 'Old laptop' } })
  await page.goto(`/projects/${project.id}/keys`)
  await page.getByText('Old laptop').first().waitFor()
  assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= PHONE.width)
  await world.check(page)
  await choose(page, 'Old laptop', 'Deactivate…')
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
  await page.getByText('Inactive', { exact: true }).waitFor()
  await choose(page, 'Old laptop', 'Activate')
  await page.getByText('Active', { exact: true }).waitFor()
  await choose(page, 'Old laptop', 'Delete…')
  const dialog = page.getByRole('dialog', { name: 'Delete Old laptop?' })
  const confirm = dialog.getByRole('button', { name: 'Delete key pair' })
  assert.ok(await confirm.isDisabled())
  await dialog.getByLabel('Type Old laptop to confirm').fill('Old laptop')
  await confirm.click()
  await page.getByText('No key pairs yet').waitFor()
})

test('who may only look sees the pairs and no way to change them', async () => {
  const { page, person, project } = await developer()
  await person.send(`POST /api/projects/${project.id}/keys`, { body: { name: 'Web' } })
  await world.store.db
    .updateTable('memberships')
    .set({ role: 'viewer' })
    .where('publisher_id', '=', person.publisherId)
    .execute()
  await page.goto(`/projects/${project.id}/keys`)
  await page.getByRole('cell', { name: /Web/ }).first().waitFor()
  assert.equal(await page.getByRole('button', { name: /New key pair|Actions for/ }).count(), 0)
})
