import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { credit } from '../support/world.ts'
import { createBrowserWorld, type BrowserWorld } from './support/browser-world.ts'

let world: BrowserWorld
before(async () => {
  world = await createBrowserWorld()
})
after(() => world.close())

test('an owner narrows the models, shortens the retention, and deletes the project by typing its name', async () => {
  const { page, context, project } = await world.signedUp()
  await credit(world.store, project.id, 4_200_000_000n)
  await page.goto(`/projects/${project.id}/settings`)
  await page.getByRole('switch', { name: /All models/ }).click()
  await page.getByText('Choose at least one model.').waitFor()
  await page.getByRole('checkbox', { name: /sim-small/ }).click()
  await world.check(page)
  await page.getByRole('button', { name: 'Save' }).nth(1).click()
  await page.getByText('Models saved.').waitFor()
  await page.getByLabel('Keep the text').selectOption('0')
  await page.getByText('All stored text is erased within minutes').waitFor()
  await page.getByRole('button', { name: 'Keep for a shorter time' }).click()
  await page.getByText('Retention saved.').waitFor()

  await page.getByRole('button', { name: 'Delete project' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Type Recipes to confirm').fill('Recipes')
  await world.check(page)
  await dialog.getByRole('button', { name: 'Delete project' }).click()
  await dialog.getByText('$4.20 of credit is left').waitFor()
  await dialog.getByRole('checkbox', { name: '$4.20 of credit may be lost' }).click()
  await dialog.getByRole('button', { name: 'Delete project' }).click()
  await page.getByRole('heading', { level: 1, name: 'Create your first project' }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/new-project')
  await context.close()
})
