import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { ParleyError } from '../../../../src/rules/errors.ts'
import type { Replies } from '../canned-console.ts'
import type { Scene, Stand } from '../page-picture.ts'
import { meWith } from '../replies/account.ts'
import { COMPLETED } from '../replies/calls.ts'
import { CONVERSATION, OTHER_PROJECT } from '../replies/ids.ts'
import { at, choose, conflict, copied, fill, inDialog, ofPublisher, pick, press } from './steps.ts'

const CALLS_PAGE = at('/calls')
const USAGE = at('/usage')
const TALK = at(`/conversations/${CONVERSATION}`)
const LOG = ofPublisher('/audit-log')

const CALLS: Record<string, Scene> = {
  ...Object.fromEntries(
    [
      ['Time', 'Last 24 hours'],
      ['Time', 'Last hour'],
      ['Outcome', 'Failed'],
      ['Outcome', 'Credit ran out'],
      ['Model', 'odd-3'],
      ['Key', 'nightly import'],
      ['Streamed', 'Not streamed'],
      ['Cost', 'From $0.1'],
    ].map(([label = '', option = '']): [string, Scene] => [
      `calls by ${label}: ${option}`,
      { path: CALLS_PAGE, act: (page) => choose(page, label, option) },
    ]),
  ),
  'a call by its id': { path: CALLS_PAGE, act: (page) => fill(page, { 'Request or completion id': ' req_1 ' }) },
  'calls of another conversation': {
    path: at('/calls?conversation=talk-2'),
    act: (page) => fill(page, { 'Conversation id': 'talk-4' }),
  },
  'calls by half a pair of metadata': { path: CALLS_PAGE, act: (page) => fill(page, { 'Metadata key': 'plan' }) },
  'calls by a pair of metadata': {
    path: at('/calls?metadata_key=plan'),
    act: (page) => fill(page, { 'Metadata value': 'free' }),
  },
  'calls with the same metadata as a call': {
    path: at('/calls/chatcmpl-completed'),
    act: async (page) => {
      await page.getByRole('link', { name: 'A-1017' }).click()
      await page.getByRole('heading', { name: 'Calls', exact: true }).waitFor()
    },
  },
  'fields that nobody reads': { path: CALLS_PAGE, act: (page) => press(page, 'Ignored fields') },
  'calls without filters again': {
    path: at('/calls?outcome=failed&model=odd-3&since=7d&min_cost=1&streamed=true&live=off'),
    act: (page) => press(page, 'Clear filters'),
  },
  'new calls after two seconds': { path: CALLS_PAGE, act: (_page, stand) => stand.pass(2_000) },
  'calls that are paused': { path: CALLS_PAGE, act: (page) => press(page, 'Live') },
  'a refused request': {
    path: at('/refused-requests?key=0197a000-0000-7000-8000-000000000071'),
    act: (page) => press(page, 'keys_invalid: what it means and what to do'),
  },
  'a refused request that only a newer version knows': {
    path: at('/refused-requests'),
    act: (page) => press(page, 'brand_new: what it means and what to do'),
  },
  'older refused requests': { path: at('/refused-requests'), act: (page) => press(page, 'Load more') },
  'refused requests of a status': {
    path: at('/refused-requests'),
    act: (page) => choose(page, 'Status', '422'),
  },
  'older calls': { path: at('/calls?outcome=failed'), act: (page) => press(page, 'Load more') },
  'a search that goes on': {
    path: at('/calls?min_cost=1'),
    replies: {
      'GET /api/projects/:project/calls': ({ query }) =>
        query.after === undefined
          ? { items: [COMPLETED], next: 'further', searchedTo: COMPLETED.settledAt }
          : { items: [{ ...COMPLETED, id: 'chatcmpl-found' }], next: null, searchedTo: null },
    },
    act: (page) => press(page, 'Continue'),
  },
  'a call, by a click on its row': {
    path: CALLS_PAGE,
    act: async (page) => {
      await page.getByRole('cell', { name: 'Credit ran out midway' }).click()
      await page.getByRole('heading', { name: 'Call', exact: true }).waitFor()
    },
  },
  'the id of a request': { path: at('/calls/chatcmpl-completed'), act: (page) => copied(page, 'Copy the request id') },
  'keys that can be read at the second try': {
    path: CALLS_PAGE,
    replies: { 'GET /api/projects/:project/calls': secondTime() },
    act: (page) => press(page, 'Try again'),
  },
  'a session that ends while one looks': {
    path: CALLS_PAGE,
    replies: {
      'GET /api/projects/:project/calls': ({ query }) =>
        query.after === undefined ? { items: [COMPLETED], next: 'x', searchedTo: null } : new ParleyError('signed_out'),
    },
    act: async (page) => {
      await press(page, 'Load more')
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    },
  },
}

function secondTime(): Replies['GET /api/projects/:project/calls'] {
  let asked = 0
  return () => (asked++ === 0 ? new ParleyError('role_too_low') : { items: [COMPLETED], next: null, searchedTo: null })
}

/** Returns the tooltip of a bar while the pointer is over it. */
async function pointAt(page: Page, stand: Stand, figure: number, share: number): Promise<string> {
  const chart = page.locator('.recharts-wrapper').nth(figure)
  await chart.scrollIntoViewIfNeeded()
  const box = await chart.boundingBox()
  if (!box) throw new Error('there is no chart')
  const tip = page.locator('.recharts-tooltip-wrapper').nth(figure)
  // A chart that has just been drawn does not yet look where the pointer is.
  for (let tries = 0; (await tip.innerText()) === ''; tries += 1) {
    assert.ok(tries < 100, 'the chart tells nothing of what is pointed at')
    await page.mouse.move(box.x + 64 + (box.width - 72) * share, box.y + box.height / 2 + (tries % 2))
    await stand.settle()
  }
  return tip.innerText()
}

const USING: Record<string, Scene> = {
  ...Object.fromEntries(
    ['Last 24 hours', 'Last 7 days', 'Last 90 days', 'Last 12 months', 'Choose dates'].map((range): [string, Scene] => [
      `usage of the range ${range}`,
      { path: USAGE, act: (page) => choose(page, 'Time range', range) },
    ]),
  ),
  'usage from another day': {
    path: at('/usage?range=custom&from=2026-10-01&to=2026-10-09&by=key'),
    act: async (page) => {
      await fill(page, { 'First day (UTC)': '2026-10-03', 'Last day (UTC)': '2026-10-05' })
    },
  },
  'usage by key': { path: USAGE, act: (page) => choose(page, 'Group by', 'By key') },
  'usage in tokens': { path: USAGE, act: (page) => choose(page, 'Show', 'Tokens') },
  'usage in numbers': { path: USAGE, act: (page) => press(page, 'Show') },
  'usage in numbers, more of them': {
    path: at('/usage?range=24h'),
    act: async (page) => {
      await press(page, 'Show', 'Load more')
      return String(await page.getByRole('table', { name: 'Usage in numbers' }).getByRole('row').count())
    },
  },
  'a bar of usage': { path: at('/usage?show=spend'), act: (page, stand) => pointAt(page, stand, 0, 0.5) },
  'a point of speed': { path: USAGE, act: (page, stand) => pointAt(page, stand, 1, 0.99) },
  'a bar of home': { path: at(''), act: (page, stand) => pointAt(page, stand, 0, 0.75) },
  'an hour of usage': {
    path: at('/usage?range=24h&show=failed&by=key'),
    act: (page, stand) => pointAt(page, stand, 0, 0.3),
  },
  'usage of all projects, by model': {
    path: ofPublisher('/usage'),
    act: async (page) => {
      await choose(page, 'Group by', 'By model')
      await choose(page, 'Show', 'Failed calls')
    },
  },
  'costs of a week': { path: at('/costs'), act: (page) => choose(page, 'Time range', 'Last 7 days') },
  'costs of chosen days': { path: at('/costs'), act: (page) => choose(page, 'Time range', 'Choose dates') },
}

const TALKING: Record<string, Scene> = {
  'conversations by id': { path: at('/conversations'), act: (page) => fill(page, { 'Conversation id': 'reader' }) },
  'all conversations again': { path: at('/conversations?id=reader'), act: (page) => press(page, 'Clear filters') },
  'older conversations': { path: at('/conversations?id=talk'), act: (page) => press(page, 'Load more') },
  'a conversation, by a click on its row': {
    path: at('/conversations'),
    act: async (page) => {
      await page.getByRole('cell', { name: '$9.8700' }).click()
      await page.getByRole('heading', { name: 'What is in this dish?' }).waitFor()
    },
  },
  'more messages': { path: TALK, act: (page) => press(page, 'Load more') },
  'what was folded away': {
    path: TALK,
    act: async (page) => {
      for (const summary of await page.locator('summary').all()) await summary.click()
    },
  },
  'what can be done with a conversation': { path: TALK, act: (page) => press(page, 'Export and delete') },
  'what a developer can do with a conversation': {
    path: TALK,
    replies: meWith({ publisher: { role: 'developer' } }),
    act: (page) => press(page, 'Export and delete'),
  },
  'a conversation as Markdown': { path: TALK, act: (page) => saved(page, 'Download Markdown') },
  'a conversation as JSON': { path: TALK, act: (page) => saved(page, 'Download JSON') },
  'a conversation, before its id is typed': {
    path: TALK,
    act: (page) => pick(page, 'Export and delete', 'Delete conversation'),
  },
  'a conversation that is deleted': {
    path: TALK,
    act: async (page) => {
      await pick(page, 'Export and delete', 'Delete conversation')
      await inDialog(page, 'Delete conversation', { [`Type ${CONVERSATION} to confirm`]: CONVERSATION })
      await page.getByRole('heading', { name: 'Conversations' }).waitFor()
    },
  },
  'a conversation that cannot be deleted': {
    path: TALK,
    replies: { 'DELETE /api/projects/:project/conversations/:conversation': conflict },
    act: async (page) => {
      await pick(page, 'Export and delete', 'Delete conversation')
      await inDialog(page, 'Delete conversation', { [`Type ${CONVERSATION} to confirm`]: CONVERSATION })
    },
  },
}

async function saved(page: Page, item: string): Promise<void> {
  await Promise.all([page.waitForEvent('download'), pick(page, 'Export and delete', item)])
}

const AUDITING: Record<string, Scene> = {
  'the log by action': { path: LOG, act: (page) => fill(page, { Action: 'key.created' }) },
  'the log by person': { path: LOG, act: (page) => choose(page, 'Who', 'Cem Aksoy') },
  'the log by project': { path: LOG, act: (page) => choose(page, 'Project', 'Weather') },
  'the whole log again': {
    path: ofPublisher(`/audit-log?action=x&project=${OTHER_PROJECT}`),
    act: (page) => press(page, 'Clear filters'),
  },
  'older entries of the log': { path: ofPublisher('/audit-log?action=key'), act: (page) => press(page, 'Load more') },
}

export const OBSERVING: Record<string, Scene> = { ...CALLS, ...USING, ...TALKING, ...AUDITING }
