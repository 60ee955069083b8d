import { LABELS } from '../../../../src/rules/recommendations/block.ts'
import type { Scene } from '../page-picture.ts'
import { MONETIZATION_SETTINGS } from '../replies/monetization.ts'
import { rehearsalEvents, REHEARSED } from '../replies/rehearsal.ts'
import { ONBOARDING, WALLET } from '../replies/money.ts'
import { at, choose, conflict, fill, inDialog, press, wrong } from './steps.ts'

const WALLET_PAGE = at('/wallet')
const CONTROLS = at('/monetization?view=controls')
const REHEARSED_AT = at('/monetization?view=rehearsal')
const LABEL = at('/monetization?view=preview')
const RESULTS = at('/monetization?view=results')

const PAYING: Record<string, Scene> = {
  'a top-up of an amount that is offered': {
    path: WALLET_PAGE,
    act: async (page) => {
      await press(page, 'Top up', '$50', 'Pay $50.00')
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    },
  },
  'a top-up, before it is paid': {
    path: WALLET_PAGE,
    act: async (page) => {
      await press(page, 'Top up')
      await fill(page, { 'Amount in US dollars': '12.34' })
      await page.getByRole('dialog').getByLabel('Amount in US dollars').fill('1,234.5')
    },
  },
  'a top-up of too little': {
    path: WALLET_PAGE,
    act: async (page) => {
      await press(page, 'Top up')
      await page.getByRole('dialog').getByLabel('Amount in US dollars').fill('4.99')
      await press(page, 'Pay $4.99')
    },
  },
  'a top-up that is refused': {
    path: WALLET_PAGE,
    replies: { 'POST /api/projects/:project/checkouts': wrong('amountNanos') },
    act: (page) => press(page, 'Top up', 'Pay $25.00'),
  },
  'a payment notice that is dismissed': {
    path: at('/wallet?paid=cs_1&kind=topup'),
    act: (page) => press(page, 'Dismiss'),
  },
  'a payment that arrives': {
    path: at('/wallet?paid=cs_1'),
    replies: {
      'GET /api/projects/:project/checkouts/:checkout': arriving(),
    },
    act: (_page, stand) => stand.pass(1_500),
  },
  'a mail from another amount on': {
    path: WALLET_PAGE,
    act: async (page) => {
      await fill(page, { 'Amount in US dollars': '12.50' })
      await press(page, 'Save')
    },
  },
  'a mail from no amount on': {
    path: WALLET_PAGE,
    act: async (page) => {
      await fill(page, { 'Amount in US dollars': '0' })
      await press(page, 'Save')
    },
  },
  'a mail that is refused': {
    path: WALLET_PAGE,
    replies: { 'PUT /api/projects/:project/wallet-alert': wrong('thresholdNanos') },
    act: async (page) => {
      await fill(page, { 'Amount in US dollars': '12.50' })
      await press(page, 'Save')
    },
  },
  'no more mails': { path: WALLET_PAGE, act: (page) => press(page, 'Turn off') },
  'no more mails, refused': {
    path: WALLET_PAGE,
    replies: { 'PUT /api/projects/:project/wallet-alert': conflict },
    act: (page) => press(page, 'Turn off'),
  },
  'mails, turned on': {
    path: WALLET_PAGE,
    replies: { 'GET /api/projects/:project/wallet': { ...WALLET, alertNanos: null } },
    act: (page) => press(page, 'Turn on'),
  },
  'one kind of movement': { path: WALLET_PAGE, act: (page) => choose(page, 'Type', 'Debt paid') },
  'movements of a week': { path: WALLET_PAGE, act: (page) => choose(page, 'Period', 'Last 7 days') },
  'all movements again': { path: at('/wallet?kind=grant&days=90'), act: (page) => press(page, 'Clear filters') },
  'older movements': { path: at('/wallet?kind=topup'), act: (page) => press(page, 'Load more') },
  'the calls of a day of the ledger': {
    path: WALLET_PAGE,
    act: async (page) => {
      await page.getByRole('link', { name: '12.3 K calls' }).click()
      await page.getByRole('heading', { name: 'Calls' }).waitFor()
    },
  },
  'first steps that are put away': {
    path: at(''),
    replies: { 'GET /api/projects/:project/onboarding': { ...ONBOARDING, isDismissed: false } },
    act: (page) => press(page, 'Dismiss'),
  },
  'first steps that cannot be put away': {
    path: at(''),
    replies: {
      'GET /api/projects/:project/onboarding': { ...ONBOARDING, isDismissed: false },
      'POST /api/projects/:project/onboarding/dismiss': conflict,
    },
    act: (page) => press(page, 'Dismiss'),
  },
  'a first call that arrives': {
    path: at(''),
    replies: { 'GET /api/projects/:project/onboarding': onboarding() },
    act: (_page, stand) => stand.pass(1_500),
  },
}

/** Not yet when the page is opened, and then. */
function arriving() {
  let asked = 0
  const answer = (state: 'created' | 'paid') => ({ state, amountNanos: 25_000_000_000n, paidAt: null })
  return () => answer(asked++ === 0 ? 'created' : 'paid')
}

function onboarding() {
  let asked = 0
  return () => ({ ...ONBOARDING, isDismissed: false, ...(asked++ === 0 && { call: null, isAnswered: false }) })
}

const MODES: Record<string, Scene> = {
  'monetization, switched off': { path: RESULTS, act: (page) => page.getByRole('button', { name: /^Off/ }).click() },
  'monetization, before it is switched on': {
    path: RESULTS,
    act: (page) => page.getByRole('button', { name: /^On/ }).click(),
  },
  'monetization, switched on': {
    path: RESULTS,
    replies: { 'PUT /api/projects/:project/monetization/mode': { mode: 'on' } },
    act: async (page) => {
      await page.getByRole('button', { name: /^On/ }).click()
      await inDialog(page, 'Switch on')
    },
  },
  'monetization that cannot be switched on': {
    path: RESULTS,
    replies: { 'PUT /api/projects/:project/monetization/mode': conflict },
    act: async (page) => {
      await page.getByRole('button', { name: /^On/ }).click()
      await inDialog(page, 'Switch on')
    },
  },
  'monetization that cannot be switched off': {
    path: RESULTS,
    replies: { 'PUT /api/projects/:project/monetization/mode': conflict },
    act: (page) => page.getByRole('button', { name: /^Off/ }).click(),
  },
  'another view of monetization': { path: RESULTS, act: (page) => page.getByRole('tab', { name: 'Controls' }).click() },
  'a rehearsal': { path: REHEARSED_AT, act: (page) => press(page, 'Rehearse') },
  'a rehearsal that is under way': {
    path: REHEARSED_AT,
    replies: { 'POST /api/projects/:project/monetization/rehearsal': 'never' },
    act: (page) => press(page, 'Rehearse'),
  },
  'a rehearsal that is stopped': {
    path: REHEARSED_AT,
    replies: { 'POST /api/projects/:project/monetization/rehearsal': 'never' },
    act: (page) => press(page, 'Rehearse', 'Stop'),
  },
  'a rehearsal beside another': {
    path: REHEARSED_AT,
    replies: { 'POST /api/projects/:project/monetization/rehearsal': rehearsalEvents({ refusal: 'project_busy' }) },
    act: (page) => press(page, 'Rehearse'),
  },
  'a rehearsal of nothing': {
    path: REHEARSED_AT,
    replies: {
      'POST /api/projects/:project/monetization/rehearsal': rehearsalEvents({
        result: { ...REHEARSED, replies: 0, recommended: 0, unread: 12, riskiest: [], clickPrice: null },
      }),
    },
    act: (page) => press(page, 'Rehearse'),
  },
  'an ad library that is opened': { path: CONTROLS, act: (page) => page.getByRole('switch').click() },
  'reasons of a month': { path: RESULTS, act: (page) => choose(page, 'Time range', 'Last 30 days') },
  'older recommendations': { path: RESULTS, act: (page) => press(page, 'Load more') },
  'an advertiser that is blocked by a row': { path: RESULTS, act: (page) => press(page, 'Block Shop 3') },
  'an advertiser that is allowed by a row': { path: RESULTS, act: (page) => press(page, 'Unblock Acme Tools') },
  'an advertiser that cannot be blocked': {
    path: RESULTS,
    replies: { 'PUT /api/projects/:project/monetization/blocked-advertisers': conflict },
    act: (page) => press(page, 'Block Shop 4'),
  },
}

const CONTROLLING: Record<string, Scene> = {
  'another label and format': {
    path: LABEL,
    act: async (page) => {
      await page.getByRole('combobox', { name: 'Label' }).selectOption(LABELS[0]?.label ?? '')
      await choose(page, 'Format', 'Plain text')
      await press(page, 'Save')
    },
  },
  'a label that is refused': {
    path: LABEL,
    replies: { 'PATCH /api/projects/:project/monetization': conflict },
    act: async (page) => {
      await choose(page, 'Format', 'Plain text')
      await press(page, 'Save')
    },
  },
  'every control changed': {
    path: CONTROLS,
    replies: {
      'GET /api/projects/:project/monetization': { ...MONETIZATION_SETTINGS, mode: 'on' },
      'PATCH /api/projects/:project/monetization': { mode: 'off' },
    },
    act: async (page) => {
      await choose(page, 'Audience', 'Teenagers')
      await fill(page, {
        'Minimum relevance': '0.85',
        'Start at reply': '4',
        'Minimum gap': '6',
        'Maximum per conversation': '7',
        'Floor price per click in US dollars': '0.33',
        'Blocked categories': 'Garden, Pets',
        'Blocked domains': 'rival.example.com',
      })
      await page.getByLabel('Blocked domains').press('Enter')
      await press(page, 'Remove election', 'Save')
    },
  },
  'controls that make no sense': {
    path: CONTROLS,
    act: async (page) => {
      await fill(page, {
        'Start at reply': '51',
        'Minimum gap': '0',
        'Maximum per conversation': '1.5',
        'Floor price per click in US dollars': 'cheap',
      })
      await press(page, 'Save')
    },
  },
  'controls that are refused': {
    path: CONTROLS,
    act: async (page) => {
      await fill(page, { 'Floor price per click in US dollars': '1001', 'Blocked domains': 'no domain' })
      await press(page, 'Save')
    },
  },
  'relevance that asks for little': { path: CONTROLS, act: (page) => fill(page, { 'Minimum relevance': '0.7' }) },
  'an advertiser that is found and blocked': {
    path: CONTROLS,
    act: async (page) => {
      await fill(page, { 'Find an advertiser to block': 'boo' })
      await press(page, 'Block Books & Co')
    },
  },
  'an advertiser that is not found': {
    path: CONTROLS,
    replies: { 'GET /api/projects/:project/monetization/catalogue': { advertisers: [] } },
    act: (page) => fill(page, { 'Find an advertiser to block': 'zzz' }),
  },
  'an advertiser that is allowed again': { path: CONTROLS, act: (page) => press(page, 'Unblock Acme Tools') },
}

export const MONEY_STORIES: Record<string, Scene> = { ...PAYING, ...MODES, ...CONTROLLING }
