import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createDnsServer, type DnsServer } from '../support/dns-server.ts'
import { createBrowserWorld, PHONE, type BrowserWorld } from './support/browser-world.ts'

const texts = new Map<string, string[]>()
let dns: DnsServer
let world: BrowserWorld

before(async () => {
  dns = await createDnsServer(({ name, type }) => {
    const records = type === 'TXT' ? texts.get(name) : undefined
    return records && { records }
  })
  world = await createBrowserWorld({ env: { PARLEY_DNS_SERVERS: dns.address } })
})
after(async () => {
  await world.close()
  await dns.close()
})

test('a developer copies the record, sees what is wrong, mends it, and sees the domain verified', async () => {
  const { page, project } = await world.signedUp()
  await page.goto(`/projects/${project.id}/domain`)
  const record = page.getByLabel('record value', { exact: true })
  await record.waitFor()
  await page.getByText('Not verified yet', { exact: true }).waitFor()
  await world.check(page)
  await page.getByRole('button', { name: 'Copy record value' }).click()
  const value = await page.evaluate<string>('navigator.clipboard.readText()')
  assert.match(value, /^parley-verify=[0-9a-f]{32}$/)
  assert.equal(value, await record.textContent())
  assert.equal(
    await page.getByLabel('record name', { exact: true }).textContent(),
    '_parley-verify.recipes.example.com',
  )

  texts.set('_parley-verify.recipes.example.com', ['parley-verify=mistyped'])
  const check = page.getByRole('button', { name: 'Check now' })
  await check.click()
  await page.getByText('none has the right value').waitFor()
  await page.getByText('parley-verify=mistyped').waitFor()

  texts.set('_parley-verify.recipes.example.com', [value])
  await check.click()
  await page.getByText('Verified', { exact: true }).first().waitFor()
  await page.getByText('Parley looks again every day').waitFor()
  await page.reload()
  await page.getByText('The record is there, with the right value.').waitFor()
  await world.check(page)
})

test('the page turns green by itself when a check of the worker finds the record', async () => {
  const { page, person, project } = await world.signedUp()
  await person.send(`PATCH /api/projects/${project.id}/domain`, { body: { name: 'waiting.example.com' } })
  await page.goto(`/projects/${project.id}/domain`)
  const value = await page.getByLabel('record value', { exact: true }).textContent()
  texts.set('_parley-verify.waiting.example.com', [String(value)])
  await world.store.db
    .updateTable('domains')
    .set({ next_check_at: new Date() })
    .where('project_id', '=', project.id)
    .execute()
  await page.getByText('Parley looks again every day').waitFor({ timeout: 40_000 })
})

test('another domain is given by the keyboard alone, in any script, and has to be proven anew', async () => {
  const { page, project } = await world.signedUp()
  await page.goto(`/projects/${project.id}/domain`)
  const open = page.getByRole('button', { name: 'Change domain' })
  await open.focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Change the domain' })
  await dialog.waitFor()
  await dialog.getByLabel('New domain').focus()
  await page.keyboard.type('localhost')
  await page.keyboard.press('Enter')
  await dialog.getByText('Enter a domain that you own').waitFor()
  await world.check(page)
  await page.keyboard.press('Control+A')
  await page.keyboard.type('küche.example')
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'hidden' })
  await page.getByRole('heading', { name: 'küche.example' }).waitFor()
  await page.getByText('xn--kche-0ra.example in the DNS').waitFor()
})

test('on a phone nothing is wider than the screen', async () => {
  const { page, project } = await world.signedUp({ viewport: PHONE })
  await page.goto(`/projects/${project.id}/domain`)
  await page.getByLabel('record value', { exact: true }).waitFor()
  assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= PHONE.width)
  await world.check(page)
})
