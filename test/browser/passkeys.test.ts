import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { CDPSession, Page } from 'playwright-core'
import { createBrowserWorld, PHONE, type BrowserWorld } from './support/browser-world.ts'

let world: BrowserWorld
before(async () => {
  world = await createBrowserWorld()
})
after(() => world.close())

interface VirtualDevice {
  /** Whether whoever uses it is who it belongs to, and present. */
  setUser(isVerified: boolean, isPresent?: boolean): Promise<void>
}

/** A device with a fingerprint reader, as Chromium's developer tools make one. */
async function plugIn(page: Page): Promise<VirtualDevice> {
  const tools: CDPSession = await page.context().newCDPSession(page)
  await tools.send('WebAuthn.enable')
  const { authenticatorId } = await tools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    async setUser(isVerified, isPresent = true) {
      await tools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: isVerified })
      await tools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: isPresent })
    },
  }
}

async function addPasskey(page: Page, name: string): Promise<void> {
  await page.goto('/account')
  await page.getByRole('button', { name: 'Add passkey' }).click()
  await page.getByRole('textbox', { name: 'Name' }).last().fill(name)
  await page.getByRole('dialog').getByRole('button', { name: 'Add passkey' }).click()
  await page.getByText(`${name} can sign you in from now on.`).waitFor()
}

test('somebody adds a passkey, signs in with it without typing anything, renames and removes it', async () => {
  const { page, context } = await world.signedUp()
  const device = await plugIn(page)
  await page.goto('/account')
  await page.getByText('None yet.').waitFor()
  await page.getByRole('button', { name: 'Add passkey' }).click()
  await page.getByRole('dialog', { name: 'Add a passkey' }).waitFor()
  await world.check(page)
  await addPasskey(page, 'My laptop')
  await page.getByText('My laptop', { exact: true }).waitFor()
  await world.check(page)
  await page.getByRole('button', { name: 'Add passkey' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Add passkey' }).click()
  await page.getByText('This device has a passkey for your account already.').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()

  await device.setUser(true, false)
  await context.clearCookies()
  await page.goto('/sign-in')
  await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
  await world.check(page)
  await device.setUser(true)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()

  await page.goto('/account')
  await page.getByText('Last used').waitFor()
  await page.getByRole('button', { name: 'Actions for My laptop' }).click()
  await page.getByRole('menuitem', { name: 'Rename…' }).click()
  await page.getByRole('textbox', { name: 'Name' }).last().fill('Old laptop')
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await page.getByRole('button', { name: 'Actions for Old laptop' }).click()
  await page.getByRole('menuitem', { name: 'Remove…' }).click()
  await page.getByRole('button', { name: 'Remove passkey' }).click()
  await page.getByText('Old laptop is removed.').waitFor()
  await page.getByText('None yet.').waitFor()
  await context.close()
})

test('the sign-in page offers a passkey by itself, where the browser fills in addresses', async () => {
  const { page, context } = await world.signedUp()
  await plugIn(page)
  await addPasskey(page, 'My laptop')
  await context.clearCookies()
  // The virtual device answers what a person would choose in the browser's own list.
  await page.goto('/sign-in')
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  await context.close()
})

test('a device that does not recognise its user signs nobody in', async () => {
  const { page, context } = await world.signedUp()
  const device = await plugIn(page)
  await addPasskey(page, 'My laptop')
  await device.setUser(false)
  await context.clearCookies()
  await page.goto('/sign-in')
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByText('No passkey was used. Try again when you are ready.').waitFor()
  assert.equal(new URL(page.url()).pathname, '/sign-in')
  await context.close()
})

test('a passkey answers the question whether it is you, also on a phone', async () => {
  const { page, context, person } = await world.signedUp({ viewport: PHONE })
  await plugIn(page)
  await addPasskey(page, 'My phone')
  await sql`update sessions set proven_at = now() - interval '11 minutes'`.execute(world.store.db)
  await page.goto(`/publishers/${person.publisherId}/team`)
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByLabel('Email').fill('guest@example.com')
  await page.getByRole('button', { name: 'Send invitation' }).click()
  await page.getByRole('dialog', { name: 'Confirm it’s you' }).waitFor()
  await world.check(page)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByText('The invitation to guest@example.com is on its way.').waitFor()
  await context.close()
})
