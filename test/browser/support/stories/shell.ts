import type { Page } from 'playwright-core'
import { ParleyError } from '../../../../src/rules/errors.ts'
import type { Scene } from '../page-picture.ts'
import { ME, meWith } from '../replies/account.ts'
import { at, choose, conflict, fill, pick, press } from './steps.ts'

const SWITCHER = /^Switch project/
const ACCOUNT = /^Account of/

/** What is in a menu of the sidebar, which pictures leave out. */
async function opened(page: Page, menu: RegExp): Promise<string> {
  await page.getByRole('button', { name: menu }).click()
  return page.getByRole('menu').ariaSnapshot()
}

const SHELL: Record<string, Scene> = {
  'the projects to switch to': {
    path: at('/quick-start'),
    act: (page) => opened(page, SWITCHER),
  },
  'the projects of a developer, who makes none': {
    path: at('/quick-start'),
    replies: {
      'GET /api/me': { ...ME, publishers: ME.publishers.map((each) => ({ ...each, role: 'developer' as const })) },
    },
    act: (page) => opened(page, SWITCHER),
  },
  'another project, on the same kind of page': {
    path: at('/keys'),
    act: async (page) => {
      await pick(page, SWITCHER, 'Weather')
      await page.waitForURL('**000000000012/keys')
    },
  },
  'another project, from a page of none': {
    path: '/account',
    act: async (page) => {
      await pick(page, SWITCHER, 'Garden')
      await page.getByRole('heading', { name: 'Home' }).waitFor()
    },
  },
  'a new project, by the switcher': {
    path: at('/keys'),
    act: async (page) => {
      await pick(page, SWITCHER, 'New project')
      await page.getByRole('heading', { name: 'New project' }).waitFor()
    },
  },
  'the menu of the account': {
    path: at('/quick-start'),
    act: (page) => opened(page, ACCOUNT),
  },
  'the settings of the account, by the menu': {
    path: at('/quick-start'),
    act: async (page) => {
      await pick(page, ACCOUNT, 'Account settings')
      await page.getByRole('heading', { name: 'Account settings' }).waitFor()
    },
  },
  'the dark theme': {
    path: at('/quick-start'),
    act: async (page) => {
      await pick(page, ACCOUNT, 'Dark')
      await page.getByRole('button', { name: ACCOUNT }).click()
      return page.evaluate<string>(
        '`${document.documentElement.dataset.theme} ${localStorage.getItem("parley.theme")}`',
      )
    },
  },
  'signing out': {
    path: at('/quick-start'),
    act: async (page) => {
      await pick(page, ACCOUNT, 'Sign out')
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    },
  },
  'signing out, refused': {
    path: at('/quick-start'),
    replies: { 'POST /api/auth/sign-out': conflict },
    act: (page) => pick(page, ACCOUNT, 'Sign out'),
  },
  'a message that goes by itself': {
    path: '/account',
    act: async (page, stand) => {
      await press(page, 'Sign out everywhere else')
      await stand.settle()
      const said = await page.getByRole('status').allInnerTexts()
      await stand.pass(6_000)
      return said.join('\n')
    },
  },
  'a message that is dismissed': {
    path: '/account',
    replies: { 'DELETE /api/me/sessions': conflict },
    act: async (page, stand) => {
      await press(page, 'Sign out everywhere else')
      await stand.settle()
      await stand.pass(6_000)
      await press(page, 'Dismiss')
    },
  },
  'a network that is gone, and is back': {
    path: at('/quick-start'),
    act: async (page) => {
      await page.context().setOffline(true)
      const banner = page.getByText('You are offline.')
      const said = await banner.innerText()
      await page.context().setOffline(false)
      await banner.waitFor({ state: 'detached' })
      return said
    },
  },
  'a top-up, by the banner': {
    path: at('/quick-start'),
    replies: meWith({ project: { balanceNanos: 1n } }),
    act: async (page) => {
      await page.getByRole('link', { name: 'Top up' }).click()
      await page.getByRole('heading', { name: 'Wallet' }).waitFor()
    },
  },
  'the navigation of a phone': {
    path: at('/quick-start'),
    act: async (page, stand) => {
      await page.setViewportSize({ width: 360, height: 740 })
      await press(page, 'Open the navigation')
      await stand.settle()
      const shown = await page.getByRole('dialog').ariaSnapshot()
      await page.getByRole('dialog').getByRole('link', { name: 'Team' }).click()
      await page.getByRole('heading', { name: 'Team' }).waitFor()
      await page.setViewportSize({ width: 1280, height: 800 })
      return shown
    },
  },
}

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

/** And presses what else is named, at once. */
async function ask(page: Page, ...then: string[]): Promise<void> {
  await fill(page, { 'Your message': 'First?' })
  await press(page, 'Send', ...then)
}

const PLAYGROUND: Record<string, Scene> = {
  'a question that is suggested': {
    path: PAGE,
    act: (page) => page.getByRole('button', { name: /^Explain to a reader/ }).click(),
  },
  'a question and its answer': {
    path: PAGE,
    replies: ANSWERS,
    act: async (page) => {
      await choose(page, 'Model', 'large-2')
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
      await page.getByRole('tab', { name: 'Raw events' }).click()
    },
  },
  'an answer as code': {
    path: PAGE,
    replies: ANSWERS,
    act: async (page, stand) => {
      await ask(page)
      await stand.settle()
      await page.getByRole('tab', { name: 'As code' }).click()
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
}

export const SHELL_STORIES: Record<string, Scene> = { ...SHELL, ...PLAYGROUND }
