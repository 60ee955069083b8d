import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { sql } from 'kysely'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { must, newPerson, PASSWORD } from '../support/console.ts'
import { oneTimeCode } from '../support/one-time-code.ts'
import {
  createBrowserWorld,
  PHONE,
  waitForFocus,
  type BrowserWorld,
  type SignedUp,
  type VisitOptions,
} from './support/browser-world.ts'

let world: BrowserWorld
before(async () => {
  world = await createBrowserWorld()
})
after(() => world.close())

/** Somebody who signed in a while ago. */
async function signedInBefore(how?: VisitOptions): Promise<SignedUp> {
  const visitor = await world.signedUp(how)
  await setDomainVerified(world.store.db, visitor.project.id, new Date())
  await grow()
  return visitor
}

async function grow(): Promise<void> {
  await sql`update sessions set proven_at = now() - interval '11 minutes'`.execute(world.store.db)
}

function proofDialog(page: Page) {
  return page.getByRole('dialog', { name: 'Confirm it’s you' })
}

async function askForKey(page: Page, projectId: string): Promise<void> {
  await page.goto(`/projects/${projectId}/keys`)
  await page.getByRole('button', { name: 'New key pair' }).first().click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Web server')
  await page.getByRole('button', { name: 'Create key pair' }).click()
  await proofDialog(page).waitFor()
}

for (const viewport of [undefined, PHONE])
  test(`whoever makes a key after a while is asked for the password, and goes on with what they typed${viewport ? ', on a phone' : ''}`, async () => {
    const { page, context, project } = await signedInBefore(viewport && { viewport })
    await askForKey(page, project.id)
    await world.check(page, { themes: ['light', 'dark'] })
    await page.getByLabel('Your password').fill('not the right one')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('alert').filter({ hasText: 'This is not your password.' }).waitFor()

    await proofDialog(page).getByRole('button', { name: 'Cancel' }).click()
    await proofDialog(page).waitFor({ state: 'hidden' })
    await page.getByText('Confirm that it is you: enter your password and try again.').waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), 'Web server')

    await page.getByRole('button', { name: 'Create key pair' }).click()
    const password = proofDialog(page).getByLabel('Your password')
    await waitForFocus(password)
    await password.fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByLabel('secret key', { exact: true }).waitFor()
    await page.getByRole('checkbox', { name: 'I stored it' }).click()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('Web server').first().waitFor()
    await context.close()
  })

test('with two-factor on, the dialog asks for the code, too; changes without a dialog of their own are asked for as well', async () => {
  const person = await newPerson(world)
  const guest = await newPerson(world)
  await sql`insert into memberships (publisher_id, user_id, role)
    select ${person.publisherId}, id, 'viewer' from users where email = ${guest.email}`.execute(world.store.db)
  const { uri } = (await must(person.send('POST /api/me/two-factor'))).body
  const secret = String(new URL(uri).searchParams.get('secret'))
  await must(person.send('POST /api/me/two-factor/confirm', { body: { code: oneTimeCode(secret, Date.now()) } }))
  await grow()

  const { page, context } = await world.visitAs(person)
  await page.goto(`/publishers/${person.publisherId}/team`)
  await page.getByRole('button', { name: `Actions for ${guest.name}` }).click()
  await page.getByRole('menuitem', { name: 'developer' }).click()
  await proofDialog(page).waitFor()
  await world.check(page)
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.getByLabel('Six digits from your app').fill(oneTimeCode(secret, Date.now() + 30_000))
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText(`${guest.name} is now developer.`).waitFor()
  await context.close()
})
