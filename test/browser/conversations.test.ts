import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Message } from '../../src/rules/calls/message.ts'
import { numberOccurrences } from '../../src/rules/calls/conversations.ts'
import { recordTurn } from '../../src/store/calls/conversations.ts'
import { addSettledCall } from '../support/ledger.ts'
import { addKeyPair } from '../support/world.ts'
import { createBrowserWorld, PHONE, type BrowserWorld } from './support/browser-world.ts'
import { TALK } from './support/talk.ts'

let world: BrowserWorld
before(async () => {
  world = await createBrowserWorld()
})
after(() => world.close())

/** A conversation with everything in it, each reply with its call. */
async function talk(projectId: string, id = 'recipe-42', retentionDays = 30): Promise<void> {
  const { db } = world.store
  await addKeyPair(world.store, world.secrets, projectId)
  const key = await db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  for (const [n] of TALK.entries()) {
    if (TALK[n]?.role !== 'assistant') continue
    const callId = uuidv7()
    await addSettledCall(db, {
      id: callId,
      projectId,
      keyPairId: key.id,
      change: { conversationId: id, durationMs: 1_840 },
    })
    const messages = numberOccurrences(TALK.slice(0, n + 1) as Message[], Buffer.alloc(32, 2))
    await recordTurn(db, { conversation: { projectId, id }, callId, messages, retentionDays })
  }
}

test('a conversation is found in the list, read as it was meant, taken along and deleted', async () => {
  const { page, context, project } = await world.signedUp()
  await page.goto(`/projects/${project.id}/conversations`)
  await page.getByText('No conversations yet').waitFor()
  await world.check(page)
  await talk(project.id)
  await page.goto(`/projects/${project.id}/conversations`)
  await page.getByRole('link', { name: 'How do I keep a sourdough' }).waitFor()
  await world.check(page)
  await page.getByRole('link', { name: 'How do I keep a sourdough' }).click()
  await page.getByRole('heading', { level: 1, name: /How do I keep a sourdough/ }).waitFor()
  await page.getByRole('table').first().waitFor()
  await page.getByText('Image not loaded').first().waitFor()
  assert.equal(
    await page.getByRole('link', { name: /King Arthur/ }).getAttribute('rel'),
    'noopener noreferrer nofollow',
  )
  await page.getByRole('link', { name: 'See the call' }).first().waitFor()
  await page.locator('summary', { hasText: 'convert_units' }).click()
  await page.getByText('"from": "cup"').waitFor()
  await world.check(page)

  await page.getByRole('button', { name: /Export and delete/ }).click()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'Download Markdown' }).click(),
  ])
  assert.equal(file.suggestedFilename(), 'conversation.md')
  assert.match(await readFile(await file.path(), 'utf8'), /^# Conversation recipe-42/)

  await page.getByRole('button', { name: /Export and delete/ }).click()
  await page.getByRole('menuitem', { name: 'Delete conversation' }).click()
  const confirm = page.getByRole('button', { name: 'Delete conversation' })
  assert.equal(await confirm.isDisabled(), true)
  await page.getByLabel('Type recipe-42 to confirm').fill('recipe-42')
  await world.check(page)
  await confirm.click()
  await page.getByText('No conversations yet').waitFor()
  await context.close()
})

test('on a phone the viewer fits, and says where the text has gone that was not kept', async () => {
  const { page, context, project } = await world.signedUp({ viewport: PHONE, colorScheme: 'dark' })
  await talk(project.id, 'silent', 0)
  await page.goto(`/projects/${project.id}/conversations/silent`)
  await page.getByText('Some of the text was not kept').waitFor()
  await world.check(page)
  await talk(project.id, 'said', 30)
  await page.goto(`/projects/${project.id}/conversations/said`)
  await page.getByRole('table').first().waitFor()
  await world.check(page)
  const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  assert.ok(excess <= 0, `${excess} px too wide`)
  await context.close()
})

test('what was said is found by its words, with the place marked, and led to; what is not there is told', async () => {
  const { page, context, project } = await world.signedUp()
  await talk(project.id)
  await page.goto(`/projects/${project.id}/conversations`)
  await page.getByRole('link', { name: 'How do I keep a sourdough' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('sourdough')
  await page.keyboard.press('Enter')
  const results = page.getByRole('region', { name: 'Messages found' })
  await results
    .getByRole('status')
    .getByText(/messages?, newest first/)
    .waitFor()
  assert.match((await results.locator('mark').first().textContent()) ?? '', /^sourdough$/i)
  await world.check(page)
  assert.ok(!page.url().includes('sourdough'), 'what is looked for stays out of the address')
  const field = page.getByRole('searchbox', { name: 'Search what was said' })
  await field.fill('-sourdough')
  await page.keyboard.press('Enter')
  await page.getByText('Enter at least one word to look for.').waitFor()
  await field.fill('sourdough xylophone')
  await page.keyboard.press('Enter')
  await page.getByText('Nothing found').waitFor()
  await world.check(page)
  await field.fill('"a sourdough"')
  await page.keyboard.press('Enter')
  await results.locator('mark').first().waitFor()
  await page.setViewportSize(PHONE)
  const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  assert.ok(excess <= 0, `${excess} px too wide`)
  await results.getByRole('link', { name: 'Conversation recipe-42' }).first().click()
  await page.getByRole('heading', { level: 1, name: /How do I keep a sourdough/ }).waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'How do I keep a sourdough' }).waitFor()
  await context.close()
})
