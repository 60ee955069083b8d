import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { addOutcomes } from '../../src/store/recommendations/records.ts'
import { newPerson } from '../support/console.ts'
import { addOffer, createFixedMatcher, type FixedMatcher } from '../support/fixed-matcher.ts'
import { openConsoleWith } from '../support/proven-console.ts'
import { createBrowserWorld, PHONE, type BrowserWorld } from './support/browser-world.ts'
import { furnish, type Furnished } from './support/furnish.ts'

let world: BrowserWorld
let matcher: FixedMatcher
let proven: Awaited<ReturnType<typeof openConsoleWith>>
let busy: Furnished
before(async () => {
  matcher = await createFixedMatcher()
  world = await createBrowserWorld({ env: { PARLEY_MATCHER_URL: matcher.url } })
  proven = await openConsoleWith({ isProven: true, prompts: 500, shown: 0 }, world)
  busy = await furnish(world)
})
after(async () => {
  await proven.close()
  await world.close()
  await matcher.close()
})

/** Sends the requests that depend on the proof to a console for which the gates are proven. */
async function askProven(context: BrowserContext): Promise<void> {
  await context.route(/\/monetization(?:\/mode)?$/, async (route) => {
    const { pathname } = new URL(route.request().url())
    if (!pathname.startsWith('/api/')) return route.fallback()
    return route.fulfill({ response: await route.fetch({ url: `${proven.url}${pathname}` }) })
  })
}

function mode(page: Page, name: string) {
  return page.getByRole('group', { name: 'Mode' }).getByRole('button', { name: new RegExp(`^${name} `) })
}

function isPressed(page: Page, name: string): Promise<string | null> {
  return mode(page, name).getAttribute('aria-pressed')
}

test('a publisher tries it, is told what switching on means, and only then do readers see anything', async () => {
  const { page, context, project } = await world.signedUp()
  await askProven(context)
  await page.goto(`/projects/${project.id}/monetization`)
  await page.getByText('A made-up reply and an offer that fits it.').waitFor()
  await page.getByText('Replies stay as the model wrote them').first().waitFor()
  assert.equal(await isPressed(page, 'Off'), 'true')
  await world.check(page)

  await mode(page, 'Test').click()
  await page.getByText('Test mode: offers are matched, and readers see nothing.').waitFor()
  assert.equal(await isPressed(page, 'Test'), 'true')

  await mode(page, 'On').click()
  const dialog = page.getByRole('dialog', { name: /Show recommendations to the readers of Recipes/ })
  await dialog.getByText('You are responsible for your audience').waitFor()
  await world.check(page)
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await isPressed(page, 'On'), 'false')
  await mode(page, 'On').click()
  await dialog.getByRole('button', { name: 'Switch on' }).click()
  await page.getByText('Monetization is on. Readers see recommendations from now on.').waitFor()
  assert.equal(await isPressed(page, 'On'), 'true')
  const row = await world.store.db
    .selectFrom('monetization')
    .select('mode')
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  assert.equal(row.mode, 'on')
  await context.close()
})

test('trying a label changes the preview at once, and saving keeps it', async () => {
  const match = await addOffer(world.store.db, { advertiser: 'Northpan', headline: 'Proofing jar', relevance: 0.64 })
  matcher.reply = { outcome: 'matched', match }
  const { page, context } = await world.visitAs(busy.person)
  await page.goto(`/projects/${busy.projectId}/monetization?view=preview`)
  const block = page.getByRole('region', { name: 'The recommendation' })
  await block.getByText('Sponsored', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'one of your conversations' }).waitFor()
  await page.getByText('The offer of Northpan is the one that fits it best now, with a relevance of 0.64.').waitFor()
  await block.getByText('Proofing jar').waitFor()
  await page.getByLabel('Label', { exact: true }).selectOption('Anzeige')
  await block.getByText('Anzeige', { exact: true }).waitFor()
  await block.getByRole('link', { name: /Zum Angebot/ }).click()
  assert.equal(context.pages().length, 1, 'the links of a preview lead nowhere')
  await page.getByLabel('Format').selectOption('plain')
  await block.getByText(/^Anzeige · .*\/r\/preview/).waitFor()
  await world.check(page)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Label saved.').waitFor()
  await page.reload()
  await block.getByText(/^Anzeige · /).waitFor()
  await context.close()
})

test('the results say how many of all calls were recommended something and why the others were not, for the chosen time', async () => {
  const { page, context } = await world.visitAs(busy.person)
  await page.goto(`/projects/${busy.projectId}/monetization`)
  const reasons = page.getByRole('table', { name: 'Calls by reason' })
  const sensitive = reasons.getByRole('row').filter({ hasText: 'Sensitive topic' })
  await sensitive.getByText('such conversations get no recommendations').waitFor()
  const week = await sensitive.getByRole('cell').nth(1).textContent()
  await page.getByLabel('Time range').selectOption('24h')
  await page.waitForURL(/range=24h/)
  const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000)
  await addOutcomes(world.store.db, [{ projectId: busy.projectId, hour, outcome: 'below_floor', calls: 77 }])
  await page.reload()
  await reasons.getByRole('link', { name: '77 calls: Below your floor price' }).waitFor()
  assert.notEqual(await sensitive.getByRole('cell').nth(1).textContent(), week)
  await world.check(page)
  await context.close()
})

test('an advertiser is blocked from the list of what was recommended, on a phone too, and unblocked among the controls', async () => {
  const { page, context } = await world.visitAs(busy.person, { viewport: PHONE })
  await page.goto(`/projects/${busy.projectId}/monetization`)
  const block = page.getByRole('button', { name: 'Block Northpan' }).first()
  await block.click()
  await page.getByText('Northpan is blocked in this project.').waitFor()
  await page.getByRole('button', { name: 'Unblock Northpan' }).first().waitFor()
  await page.getByRole('tab', { name: 'Controls' }).click()
  await page.getByRole('list', { name: 'Blocked' }).getByRole('button', { name: 'Unblock Northpan' }).click()
  await page.getByText('Northpan may be recommended again.').waitFor()
  await page.getByLabel('Find an advertiser to block').fill('hearth')
  await page.getByRole('list', { name: 'Found' }).getByRole('button', { name: 'Block Hearth & Crumb' }).click()
  await page.getByText('Hearth & Crumb is blocked in this project.').waitFor()
  await page.reload()
  await page.getByRole('list', { name: 'Blocked' }).getByText('Hearth & Crumb').waitFor()
  await world.check(page)
  const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  assert.ok(excess <= 0, `${excess} px too wide`)
  await context.close()
})

test('controls are checked beside their fields, survive a look elsewhere, and are saved together', async () => {
  const { page, context, project } = await world.signedUp()
  await page.goto(`/projects/${project.id}/monetization?view=controls`)
  await page.getByLabel('Floor price per click in US dollars').fill('a lot')
  await page.getByLabel('Maximum per conversation').fill('21')
  const save = page.getByRole('button', { name: 'Save' })
  await save.click()
  await page.getByText('Enter an amount like 0.10.').waitFor()
  await page.getByText('A whole number from 1 to 20.').waitFor()
  await page.getByLabel('Floor price per click in US dollars').fill('0.125')
  await page.getByLabel('Maximum per conversation').fill('2')
  await page.getByLabel('Excluded topics').fill('Divorce, last will')
  await page.getByLabel('Blocked domains').fill('not a domain')
  await page.getByLabel('Blocked domains').press('Enter')
  await page.getByLabel('Minimum relevance').fill('0.7')
  await page.getByText('Only very close matches').waitFor()
  await save.click()
  await page.getByText('not a domain is no domain. Write example.com.').waitFor()
  await page.getByRole('tab', { name: 'Label and preview' }).click()
  await page.getByRole('tab', { name: 'Controls' }).click()
  await page.getByRole('button', { name: 'Remove not a domain' }).click()
  await world.check(page)
  await save.click()
  await page.getByText('Controls saved.').waitFor()
  await page.reload()
  assert.equal(await page.getByLabel('Floor price per click in US dollars').inputValue(), '0.125')
  assert.equal(await page.getByLabel('Minimum relevance').inputValue(), '0.7')
  await page.getByRole('button', { name: 'Remove last will' }).waitFor()
  await context.close()
})

test('somebody who may only look sees why nothing is recommended, and has nothing to press', async () => {
  const viewer = await newPerson(world)
  const { user } = (await viewer.send('GET /api/me')).body
  await world.store.db
    .insertInto('memberships')
    .values({ publisher_id: busy.person.publisherId, user_id: user.id, role: 'viewer' })
    .execute()
  await world.store.db.updateTable('recommendation_switch').set({ is_on: false }).execute()
  const { page, context } = await world.visitAs(viewer)
  await page.goto(`/projects/${busy.projectId}/monetization`)
  await page.getByText('Recommendations are paused by the operator.').waitFor()
  await page.getByText('Only owners and admins can change this.').first().waitFor()
  for (const name of ['Off', 'Test']) assert.ok(await mode(page, name).isDisabled(), name)
  await page.getByRole('link', { name: 'See the call' }).first().waitFor()
  assert.equal(await page.getByRole('button', { name: /^(?:Block|Unblock) / }).count(), 0)
  await world.check(page)
  await page.getByRole('tab', { name: 'Controls' }).click()
  assert.ok(await page.getByLabel('Excluded topics').isDisabled())
  await context.close()
})

test('what a reply carried is shown by its call and under the reply in its conversation, as sponsored', async () => {
  const { page, context } = await world.visitAs(busy.person)
  await page.goto(`/projects/${busy.projectId}/monetization`)
  const first = page.getByRole('table', { name: 'Recommendations' }).getByRole('row').nth(1)
  const price = await first.locator('data').innerText()
  assert.match(price, /^\$0\.\d\d$/)
  await first.getByRole('link', { name: 'See the call' }).click()
  const card = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Recommendation' }) })
  await card.getByText(price, { exact: true }).waitFor()
  for (const label of ['Offer', 'Advertiser', 'Label', 'Matched', 'Per click', 'State'])
    await card.getByText(label, { exact: true }).waitFor()
  await world.check(page)
  await page.goto(`/projects/${busy.projectId}/conversations/${busy.conversationId}`)
  const under = page.getByRole('note', { name: 'Sponsored recommendation' }).first()
  await under.getByText('Added by Parley after the reply, not written by the model.').waitFor()
  await world.check(page)
  await context.close()
})
