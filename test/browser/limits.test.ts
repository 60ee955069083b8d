import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { run } from '../support/commands.ts'
import { freePort } from '../support/free-port.ts'
import { credit, until } from '../support/world.ts'
import { createBrowserWorld, faultsOf, type BrowserWorld } from './support/browser-world.ts'

let world: BrowserWorld
before(async () => {
  // The command that the console prints names the gateway's public address, and is run as it is printed.
  const port = String(await freePort())
  world = await createBrowserWorld({ env: { PARLEY_PORT: port, PARLEY_PUBLIC_URL: `http://127.0.0.1:${port}` } })
})
after(() => world.close())

test('a publisher sets budgets of a key pair and of every end user, uses them up with the printed command, and raises them', async () => {
  const { page, context, project } = await world.signedUp()
  await setDomainVerified(world.store.db, project.id, new Date())
  await credit(world.store, project.id, 10_000_000_000n)
  const path = `/projects/${project.id}`

  await page.goto(`${path}/end-users`)
  await page.getByRole('heading', { name: 'No end users yet' }).waitFor()
  assert.match(String(await page.getByRole('figure').textContent()), /-H 'x-end-user-id: customer-17'/)
  const curl = await createKeyPair(page, path)
  const forGrace = curl.replace(' -d ', ` -H 'x-end-user-id: customer-17' -H 'x-end-user-label: Grace' -d `)
  assert.notEqual(forGrace, curl)

  // From the keys to the limits of one: what was spent before counts, and a budget of just that is used up.
  await page.getByRole('button', { name: 'Actions for Web server' }).click()
  await page.getByRole('menuitem', { name: 'Limits…' }).click()
  await saveBudget(page, 'Web server', 'Monthly budget', '5')
  const table = page.getByRole('table', { name: 'Limits of key pairs' })
  assert.match(await answerTo(curl), /data: \[DONE\]\s*$/)
  await page.reload()
  const spent = Number(await table.locator('data').first().getAttribute('value'))
  assert.ok(spent > 0)
  await page.getByRole('button', { name: 'Edit the limits of Web server' }).click()
  await saveBudget(page, 'Web server', 'Monthly budget', (spent / 1e9).toFixed(9))
  const refused = JSON.parse(await answerTo(curl))
  assert.equal(refused.statusCode, 403)
  assert.match(
    refused.message,
    /^The monthly budget of this key pair is used up\. It resets on 1 \w+ \d{4} at 00:00 UTC\. Raise it under Limits in the console to continue before then\.$/,
  )
  await table.getByText('Used up.').waitFor()
  assert.equal(await table.getByRole('meter').getAttribute('aria-valuenow'), '100')
  await page.getByRole('button', { name: 'Edit the limits of Web server' }).click()
  await saveBudget(page, 'Web server', 'Monthly budget', '5')
  assert.match(await answerTo(curl), /data: \[DONE\]\s*$/)

  // A day of one end user that is smaller than a second call.
  await page.getByRole('button', { name: 'Edit the limits of every end user' }).click()
  await saveBudget(page, 'every end user', 'Daily budget', 'a lot', 'Enter an amount like 25 or 12.50.')
  await saveBudget(page, 'every end user', 'Daily budget', '0.00002')
  let answer = ''
  await until(async () => {
    answer = await answerTo(forGrace)
    return answer.includes('"statusCode":403')
  })
  assert.match(JSON.parse(answer).message, /^The daily budget of this end user is used up\./)
  assert.match(await answerTo(curl), /data: \[DONE\]\s*$/, 'a call for nobody has no such budget')

  // The gateway writes down whom it has seen every few seconds.
  const seen = world.store.db.selectFrom('end_users').select('last_seen_at').where('project_id', '=', project.id)
  const isSeenSince = async (at: Date) => (await seen.execute()).some(({ last_seen_at }) => last_seen_at >= at)
  await until(() => isSeenSince(new Date(0)))
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'End users', exact: true }).click()
  const users = page.getByRole('table', { name: 'End users' })
  await users.getByText('Grace').waitFor()
  assert.ok(Number(await users.getByRole('meter').getAttribute('aria-valuenow')) >= 80, 'too little for another call')
  await page.getByRole('button', { name: 'Actions for Grace' }).click()
  await page.getByRole('menuitem', { name: 'Limits…' }).click()
  await saveBudget(page, 'Grace', 'Daily budget', '2')
  await users.getByText('Own limits').waitFor()
  const lastCallAt = new Date()
  assert.match(await answerTo(forGrace), /data: \[DONE\]\s*$/)
  await world.check(page)

  // By the publisher's own id, which is stored nowhere.
  await page.getByRole('searchbox').fill('customer-17')
  await page.getByRole('button', { name: 'Find' }).click()
  const found = page.getByRole('table', { name: 'End users found' })
  await found.getByText('Grace').waitFor()
  assert.ok(!page.url().includes('customer-17'))
  // A call of the last seconds that is written down after the erasure would list her again.
  await until(() => isSeenSince(lastCallAt))
  await page.getByRole('button', { name: 'Actions for Grace' }).click()
  await page.getByRole('menuitem', { name: 'Erase…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Erase end user' }).click()
  await page.getByRole('heading', { name: 'No one found' }).waitFor()
  assert.deepEqual(await faultsOf(page), [])
  await context.close()
})

test('who may only look sees no way to change a limit, and nothing of the account', async () => {
  const { page, context, person, project } = await world.signedUp()
  await world.store.db
    .updateTable('memberships')
    .set({ role: 'viewer' })
    .where('publisher_id', '=', person.publisherId)
    .execute()
  await page.goto(`/projects/${project.id}/limits`)
  await page.getByRole('heading', { name: 'This project' }).waitFor()
  assert.equal(await page.getByRole('button', { name: /^Edit/ }).count(), 0)
  assert.equal(await page.getByRole('heading', { name: 'The account' }).count(), 0)
  await context.close()
})

/** Returns the command that is shown once. */
async function createKeyPair(page: Page, path: string): Promise<string> {
  await page.goto(`${path}/keys`)
  await page.getByRole('button', { name: 'New key pair' }).first().click()
  await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Web server')
  await page.getByRole('button', { name: 'Create key pair' }).click()
  const dialog = page.getByRole('dialog', { name: 'Your new key pair: Web server' })
  await dialog.getByRole('button', { name: 'Reveal' }).click()
  const curl = String(await dialog.getByRole('figure').locator('code').textContent())
  await dialog.getByRole('checkbox', { name: 'I stored it' }).click()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await dialog.waitFor({ state: 'hidden' })
  return curl
}

async function saveBudget(page: Page, of: string, label: string, text: string, problem?: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: `Limits of ${of}` })
  await dialog.getByRole('textbox', { name: label }).fill(text)
  await dialog.getByRole('button', { name: 'Save limits' }).click()
  await (problem === undefined ? dialog.waitFor({ state: 'hidden' }) : dialog.getByText(problem).waitFor())
}

async function answerTo(curl: string): Promise<string> {
  const { stdout, stderr } = await run('bash', ['-c', curl])
  assert.equal(stderr, '')
  return stdout
}
