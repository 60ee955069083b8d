import { after, before, test } from 'node:test'
import { must, newPerson, newProject } from '../support/console.ts'
import { createBrowserWorld, type BrowserWorld } from './support/browser-world.ts'
import { as, checkAll, DETAIL, placed, registeredPages, routedPages } from './support/every-page.ts'

let world: BrowserWorld
before(async () => {
  world = await createBrowserWorld()
})
after(() => world.close())

test('every page of somebody who has just begun is accessible in both themes, wide and on a phone, and says what to do', async () => {
  const person = await newPerson(world)
  const shop = { name: 'Fresh Lamps', legalName: 'Fresh Lamps Ltd', domain: 'lamps.example.com' }
  const places = {
    project: await newProject(person, 'Recipes', 'fresh.example.com'),
    publisher: person.publisherId,
    advertiser: String((await must(person.send('POST /api/me/advertisers', { body: shop }))).body.id),
  }
  const pages = (await registeredPages()).filter((page) => !DETAIL.test(page))
  await checkAll(
    world,
    [...pages.map((page) => placed(page, places)), ...(await routedPages('focusedPages'))],
    as(world, person),
  )
})

test('every page without an account is accessible, and so is one that is not there', async () => {
  const links = ['/activate#token=x', '/reset-password#token=x']
  const pages = [...(await routedPages('signPages')), ...links, '/check-mail?email=editor@example.com']
  await checkAll(world, pages, (viewport) => world.visit(viewport && { viewport }))
  await checkAll(world, ['/no-such-page'], as(world, await newPerson(world)))
})
