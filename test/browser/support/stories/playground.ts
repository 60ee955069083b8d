import type { Page } from 'playwright-core'
import { ParleyError } from '../../../../src/rules/errors.ts'
import type { Scene } from '../page-picture.ts'
import { at, conflict, fill, inDialog, pick, press } from './steps.ts'

const PAGE = at('/playground')

function events(...lines: unknown[]): string {
  return [...lines.map((line) => JSON.stringify(line)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('')
}

const ANSWER = events(
  { id: 'chatcmpl-completed', choices: [{ delta: { role: 'assistant', content: '' } }] },
  { id: 'chatcmpl-completed', choices: [{ delta: { content: 'Cars **left**' } }] },
  { id: 'chatcmpl-completed', choices: [{ delta: { content: ', and birds came.' } }] },
)
const ANSWERS = { 'POST /api/projects/:project/playground': ANSWER } as const

function refusal(code: string) {
  return {
    'POST /api/projects/:project/playground': events({
      error: { code, message: `Refused: ${code}.`, requestId: 'req_9' },
    }),
  } as const
}

async function chooseModel(page: Page, label: string, model: string): Promise<void> {
  await page.getByRole('combobox', { name: label, exact: true }).click()
  await page.getByRole('option', { name: model }).click()
}

/** And presses what else is named, at once. */
async function ask(page: Page, ...then: string[]): Promise<void> {
  await fill(page, { 'Your message': 'First?' })
  await press(page, 'Send', ...then)
}

export const PLAYGROUND: Record<string, Scene> = {
  'a question that is suggested': {
    path: PAGE,
    act: (page) => page.getByRole('button', { name: /^Explain to a reader/ }).click(),
  },
  'a question and its answer': {
    path: PAGE,
    replies: ANSWERS,
    act: async (page) => {
      await chooseModel(page, 'Model', 'large-2')
      await fill(page, {
        'System prompt': ' Be brief. ',
        Temperature: '0.7',
        'Max tokens': '300',
        'Your message': ' Why no cars? ',
      })
      await press(page, 'Send')
    },
  },
  'a second question, not streamed': {
    path: PAGE,
    replies: ANSWERS,
    act: async (page, stand) => {
      await fill(page, { 'Your message': 'First?' })
      await page.getByLabel('Your message').press('Enter')
      await stand.settle()
      await page.getByRole('switch').click()
      await fill(page, { 'Your message': 'Second?' })
      await page.getByLabel('Your message').press('Enter')
    },
  },
  'an answer, made again': {
    path: PAGE,
    replies: ANSWERS,
    act: async (page, stand) => {
      await ask(page)
      await stand.settle()
      await press(page, 'Regenerate')
    },
  },
  'a chat that is cleared': {
    path: PAGE,
    replies: ANSWERS,
    act: async (page, stand) => {
      await ask(page)
      await stand.settle()
      await press(page, 'Clear')
    },
  },
  'an answer as events': {
    path: PAGE,
    replies: ANSWERS,
    act: async (page, stand) => {
      await ask(page)
      await stand.settle()
      await pick(page, 'Views of answer 1', 'Raw events')
    },
  },
  'an answer as code': {
    path: PAGE,
    replies: ANSWERS,
    act: async (page, stand) => {
      await ask(page)
      await stand.settle()
      await pick(page, 'Views of answer 1', 'As code')
      await page.getByRole('tab', { name: 'LangChain' }).click()
    },
  },
  'an answer that does not come, stopped': {
    path: PAGE,
    replies: { 'POST /api/projects/:project/playground': 'never' },
    act: (page) => ask(page, 'Stop'),
  },
  'an answer that does not come, cleared away': {
    path: PAGE,
    replies: { 'POST /api/projects/:project/playground': 'never' },
    act: (page) => ask(page, 'Clear'),
  },
  ...Object.fromEntries(
    ['domain_not_verified', 'credit_insufficient', 'credit_owed', 'account_not_activated', 'overloaded'].map(
      (code): [string, Scene] => [
        `an answer that is refused: ${code}`,
        {
          path: PAGE,
          replies: refusal(code),
          act: (page) => ask(page),
        },
      ],
    ),
  ),
  'a playground that is not reached': {
    path: PAGE,
    replies: { 'POST /api/projects/:project/playground': new ParleyError('overloaded') },
    act: (page) => ask(page),
  },
  'settings that make no sense': {
    path: PAGE,
    act: (page) => fill(page, { Temperature: '2.1', 'Your message': 'First?' }),
  },
  'a length that makes no sense': {
    path: PAGE,
    act: (page) => fill(page, { 'Max tokens': '0', 'Your message': 'First?' }),
  },
  'models that a search finds': {
    path: PAGE,
    act: async (page) => {
      await page.getByRole('combobox', { name: 'Model', exact: true }).fill('maker reasoning')
      return page.getByRole('listbox').ariaSnapshot()
    },
  },
  'a model that is not found, and left as it was': {
    path: PAGE,
    act: async (page) => {
      const field = page.getByRole('combobox', { name: 'Model', exact: true })
      await field.fill('nothing')
      await page.getByText('No model matches this search.').waitFor()
      await field.press('Escape')
      return field.inputValue()
    },
  },
  'one question to two models': {
    path: PAGE,
    replies: ANSWERS,
    act: async (page) => {
      await press(page, 'Compare')
      await ask(page)
    },
  },
  'a comparison in the middle of a chat, asked again and ended': {
    path: PAGE,
    replies: ANSWERS,
    act: async (page, stand) => {
      await ask(page)
      await stand.settle()
      await press(page, 'Compare')
      await fill(page, { 'Your message': 'Second?' })
      await press(page, 'Send')
      await stand.settle()
      await press(page, 'Regenerate')
      await stand.settle()
      await press(page, 'Compare')
    },
  },
  'two answers that do not come, stopped': {
    path: PAGE,
    replies: { 'POST /api/projects/:project/playground': 'never' },
    act: async (page) => {
      await press(page, 'Compare')
      await ask(page, 'Stop')
    },
  },
  'the saved prompts': { path: PAGE, act: (page) => press(page, 'Prompts') },
  'no saved prompts': {
    path: PAGE,
    replies: { 'GET /api/projects/:project/saved-prompts': { items: [], most: 100 } },
    act: (page) => press(page, 'Prompts'),
  },
  'a prompt that is opened, and saved over': {
    path: PAGE,
    act: async (page, stand) => {
      await press(page, 'Prompts')
      await page.getByRole('button', { name: /^Open Headlines/ }).click()
      await stand.settle()
      await press(page, 'Prompts')
      await press(page, 'Save over “Headlines”')
    },
  },
  'a prompt that is saved': {
    path: PAGE,
    act: async (page) => {
      await fill(page, { 'System prompt': ' Be brief. ', Temperature: '0', 'Your message': ' Why no cars? ' })
      await press(page, 'Prompts', 'Save this prompt…')
      await inDialog(page, 'Save prompt', { Name: ' No cars ' })
    },
  },
  'a prompt that has no name': {
    path: PAGE,
    act: async (page) => {
      await fill(page, { 'Your message': 'Why?' })
      await press(page, 'Prompts', 'Save this prompt…')
      await inDialog(page, 'Save prompt')
    },
  },
  'a prompt for which there is no room': {
    path: PAGE,
    replies: { 'POST /api/projects/:project/saved-prompts': conflict },
    act: async (page) => {
      await fill(page, { 'Your message': 'Why?' })
      await press(page, 'Prompts', 'Save this prompt…')
      await inDialog(page, 'Save prompt', { Name: 'One more' })
    },
  },
  'a prompt that is renamed': {
    path: PAGE,
    act: async (page) => {
      await press(page, 'Prompts', 'Rename Headlines')
      await inDialog(page, 'Rename', { Name: 'Front page' })
    },
  },
  'a prompt that is deleted': {
    path: PAGE,
    act: async (page) => {
      await press(page, 'Prompts', 'Delete Headlines')
      await inDialog(page, 'Delete prompt')
    },
  },
}
