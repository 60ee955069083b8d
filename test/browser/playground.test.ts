import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { freePort } from '../support/free-port.ts'
import { addModel, credit, until } from '../support/world.ts'
import { createBrowserWorld, faultsOf, PHONE, type VisitOptions } from './support/browser-world.ts'

const port = String(await freePort())
const world = await createBrowserWorld({ env: { PARLEY_PORT: port, PARLEY_PUBLIC_URL: `http://127.0.0.1:${port}` } })
after(() => world.close())
// Something to compare with.
await addModel(world.store, { id: 'sim-large', provider: 'simulator' })

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

  const view = async (name: string) => {
    await answer(1).getByRole('button', { name: 'Views of answer 1' }).click()
    await page.getByRole('menuitem', { name }).click()
  }
  await view('Raw events')
  await answer(1).getByText('[DONE]').waitFor()
  await view('As code')
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
  await answer(1).getByText('Stopped. You were charged for what the model had read and written by then.').waitFor()
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
  const alert = page
    .getByRole('alert')
    .filter({ hasText: 'The domain of this project is not verified yet, or no longer verified.' })
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

test('two models answer one question side by side, each charged as a call of its own, and both stop and are asked again', async () => {
  const { page, project, question } = await openPlayground()
  await page.getByRole('button', { name: 'Compare' }).click()
  const picker = page.getByRole('combobox', { name: 'Compared with' })
  const models = [
    await page.getByRole('combobox', { name: 'Model', exact: true }).inputValue(),
    await picker.inputValue(),
  ]
  assert.notEqual(models[0], models[1])
  const answers = models.map((model) => page.getByRole('article', { name: `Answer 1 of ${model}` }))
  await question.fill('Hello [[sim tokens=2000 gap=50]]')
  await question.press('Enter')
  for (const answer of answers) await answer.locator('[data-answer]').waitFor()
  assert.equal(world.simulator.openCalls(), 2)
  await page.getByRole('button', { name: 'Stop' }).click()
  await until(() => world.simulator.openCalls() === 0, 1_000)
  for (const answer of answers) await answer.getByText('First token', { exact: true }).waitFor()

  await question.fill('Again [[sim tokens=5]]')
  await question.press('Enter')
  await page
    .getByRole('article', { name: `Answer 2 of ${models[1]}` })
    .getByText('Cost')
    .waitFor()
  await page.getByRole('button', { name: 'Regenerate' }).click()
  const charges = () => world.store.db.selectFrom('charges').select('id').where('project_id', '=', project.id).execute()
  await until(async () => (await charges()).length === 6)
  await world.check(page)
})

test('the model is found by typing, chosen by Enter and left as it was by Escape', async () => {
  const { page } = await openPlayground()
  const picker = page.getByRole('combobox', { name: 'Model', exact: true })
  const first = await picker.inputValue()
  await picker.focus()
  await page.keyboard.press('ArrowDown')
  const options = page.getByRole('option')
  const count = await options.count()
  assert.ok(count > 1)
  await world.check(page)
  await page.keyboard.press('ArrowDown')
  const active = await picker.getAttribute('aria-activedescendant')
  const next = await page.locator(`[id="${active}"] .font-mono`).textContent()
  await page.keyboard.press('Escape')
  assert.equal(await picker.inputValue(), first)
  assert.equal(await options.count(), 0)
  await page.keyboard.type(next ?? '')
  await page.keyboard.press('Enter')
  assert.equal(await picker.inputValue(), next)
})

test('on a phone two answers stand one under the other, and Send stays in view', async () => {
  const { page, question } = await openPlayground({ viewport: PHONE })
  await page.getByRole('button', { name: 'Compare' }).click()
  await question.fill('Hello [[sim tokens=300]]')
  await question.press('Enter')
  const answers = page.getByRole('article')
  await answers.nth(1).getByText('Cost').waitFor()
  await answers.nth(0).getByText('Cost').waitFor()
  const [above, below] = [await answers.nth(0).boundingBox(), await answers.nth(1).boundingBox()]
  assert.ok(above && below && above.y + above.height <= below.y && above.x === below.x)
  const send = await page.getByRole('button', { name: 'Send' }).boundingBox()
  assert.ok(send && send.y > 0 && send.y + send.height <= PHONE.height, JSON.stringify(send))
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width)
  await world.check(page)
})

test('a prompt is saved, opened by a colleague as it was, renamed and deleted', async () => {
  const { page, question } = await openPlayground()
  await page.getByLabel('System prompt').fill('Be brief.')
  await question.fill('Three headlines.')
  await page.getByRole('button', { name: 'Prompts' }).click()
  await page.getByRole('button', { name: 'Save this prompt…' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Headlines')
  await page.keyboard.press('Enter')
  await page.getByText('“Headlines” saved.').waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Prompts' }).click()
  await world.check(page)
  await page.getByRole('button', { name: /^Open Headlines/ }).click()
  await until(async () => (await question.inputValue()) === 'Three headlines.')
  assert.equal(await page.getByLabel('System prompt').inputValue(), 'Be brief.')
  await page.getByRole('button', { name: 'Prompts' }).click()
  await page.getByRole('button', { name: 'Rename Headlines' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Front page')
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await page.getByRole('button', { name: 'Delete Front page' }).click()
  await page.getByRole('button', { name: 'Delete prompt' }).click()
  await page.getByText('No saved prompts yet').waitFor()
})
