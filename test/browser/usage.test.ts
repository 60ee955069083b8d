import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedCalls } from '../../scripts/seed-calls.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { newPerson, type Person } from '../support/console.ts'
import { addSettledCall } from '../support/ledger.ts'
import { addKeyPair, until } from '../support/world.ts'
import { createBrowserWorld, PHONE, type BrowserWorld } from './support/browser-world.ts'

let world: BrowserWorld
let person: Person
let project: string

before(async () => {
  world = await createBrowserWorld()
  person = await newPerson(world)
  const { projectIds } = await seedCalls(world.env.DATABASE_URL ?? '', {
    calls: 5_000,
    days: 40,
    publisherId: person.publisherId,
  })
  project = String(projectIds[0])
})
after(() => world.close())

test('usage shows a chart, and behind it the same numbers as the CSV', async () => {
  const { page, context } = await world.visitAs(person)
  await page.goto(`/projects/${project}/usage?range=7d`)
  await page.getByRole('figure', { name: /Calls by model, per day/ }).waitFor()
  await page.locator('.recharts-bar-rectangle').first().waitFor()
  await page.getByRole('button', { name: 'Show' }).click()
  const rows = page.getByRole('table', { name: 'Usage in numbers' }).locator('tbody tr')
  const shown = await rows.evaluateAll((all) =>
    all.map((row) => [...row.querySelectorAll('data')].map((cell) => cell.value)),
  )
  const href = await page.getByRole('link', { name: 'CSV' }).getAttribute('href')
  const csv = (await person.send(`GET ${href}`)).text.trim().split('\r\n').slice(1)
  const written = csv.map((line) => line.split(',').slice(3, -1))
  assert.ok(shown.length > 5)
  const sorted = (all: string[][]) => all.map((cells) => cells.join()).toSorted()
  assert.deepEqual(sorted(shown.map((cells) => cells.slice(0, -1))), sorted(written))
  await world.check(page)
  await context.close()
})

test('what is grouped, shown and when is in the address and survives a reload', async () => {
  const { page, context } = await world.visitAs(person)
  await page.goto(`/projects/${project}/usage`)
  await page.getByLabel('Group by').selectOption('key')
  await page.getByLabel('Show', { exact: true }).selectOption('spend')
  await page.getByLabel('Time range').selectOption('7d')
  await page.getByRole('heading', { name: 'Spend by key' }).waitFor()
  assert.match(page.url(), /by=key/)
  await page.reload()
  await page.getByRole('heading', { name: 'Spend by key' }).waitFor()
  await page.getByRole('cell', { name: 'website' }).first().waitFor()
  assert.equal(await page.getByLabel('Time range').inputValue(), '7d')
  await context.close()
})

test('costs explain the whole charge and say how long the credit lasts', async () => {
  const { page, context } = await world.visitAs(person)
  await page.goto(`/projects/${project}/costs`)
  await page.getByText(/^Exactly:/).waitFor()
  await page.getByText('Credit lasts', { exact: true }).waitFor()
  await page.getByRole('table', { name: 'Prices' }).waitFor()
  await page.locator('.recharts-bar-rectangle').first().waitFor()
  await world.check(page)
  await context.close()
})

test('a call is found by its request id, and its page says what happened without naming a provider', async () => {
  const { page, context } = await world.visitAs(person)
  const { body } = await person.send(`GET /api/projects/${project}/calls?outcome=failed`)
  const [call] = body.items
  await page.goto(`/projects/${project}/calls`)
  await page.getByRole('table', { name: 'Calls' }).locator('tbody tr a').first().waitFor()
  await world.check(page)
  await page.getByRole('searchbox', { name: 'Request or completion id' }).fill(call.requestId)
  await page.waitForURL(/id=/)
  const link = page.getByRole('table', { name: 'Calls' }).getByRole('link')
  await until(async () => (await link.count()) === 1)
  await link.press('Enter')
  await page.getByRole('heading', { name: 'Where the time went' }).waitFor()
  await page.getByText(call.title).first().waitFor()
  const text = await page.locator('main').innerText()
  assert.doesNotMatch(text, /deployment|"provider"/)
  await world.check(page)
  await context.close()
})

test('a call that is made while one looks appears by itself', async () => {
  const { page, context, project: fresh } = await world.signedUp()
  await page.goto(`/projects/${fresh.id}/calls`)
  await page.getByText('No calls yet').waitFor()
  await addKeyPair(world.store, world.secrets, fresh.id)
  const key = await world.store.db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', fresh.id)
    .executeTakeFirstOrThrow()
  await addSettledCall(world.store.db, { id: uuidv7(), projectId: fresh.id, keyPairId: key.id })
  await page.getByRole('cell', { name: 'sim-small' }).waitFor()
  await context.close()
})

test('all of it works on a phone', async () => {
  const { page, context } = await world.visitAs(person, { viewport: PHONE })
  for (const path of ['usage', 'costs', 'calls']) {
    await page.goto(`/projects/${project}/${path}`)
    await page.getByRole('table').first().waitFor()
    await page.waitForLoadState('networkidle')
    const width = await page.evaluate<number>('document.documentElement.scrollWidth')
    assert.ok(width <= PHONE.width, `${path} is ${width} px wide`)
  }
  await world.check(page)
  await context.close()
})
