import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GUIDE_GROUPS, GUIDES } from '../../dashboard/src/pages/docs/guides.ts'
import { ERRORS } from '../../src/rules/errors.ts'
import { DOCUMENT } from '../support/openapi.ts'
import { createBrowserWorld, faultsOf, type BrowserWorld } from './support/browser-world.ts'
import { checkAll } from './support/every-page.ts'

/** The documentation, as somebody reads it who has no account. */

let world: BrowserWorld
before(async () => {
  world = await createBrowserWorld()
})
after(() => world.close())

const ENDPOINTS = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
)

/** Only one of the long pages is looked at: the same code draws them all, and each takes axe minutes. */
const LOOKED_AT = GUIDE_GROUPS.flatMap(({ title, guides }) => (title === 'In depth' ? guides.slice(1, 2) : guides))

test('the pages of the documentation are accessible in both themes, wide and on a phone, and nothing moves while they load', async () => {
  const paths = ['/docs', '/docs/reference', ...LOOKED_AT.map(({ name }) => `/docs/${name}`)]
  await checkAll(world, paths, (viewport) => world.visit(viewport && { viewport }))
})

test('a page is read without signing in, and its examples ask this installation', async () => {
  const { page } = await world.visit()
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.goto('/docs')
  await page.getByRole('main').getByRole('link', { name: 'Quick start' }).click()
  await page.getByRole('heading', { level: 1, name: 'Quick start' }).waitFor()
  const example = page.getByLabel('Shell', { exact: true }).nth(1)
  await example.waitFor()
  assert.ok((await example.textContent())?.includes(`${world.env.PARLEY_PUBLIC_URL ?? 'http://127.0.0.1:8080'}/v1/`))
  await page.getByRole('button', { name: 'Copy Shell' }).nth(1).click()
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), await example.textContent())
  assert.deepEqual(
    asked.filter((path) => path.startsWith('/api/')),
    [],
  )
  assert.deepEqual(await faultsOf(page), [])
})

test('an error has an address of its own, and the page goes there', async () => {
  const { page } = await world.visit()
  for (const code of ['internal', 'keys_missing'] satisfies (keyof typeof ERRORS)[]) {
    await page.goto(`/docs/errors#${code}`)
    await page.locator(`#${code}`).waitFor()
    await page.waitForFunction(`document.getElementById('${code}').getBoundingClientRect().top < innerHeight`)
  }
  assert.equal(await page.locator('tr[id]').count(), Object.keys(ERRORS).length)
})

test('headings can be linked to, and links between pages lead to them', async () => {
  const { page } = await world.visit()
  await page.goto('/docs/limits')
  await page.getByRole('link', { name: 'Link to End users' }).click()
  assert.equal(new URL(page.url()).hash, '#end-users')
  await page.getByRole('link', { name: 'operations' }).first().click()
  await page.getByRole('heading', { level: 1, name: 'Operations' }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/docs/operations')
})

test('the search of a page leaves the sections that have the words', async () => {
  const { page } = await world.visit()
  await page.goto('/docs/billing')
  const sections = page.locator('article section')
  await sections.first().waitFor()
  const all = await sections.count()
  await page.getByRole('searchbox', { name: 'Search this page' }).fill('dispute Stripe')
  await page.getByText(`1 of ${all} sections`).waitFor()
  await page.getByRole('heading', { name: 'Payments that go back' }).waitFor()
  await page.getByRole('searchbox').fill('nothing says this')
  await page.getByText('Nothing on this page matches').waitFor()
  await page.goto('/docs/reference')
  await page.getByRole('searchbox').fill('include_usage')
  await page.getByText(`1 of ${ENDPOINTS.length} sections`).waitFor()
})

test('the reference shows every endpoint with its fields, and leads from a code to what to do', async () => {
  const { page } = await world.visit()
  await page.goto('/docs/reference#createSession')
  await page.getByRole('heading', { name: 'POST /v1/sessions' }).waitFor()
  const headings = await page.getByRole('heading', { level: 2, name: /^(?:GET|POST) \/v1/ }).allTextContents()
  assert.deepEqual(headings.toSorted(), ENDPOINTS.toSorted())
  const section = page.locator('section', { has: page.getByRole('heading', { name: 'POST /v1/sessions' }) })
  await section.getByText('Request (7)').click()
  await section.getByText('How long it lives.').waitFor()
  await section.getByText('Errors', { exact: true }).click()
  await section.getByRole('link', { name: 'session_not_allowed' }).click()
  await page.getByRole('heading', { level: 1, name: 'Errors' }).waitFor()
  assert.equal(new URL(page.url()).hash, '#session_not_allowed')
})

test('what is not there is said to be not there, and the theme can be chosen', async () => {
  const { page } = await world.visit()
  await page.goto('/docs/nothing')
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  await page.goto('/docs')
  await page.getByRole('button', { name: 'Use the dark theme' }).click()
  assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
  await page.getByRole('button', { name: 'Use the light theme' }).click()
  assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'light')
})

test('programs read the same pages as Markdown, and llms.txt names each of them', async () => {
  const get = (path: string) => fetch(`${world.consoleUrl}${path}`)
  const list = await get('/llms.txt')
  assert.match(list.headers.get('content-type') ?? '', /^text\/plain; charset=utf-8$/i)
  const named = [...(await list.text()).matchAll(/\]\((\/docs\/[\w-]+\.md)\)/g)].map(([, path]) => String(path))
  assert.deepEqual(
    named,
    GUIDES.map(({ name }) => `/docs/${name}.md`),
  )
  for (const path of named) {
    const answer = await get(path)
    assert.equal(answer.status, 200, path)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/markdown; charset=utf-8$/i)
    const text = await answer.text()
    assert.match(text, /^# \S/, path)
    for (const [, target = ''] of text.matchAll(/\]\((\/docs\/[^)#]+)/g))
      assert.ok(named.includes(target), `${path}: ${target}`)
  }
  assert.equal((await get('/docs/style-of-words.md')).status, 404)
})
