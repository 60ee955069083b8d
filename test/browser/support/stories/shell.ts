import type { Page } from 'playwright-core'
import type { Scene } from '../page-picture.ts'
import { ME, meWith } from '../replies/account.ts'
import { at, conflict, pick, press } from './steps.ts'

const SWITCHER = /^Switch project/
const ACCOUNT = /^Account of/

/** Opens a menu of the sidebar and returns its contents, as pictures leave the sidebar out. */
async function opened(page: Page, menu: RegExp): Promise<string> {
  await page.getByRole('button', { name: menu }).click()
  return page.getByRole('menu').ariaSnapshot()
}

export const SHELL_STORIES: Record<string, Scene> = {
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
