import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Message } from '../../src/rules/calls/message.ts'
import { numberOccurrences } from '../../src/rules/calls/conversations.ts'
import { recordTurn } from '../../src/store/calls/conversations.ts'
import { createBrowserWorld, type BrowserWorld } from './support/browser-world.ts'

const CORPUS = join(import.meta.dirname, '../fixtures/hostile-replies')
let world: BrowserWorld
let replies: { name: string; text: string }[]

before(async () => {
  const files = (await readdir(CORPUS)).toSorted()
  replies = await Promise.all(
    files.map(async (file) => ({ name: file, text: await readFile(join(CORPUS, file), 'utf8') })),
  )
  world = await createBrowserWorld()
})
after(() => world.close())

/** Everything that a page which was taken over would do. */
function watch(page: Page): string[] {
  const seen: string[] = []
  page.on('dialog', (dialog) => {
    seen.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const { host } = new URL(request.url())
    if (host !== 'console.test') seen.push(`request: ${request.url().slice(0, 200)}`)
  })
  page.on('popup', (popup) => seen.push(`popup: ${popup.url()}`))
  page.on('frameattached', () => seen.push('frame'))
  page.on('worker', () => seen.push('worker'))
  return seen
}

/** Lists everything in the drawn replies that is more than formatted text. */
const UNSAFE = `[...document.querySelectorAll('ol[aria-label=Messages] > li')].flatMap((item) => [...item.querySelectorAll('*')]).flatMap((element) => {
  const found = []
  const name = element.localName
  const isIcon = element.closest('svg[aria-hidden=true].lucide') !== null
  if (!isIcon && /^(script|style|iframe|object|embed|form|input|meta|link|base|svg|math|img|video|audio|source|template)$/.test(name)) found.push('<' + name + '>')
  for (const { name: attribute, value } of element.attributes) {
    if (attribute.startsWith('on')) found.push(name + ' ' + attribute)
    if (attribute === 'id' || attribute === 'name') found.push(name + ' ' + attribute + '=' + value)
    if (attribute === 'style' && !/^text-align: \\w+;$/.test(value)) found.push(name + ' style=' + value)
    if (/^(src|srcset|srcdoc|action|formaction|data|poster|ping|background)$/.test(attribute)) found.push(name + ' ' + attribute)
  }
  if (name === 'a' && element.getAttribute('target') === '_blank') {
    const { protocol, username } = new URL(element.href)
    if (!['http:', 'https:', 'mailto:'].includes(protocol) || username !== '') found.push('a ' + element.href)
    if (!/noopener/.test(element.rel) || !/nofollow/.test(element.rel)) found.push('a rel=' + element.rel)
  }
  return found
})`

test('the corpus has at least fifty ways to do harm', () => assert.ok(replies.length >= 50))

test('no reply of the corpus runs, loads, leaves or hides anything in the viewer, and every one of them is shown', async () => {
  const { page, context, project } = await world.signedUp()
  const messages = replies.map(({ name, text }) => ({
    role: 'assistant',
    content: `${text.replaceAll('\0', '')}\n\n${name}`,
  }))
  await recordTurn(world.store.db, {
    conversation: { projectId: project.id, id: 'hostile' },
    callId: uuidv7(),
    messages: numberOccurrences(
      [{ role: 'user', content: messages[0]?.content ?? '' }, ...messages] as Message[],
      Buffer.alloc(32, 9),
    ),
    retentionDays: 30,
  })
  const seen = watch(page)
  await page.goto(`/projects/${project.id}/conversations/hostile`)
  await page.locator('ol[aria-label=Messages] > li').nth(replies.length).waitFor({ timeout: 60_000 })
  // Given the chance: pointers over everything, and a scroll through all of it.
  await page.mouse.wheel(0, 100_000)
  await page.mouse.move(640, 400)
  await page.waitForLoadState('networkidle')

  assert.deepEqual(seen, [])
  assert.deepEqual(await page.evaluate(UNSAFE), [])
  assert.equal(await page.evaluate('window.pwned'), undefined)
  assert.equal(new URL(page.url()).pathname, `/projects/${project.id}/conversations/hostile`)
  assert.equal(await page.evaluate("getComputedStyle(document.querySelector('h1')).display"), 'block')
  const faults = await page.evaluate<string[]>('window.parleyFaults')
  assert.deepEqual(
    faults.filter((fault) => fault.startsWith('content security policy')),
    [],
  )
  const shown = await page.locator('ol[aria-label=Messages] > li').allInnerTexts()
  for (const [n, { name }] of replies.entries())
    assert.ok(shown[n + 1]?.includes(name.replace('.md', '')), `${name} is not shown: ${shown[n + 1]?.slice(0, 200)}`)
  const tooWide = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
  assert.ok(Number(tooWide) <= 0, `the page is ${String(tooWide)} px too wide`)
  await context.close()
})
