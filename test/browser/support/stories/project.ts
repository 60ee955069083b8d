import { ParleyError } from '../../../../src/rules/errors.ts'
import type { Scene } from '../page-picture.ts'
import { OTHER_PROJECT } from '../replies/ids.ts'
import { SETTINGS, DOMAIN } from '../replies/project.ts'
import { at, choose, conflict, copied, downloaded, fill, inDialog, pick, press, wrong } from './steps.ts'

const KEYS_PAGE = at('/keys')
const SETTINGS_PAGE = at('/settings')
const DOMAIN_PAGE = at('/domain')

const KEYS: Record<string, Scene> = {
  'a key pair without a name': {
    path: KEYS_PAGE,
    act: async (page) => {
      await press(page, 'New key pair')
      await inDialog(page, 'Create key pair')
    },
  },
  'a new key pair, shown once': {
    path: KEYS_PAGE,
    act: async (page) => {
      await press(page, 'New key pair')
      await page.getByRole('dialog').getByLabel('Expires').selectOption('90')
      await inDialog(page, 'Create key pair', { Name: 'batch' })
      await page.getByRole('heading', { name: 'Your new key pair: batch' }).waitFor()
      await press(page, 'Close')
      return copied(page, 'Copy secret key')
    },
  },
  'a new key pair that is revealed and saved': {
    path: KEYS_PAGE,
    act: async (page) => {
      await press(page, 'New key pair')
      await inDialog(page, 'Create key pair', { Name: 'batch' })
      await press(page, 'Reveal')
      const command = await copied(page, 'Copy Try it: copies with your keys, and streams an answer')
      return `${command}\n${await downloaded(page, () => press(page, 'Download .env'))}`
    },
  },
  'a new key pair that is stored': {
    path: KEYS_PAGE,
    act: async (page) => {
      await press(page, 'New key pair')
      await inDialog(page, 'Create key pair', { Name: 'batch' })
      await page.getByRole('checkbox').click()
      await inDialog(page, 'Done')
    },
  },
  'a new key pair that is taken to the examples': {
    path: KEYS_PAGE,
    act: async (page) => {
      await press(page, 'New key pair')
      await inDialog(page, 'Create key pair', { Name: 'batch' })
      await page.getByRole('checkbox').click()
      await press(page, 'Quick start with these keys')
      return copied(page, 'Copy Shell, with your new keys')
    },
  },
  'a key pair that is refused': {
    path: KEYS_PAGE,
    replies: { 'POST /api/projects/:project/keys': wrong('name') },
    act: async (page) => {
      await press(page, 'New key pair')
      await inDialog(page, 'Create key pair', { Name: 'batch' })
    },
  },
  'a pair that is rolled': {
    path: KEYS_PAGE,
    act: async (page) => {
      await pick(page, 'Actions for web server', 'Roll…')
      await page.getByRole('dialog').getByLabel('The old pair works for another').selectOption('3600')
      await inDialog(page, 'Roll key pair')
      await page.getByRole('heading', { name: 'Your new key pair: web server' }).waitFor()
    },
  },
  'a pair that cannot be rolled': {
    path: KEYS_PAGE,
    replies: { 'POST /api/projects/:project/keys/:key/roll': conflict },
    act: async (page) => {
      await pick(page, 'Actions for web server', 'Roll…')
      await inDialog(page, 'Roll key pair')
    },
  },
  'an old pair that is ended now': {
    path: KEYS_PAGE,
    act: async (page) => {
      await press(page, 'End now: the old pair of web server')
      await inDialog(page, 'End now')
    },
  },
  'a pair, before it is deactivated': {
    path: KEYS_PAGE,
    act: (page) => pick(page, 'Actions for trial', 'Deactivate…'),
  },
  'a pair that is deactivated': {
    path: KEYS_PAGE,
    act: async (page) => {
      await pick(page, 'Actions for trial', 'Deactivate…')
      await inDialog(page, 'Deactivate')
    },
  },
  'a pair that is activated': { path: KEYS_PAGE, act: (page) => pick(page, 'Actions for nightly import', 'Activate') },
  'a pair that cannot be activated': {
    path: KEYS_PAGE,
    replies: { 'PATCH /api/projects/:project/keys/:key': conflict },
    act: (page) => pick(page, 'Actions for nightly import', 'Activate'),
  },
  'a pair, before its name is typed': {
    path: KEYS_PAGE,
    act: (page) => pick(page, 'Actions for campaign', 'Delete…'),
  },
  'a pair that is deleted': {
    path: KEYS_PAGE,
    act: async (page) => {
      await pick(page, 'Actions for campaign', 'Delete…')
      await inDialog(page, 'Delete key pair', { 'Type campaign to confirm': 'campaign' })
    },
  },
  'a pair that cannot be deleted': {
    path: KEYS_PAGE,
    replies: { 'DELETE /api/projects/:project/keys/:key': conflict },
    act: async (page) => {
      await pick(page, 'Actions for campaign', 'Delete…')
      await inDialog(page, 'Delete key pair', { 'Type campaign to confirm': 'campaign' })
    },
  },
  ...Object.fromEntries(
    (
      [
        ['active', 'web server', 0],
        ['ending', 'web server', 1],
        ['ended', 'web server', 2],
        ['inactive', 'nightly import', 0],
      ] as const
    ).map(([state, name, nth]): [string, Scene] => [
      `what can be done with an ${state} pair`,
      {
        path: KEYS_PAGE,
        act: (page) =>
          page
            .getByRole('button', { name: `Actions for ${name}` })
            .nth(nth)
            .click(),
      },
    ]),
  ),
  'a publishable key that is copied': {
    path: KEYS_PAGE,
    act: (page) => copied(page, 'Copy the publishable key of trial'),
  },
  'keys that are looked at again': { path: KEYS_PAGE, act: (_page, stand) => stand.pass(15_000) },
}

const SETTING: Record<string, Scene> = {
  'a project with another name': {
    path: SETTINGS_PAGE,
    act: async (page) => {
      await fill(page, { 'Project name': 'Cooking' })
      await press(page, 'Save')
    },
  },
  'a project whose name is refused': {
    path: SETTINGS_PAGE,
    replies: { 'PATCH /api/projects/:project': wrong('name') },
    act: async (page) => {
      await fill(page, { 'Project name': 'Cooking' })
      await press(page, 'Save')
    },
  },
  'a project without a name': {
    path: SETTINGS_PAGE,
    act: async (page) => {
      await fill(page, { 'Project name': '' })
      await press(page, 'Save')
    },
  },
  'other models': {
    path: SETTINGS_PAGE,
    act: async (page) => {
      await page.getByRole('checkbox', { name: /^large-2/ }).click()
      await page.getByRole('checkbox', { name: /^retired-9/ }).click()
      await page.getByRole('button', { name: 'Save' }).nth(1).click()
    },
  },
  'no models': {
    path: SETTINGS_PAGE,
    act: async (page) => {
      await page.getByRole('checkbox', { name: /^small-1/ }).click()
      await page.getByRole('checkbox', { name: /^retired-9/ }).click()
    },
  },
  'every model': {
    path: SETTINGS_PAGE,
    act: async (page) => {
      await page.getByRole('switch').click()
      await page.getByRole('button', { name: 'Save' }).nth(1).click()
    },
  },
  'models that are refused': {
    path: SETTINGS_PAGE,
    replies: { 'PATCH /api/projects/:project/settings': conflict },
    act: async (page) => {
      await page.getByRole('switch').click()
      await page.getByRole('button', { name: 'Save' }).nth(1).click()
    },
  },
  'a model that is looked for': {
    path: SETTINGS_PAGE,
    replies: {
      'GET /api/projects/:project/settings': {
        ...SETTINGS,
        servedModels: Array.from({ length: 9 }, (_, n) => ({
          id: `model-${n}`,
          ownedBy: `owner ${n}`,
          contextWindow: n,
        })),
      },
    },
    act: (page) => fill(page, { 'Find a model': 'MODEL-7' }),
  },
  'text that is kept for a shorter time': {
    path: SETTINGS_PAGE,
    act: async (page) => {
      await choose(page, 'Keep the text', 'For 7 days')
      await press(page, 'Keep for a shorter time')
    },
  },
  'text that is kept for a day': { path: SETTINGS_PAGE, act: (page) => choose(page, 'Keep the text', 'For 1 day') },
  'text that is not kept': { path: SETTINGS_PAGE, act: (page) => choose(page, 'Keep the text', 'Not at all') },
  'text that is kept for longer': {
    path: SETTINGS_PAGE,
    act: async (page) => {
      await choose(page, 'Keep the text', 'For 365 days')
      await page.getByRole('button', { name: 'Save' }).nth(2).click()
    },
  },
  'a project, before its name is typed': { path: SETTINGS_PAGE, act: (page) => press(page, 'Delete project') },
  'a project that is deleted with its credit': {
    path: SETTINGS_PAGE,
    act: async (page) => {
      await press(page, 'Delete project')
      await page.getByRole('dialog').getByRole('checkbox').click()
      await inDialog(page, 'Delete project', { 'Type Recipes to confirm': 'Recipes' })
      await page.getByRole('heading', { name: 'Home' }).waitFor()
    },
  },
  'a project that cannot be deleted': {
    path: SETTINGS_PAGE,
    replies: { 'DELETE /api/projects/:project': conflict },
    act: async (page) => {
      await press(page, 'Delete project')
      await inDialog(page, 'Delete project', { 'Type Recipes to confirm': 'Recipes' })
    },
  },
  'a project without credit that is deleted': {
    path: SETTINGS_PAGE,
    replies: { 'GET /api/projects/:project/settings': { ...SETTINGS, balanceNanos: 0n, pendingNanos: 0n } },
    act: (page) => press(page, 'Delete project'),
  },
}

const DOMAINS: Record<string, Scene> = {
  'another domain': {
    path: DOMAIN_PAGE,
    act: async (page) => {
      await press(page, 'Change domain')
      await inDialog(page, 'Change domain', { 'New domain': 'cooking.example.com' })
    },
  },
  'no other domain': {
    path: DOMAIN_PAGE,
    act: async (page) => {
      await press(page, 'Change domain')
      await inDialog(page, 'Change domain')
    },
  },
  'another domain that is refused': {
    path: DOMAIN_PAGE,
    replies: { 'PATCH /api/projects/:project/domain': wrong('name') },
    act: async (page) => {
      await press(page, 'Change domain')
      await inDialog(page, 'Change domain', { 'New domain': 'localhost' })
    },
  },
  'a domain that is found': { path: DOMAIN_PAGE, act: (page) => press(page, 'Check now') },
  'a domain that is not found': {
    path: DOMAIN_PAGE,
    replies: { 'POST /api/projects/:project/domain/check': { ...DOMAIN, state: 'pending' } },
    act: (page) => press(page, 'Check now'),
  },
  'a domain that is checked too often': {
    path: DOMAIN_PAGE,
    replies: { 'POST /api/projects/:project/domain/check': new ParleyError('too_many_attempts') },
    act: (page) => press(page, 'Check now'),
  },
  'the value of the record': { path: DOMAIN_PAGE, act: (page) => copied(page, 'Copy record value') },
  'the address of the file': { path: DOMAIN_PAGE, act: (page) => copied(page, 'Copy file address') },
  'a domain that is verified while one looks': {
    path: `/projects/${OTHER_PROJECT}/domain`,
    replies: { 'GET /api/projects/:project/domain': verifying() },
    act: (_page, stand) => stand.pass(5_000),
  },
  'examples for another model, in another language': {
    path: at('/quick-start'),
    act: async (page) => {
      await choose(page, 'Model', 'large-2')
      await page.getByRole('tab', { name: 'OpenAI (Python)' }).click()
    },
  },
  'an example that is copied': {
    path: at('/quick-start?language=node'),
    act: (page) => copied(page, 'Copy ask.mjs'),
  },
}

/** Not yet when the page is opened, and then. */
function verifying() {
  let asked = 0
  return () =>
    asked++ === 0 ? { ...DOMAIN, state: 'pending' as const, provenBy: null, verifiedAt: null, lapsesAt: null } : DOMAIN
}

export const PROJECT_STORIES: Record<string, Scene> = { ...KEYS, ...SETTING, ...DOMAINS }
