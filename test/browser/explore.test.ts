import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { Page } from 'playwright-core'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { newPerson, newProject, type Person } from '../support/console.ts'
import { addSettledCall } from '../support/ledger.ts'
import { addKeyPair, rollUp, until } from '../support/world.ts'
import { createBrowserWorld, type BrowserWorld } from './support/browser-world.ts'

const PHONE = { width: 390, height: 800 }
const LONG_DOMAIN = `${'a-very-long-name-of-a-site-'.repeat(2)}x.example.org`

let world: BrowserWorld
let person: Person
let project: string
let keyPairId: string

before(async () => {
  world = await createBrowserWorld()
  person = await newPerson(world)
  project = await newProject(person, 'Garden paper', LONG_DOMAIN)
  await addKeyPair(world.store, world.secrets, project)
  const pairs = await world.store.db.selectFrom('key_pairs').select('id').where('project_id', '=', project).execute()
  keyPairId = String(pairs[0]?.id)
  for (let n = 0; n < 21; n++) await add()
  await add({ outcome: 'upstream_failed', status: 502, errorCode: 'upstream_error' }, 0n)
  await rollUp(world.store)
})
after(() => world.close())

async function add(change: NonNullable<Parameters<typeof addSettledCall>[1]['change']> = {}, charge?: bigint) {
  const call = { id: uuidv7(), projectId: project, keyPairId, change: { firstTokenMs: 180, ...change } }
  await addSettledCall(world.store.db, { ...call, ...(charge !== undefined && { charge }) })
}

const at = (path: string) => `/projects/${project}${path}`
const rows = (page: Page) => page.getByRole('table', { name: 'Calls' }).locator('tbody tr:has(a)')

test('on a phone the composer of the playground is in view at once, and the header names the project', async () => {
  const { page, context } = await world.visitAs(person, { viewport: PHONE })
  await page.goto(at('/playground'))
  const send = page.getByRole('button', { name: 'Send' })
  await send.waitFor()
  await page.getByLabel('Model').waitFor()
  const box = await send.boundingBox()
  assert.ok(box && box.y > 0 && box.y + box.height <= PHONE.height, JSON.stringify(box))
  assert.equal(await page.evaluate('scrollY'), 0)
  assert.equal(await page.getByRole('banner').getByText('Garden paper').count(), 1)
  await context.close()
})

test('the whole navigation is seen at a height of 800 px, and at every height above', async () => {
  const { page, context } = await world.visitAs(person)
  await page.goto(at('/models'))
  const links = page.getByRole('navigation', { name: 'Main' }).getByRole('link')
  await links.first().waitFor()
  for (let height = 800; height <= 1_400; height += 50) {
    await page.setViewportSize({ width: 1_280, height })
    const bottoms = await links.evaluateAll((all) => all.map((link) => link.getBoundingClientRect().bottom))
    const account = await page.getByRole('complementary').locator('> div').last().boundingBox()
    assert.ok(account)
    const lowest = Math.max(...bottoms)
    assert.ok(bottoms.length > 15 && lowest <= account.y, `${lowest} of ${account.y} at ${height} px`)
  }
  await context.close()
})

test('code is drawn without ligatures', async () => {
  const { page, context } = await world.visitAs(person)
  await page.goto(at('/domain'))
  const code = page.getByLabel('file address', { exact: true })
  await code.waitFor()
  const drawn = await page.evaluate(`(() => {
    const { fontVariantLigatures, fontFeatureSettings } = getComputedStyle(document.querySelector('code[aria-label="file address"]'))
    return [fontVariantLigatures, fontFeatureSettings]
  })()`)
  // Named features win over the variant: those of the page must not be inherited.
  assert.deepEqual(drawn, ['none', 'normal'])
  await context.close()
})

test('nothing on the domain page sticks out of its card, however narrow the window and however long the name', async () => {
  const { page, context } = await world.visitAs(person)
  for (const width of [320, 390, 700, 1024]) {
    await page.setViewportSize({ width, height: 800 })
    await page.goto(at('/domain'))
    await page.getByRole('button', { name: 'Copy record value' }).waitFor()
    const excess = await page.locator('main section').evaluateAll((cards) =>
      cards.flatMap((card) => {
        const edge = card.getBoundingClientRect().right
        return [...card.querySelectorAll('button, code, p')].map((each) => each.getBoundingClientRect().right - edge)
      }),
    )
    assert.ok(excess.length > 5 && Math.max(...excess) <= 0, `${Math.max(...excess)} px at ${width} px`)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width)
  }
  await context.close()
})

test('one day with calls is a point in the chart of first tokens, and nothing is compared with nothing', async () => {
  const { page, context } = await world.visitAs(person)
  await page.goto(at('/usage?range=7d'))
  await page.locator('.recharts-line-dots circle').first().waitFor()
  assert.equal(await page.locator('.recharts-line-dots circle').count(), 2, 'p50 and p95')
  assert.equal(await page.getByText('vs before').count(), 0)
  assert.ok((await page.getByText('no calls before').count()) > 0)
  await context.close()
})

test('a figure leads to the calls that it was made of, and the filters that it brings can be taken away', async () => {
  const { page, context } = await world.visitAs(person)
  await page.goto(at('/usage?range=7d'))
  await page.getByRole('link', { name: /calls: The model failed$/ }).click()
  await page.waitForURL(/\/calls\?/)
  await rows(page).first().waitFor()
  assert.equal(await rows(page).count(), 1)
  assert.equal(await page.getByLabel('Outcome').inputValue(), 'upstream_failed')
  await page.getByRole('button', { name: /^Remove the filter: .* to / }).click()
  await page.waitForURL((url) => !url.searchParams.has('from'))
  await page.goto(at('/usage?range=7d'))
  await page.locator('.recharts-bar-rectangle path').first().click()
  await page.waitForURL(/model=sim-small/)
  // Asked from here: the page's own policy lets nobody evaluate text in it again and again.
  await until(async () => (await rows(page).count()) === 22)
  await page.goto(at(''))
  await page.getByRole('link', { name: /^Error rate in 7 days/ }).click()
  await page.waitForURL(/outcome=failed/)
  await rows(page).first().waitFor()
  assert.equal(await rows(page).count(), 1)
  await world.check(page)
  await context.close()
})

test('on a phone a call takes two lines, and a screen shows more than six of them', async () => {
  const { page, context } = await world.visitAs(person, { viewport: PHONE })
  await page.goto(at('/calls'))
  await rows(page).first().waitFor()
  const seen = await rows(page).evaluateAll((all) => all.filter((row) => row.getBoundingClientRect().bottom <= 800))
  assert.ok(seen.length >= 7, `${seen.length} calls`)
  const first = rows(page).nth(1)
  for (const text of ['sim-small', 'Completed', /^\$/, /^\d\d:\d\d:\d\d$/])
    assert.ok(await first.getByText(text).first().isVisible(), String(text))
  await page.getByRole('button', { name: 'Filters' }).click()
  await page.getByLabel('Outcome').selectOption('failed')
  await page.waitForURL(/outcome=failed/)
  await context.close()
})

test('models are searched, sorted, copied and tried', async () => {
  const { page, context } = await world.visitAs(person)
  await page.goto(at('/models'))
  const cards = page.getByRole('list', { name: 'Models' }).locator('> li')
  await cards.filter({ hasText: 'sim-small' }).getByText('First token p95').waitFor()
  await cards.filter({ hasText: 'sim-small' }).getByText('4.5%').waitFor()
  await page.getByRole('button', { name: 'Copy the id sim-small' }).click()
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'sim-small')
  await page.getByRole('searchbox', { name: 'Search models' }).fill('no-such-model')
  await page.getByText('No model matches this search').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.getByLabel('Sort').selectOption('output')
  await page.waitForURL(/sort=output/)
  await world.check(page)
  await page.getByRole('link', { name: 'Try it: sim-small' }).click()
  await page.waitForURL(/playground\?model=sim-small/)
  assert.equal(await page.getByRole('combobox', { name: 'Model', exact: true }).inputValue(), 'sim-small')
  await context.close()
})

test('a pasted address says which host is taken, before and after', async () => {
  const { page, context } = await world.visitAs(person)
  await page.goto('/new-project')
  await page.getByLabel('Name').fill('Pasted')
  await page.getByLabel('Domain').fill('https://pasted.example.org/path?x=1')
  await page.getByText('Takes the host of this address: pasted.example.org').waitFor()
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByText('Pasted is created, for pasted.example.org.').waitFor()
  const { rows: found } = await sql<{
    name: string
  }>`select name from domains where name = 'pasted.example.org'`.execute(world.store.db)
  assert.equal(found.length, 1)
  await context.close()
})
