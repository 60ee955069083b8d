import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { freePort } from '../support/free-port.ts'
import { credit, until } from '../support/world.ts'
import { createBrowserWorld, faultsOf, PHONE, type VisitOptions } from './support/browser-world.ts'

const port = String(await freePort())
const world = await createBrowserWorld({ env: { PARLEY_PORT: port, PARLEY_PUBLIC_URL: `http://127.0.0.1:${port}` } })
after(() => world.close())

async function openPlayground(options?: VisitOptions) {
  const visitor = await world.signedUp(options)
  await setDomainVerified(world.store.db, visitor.project.id, new Date())
  await credit(world.store, visitor.project.id, 25_000_000_000n)
  await visitor.page.goto(`${world.origin}/projects/${visitor.project.id}/playground`)
  const question = visitor.page.getByLabel('Your message')
  // Before there is a model, nothing is sent.
  await visitor.page.getByText('per million tokens').waitFor()
  return { ...visitor, question, answer: (n: number) => visitor.page.getByRole('article', { name: `Answer ${n}` }) }
}

test('an answer appears word by word, nothing moves meanwhile, and what is shown as its cost is what the receipt says', async () => {
  const { page, project, question, answer } = await openPlayground()
  await question.fill('Hello [[sim tokens=60 gap=20]]')
  await question.press('Enter')
  const text = answer(1).locator('[data-answer]')
  await text.waitFor()
  const early = (await text.textContent()) ?? ''
  await answer(1).getByText('Cost').waitFor()
  const whole = (await text.textContent()) ?? ''
  assert.ok(whole.length > early.length && whole.startsWith(early.slice(0, 5)), 'it grew')
  const { charged_nanos: charged } = await world.store.db
    .selectFrom('charges')
    .select('charged_nanos')
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  assert.equal(await answer(1).locator('data[title^="$"]').getAttribute('value'), String(charged))
  await page.getByRole('status').filter({ hasText: 'The answer is complete. 60 tokens' }).waitFor({ state: 'attached' })

  await answer(1).getByRole('tab', { name: 'Raw events' }).click()
  await answer(1).getByText('[DONE]').waitFor()
  await answer(1).getByRole('tab', { name: 'As code' }).click()
  await answer(1).getByText(`curl -sSN http://127.0.0.1:${port}/v1/chat/completions`).waitFor()
  await world.check(page)
})

test('Escape stops the answer, and the model has stopped within a second', async () => {
  const { page, question, answer } = await openPlayground()
  await question.fill('Hello [[sim tokens=2000 gap=50]]')
  await question.press('Enter')
  await answer(1).locator('[data-answer]').waitFor()
  assert.equal(world.simulator.openCalls(), 1)
  await page.keyboard.press('Escape')
  await until(() => world.simulator.openCalls() === 0, 1_000)
  await answer(1).getByText('Stopped. What the model had read and written by then was charged.').waitFor()
  await answer(1).getByText('Cost').waitFor()
  await question.fill('Again [[sim ttft=60000]]')
  await page.getByRole('button', { name: 'Send' }).click()
  await until(() => world.simulator.openCalls() === 1)
  await page.getByRole('button', { name: 'Stop' }).click()
  await until(() => world.simulator.openCalls() === 0, 1_000)
})

test('the chat goes on from what was said, is asked again, not streamed when so wished, and cleared', async () => {
  const { page, question, answer } = await openPlayground()
  const lastMessages = () =>
    (world.simulator.calls.at(-1)?.body as { messages: { role: string; content: string }[] } | undefined)?.messages ??
    []
  await page.getByLabel('System prompt').fill('Be brief.')
  await page.getByRole('switch', { name: 'Stream' }).click()
  await question.fill('One')
  await question.press('Shift+Enter')
  await question.pressSequentially('[[sim text=First]]')
  await question.press('Enter')
  await answer(1).getByText('Cost').waitFor()
  await question.fill('Two [[sim text=Second]]')
  await question.press('Enter')
  await answer(2).getByText('Cost').waitFor()
  assert.deepEqual(
    lastMessages().map(({ role, content }) => `${role}: ${content}`),
    ['system: Be brief.', 'user: One\n[[sim text=First]]', 'assistant: First', 'user: Two [[sim text=Second]]'],
  )
  const before = world.simulator.calls.length
  await page.getByRole('button', { name: 'Regenerate' }).click()
  await until(() => world.simulator.calls.length === before + 1)
  await answer(2).getByText('Cost').waitFor()
  assert.equal(lastMessages().length, 4, 'the last question, once')
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByText('Ask something', { exact: true }).waitFor()
})

test('what the gateway refuses is said in its words, with a link to where it is put right', async () => {
  const { page, project } = await world.signedUp()
  await page.goto(`${world.origin}/projects/${project.id}/playground`)
  await page.getByLabel('Your message').fill('Hello')
  await page.getByLabel('Your message').press('Enter')
  const alert = page.getByRole('alert').filter({ hasText: 'The domain of this project is not verified, or no longer.' })
  assert.equal(await alert.getByRole('link').getAttribute('href'), `/projects/${project.id}/domain`)
  await world.check(page)
})

test('on a phone the chat fits, a suggestion is written and not sent, and nothing moves', async () => {
  const { page, question, answer } = await openPlayground({ viewport: PHONE })
  const before = world.simulator.calls.length
  await page.getByRole('button', { name: /^Write three headlines/ }).click()
  assert.match(await question.inputValue(), /^Write three headlines/)
  assert.equal(world.simulator.calls.length, before)
  await question.press('Enter')
  await answer(1).getByText('Cost').waitFor()
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width)
  assert.deepEqual(await faultsOf(page), [])
  await world.check(page)
})
