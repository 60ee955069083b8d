import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createBrowserWorld, PHONE, type BrowserWorld } from './support/browser-world.ts'
import { furnish } from './support/furnish.ts'

/** The front page and the status page, as strangers see them: at every size, in both themes, and without the app. */

let world: BrowserWorld
before(async () => {
  world = await createBrowserWorld({
    env: { PARLEY_PUBLIC_FIGURES: 'true', PARLEY_STATUS_PAGE: 'true', PARLEY_STATUS_PROVIDERS: 'true' },
  })
  await furnish(world)
})
after(() => world.close())

/** Themes and widths change things that are independent of each other: one thorough look at each is enough. */
const LOOKS = [
  { viewport: PHONE, themes: ['dark'], isOnly: true },
  { viewport: { width: 1280, height: 800 }, themes: ['light'], isOnly: false },
  { viewport: { width: 3840, height: 2160 }, themes: ['light'], isOnly: true },
] as const

test('both pages are accessible in both themes and fit from a phone to 4K, and nothing moves while they load', async () => {
  for (const { viewport, ...how } of LOOKS) {
    const { page, context } = await world.visit({ viewport })
    for (const path of ['/', '/status']) {
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await world.check(page, how)
      const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      assert.ok(excess <= 0, `${path} is ${excess} px too wide for ${viewport.width} px`)
    }
    await context.close()
  }
})

test('neither loads anything of the app, and each takes less than 200 KB', async () => {
  const { page, context } = await world.visit()
  for (const path of ['/', '/status']) {
    const loaded: { url: string; bytes: number }[] = []
    page.on('response', async (response) => {
      const { responseBodySize } = await response.request().sizes()
      loaded.push({ url: new URL(response.url()).pathname, bytes: responseBodySize })
    })
    await page.goto(path, { waitUntil: 'networkidle' })
    const scripts = loaded.filter(({ url }) => url.endsWith('.js'))
    assert.deepEqual([...new Set(scripts.map(({ url }) => url))], ['/theme.js'], path)
    const bytes = loaded.reduce((sum, each) => sum + each.bytes, 0)
    assert.ok(bytes > 0 && bytes < 200_000, `${path} takes ${bytes} bytes`)
    page.removeAllListeners('response')
  }
  await context.close()
})

test('from the front page people sign in, create an account and see the status; whoever is signed in goes on to their project', async () => {
  const { page, context } = await world.visit()
  for (const [name, title] of [
    ['Sign in', 'Sign in'],
    ['Create account', 'Create an account'],
    ['Status', 'Status'],
  ] as const) {
    await page.goto('/')
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click()
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
  }
  await context.close()
  const member = await world.signedUp()
  await member.page.goto('/')
  await member.page.waitForURL(`**/projects/${member.project.id}`)
  await member.context.close()
})

test('the status page says of each model what was measured, in words as well as in colours', async () => {
  const { page, context } = await world.visit()
  await page.goto('/status')
  const row = page.getByRole('row', { name: /^claude-sonnet/ })
  assert.match(
    await row.getByRole('img').getAttribute('aria-label').then(String),
    /^\d+ days without trouble, .*too few calls to tell$/,
  )
  assert.match(await row.innerText(), /Answering|Too few calls to tell|Failing at times|Not answering/)
  await page.getByRole('heading', { name: 'Incidents of the last seven days' }).waitFor()
  await context.close()
})
