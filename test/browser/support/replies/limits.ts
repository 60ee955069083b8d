import type { Given, Replies } from '../canned-console.ts'
import { ago, id } from './ids.ts'

type Limited = Given<'GET /api/projects/:project/limits'>['project']
type EndUser = Given<'GET /api/projects/:project/end-users/:endUser'>

const NO_VALUES: Limited['values'] = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrentCalls: null,
  dayNanos: null,
  weekNanos: null,
  monthNanos: null,
  totalNanos: null,
}

export const UNLIMITED: Limited = { values: NO_VALUES, rates: [], budgets: [] }

function budget(period: 'day' | 'week' | 'month' | 'total', limit: bigint, spent: bigint, held = 0n) {
  const renewsAt = period === 'total' ? null : ago({ days: period === 'day' ? -1 : -17 })
  const left = limit - spent - held
  return {
    period,
    limitNanos: limit,
    spentNanos: spent,
    heldNanos: held,
    leftNanos: left > 0n ? left : 0n,
    renewsAt,
  }
}

export const PROJECT_LIMITS: Given<'GET /api/projects/:project/limits'> = {
  operator: { rates: [{ name: 'requests', limit: 601, used: 12, left: 589, renewsAt: ago({ seconds: -53 }) }] },
  account: {
    values: { ...NO_VALUES, monthNanos: 251_000_000_000n },
    rates: [],
    budgets: [budget('month', 251_000_000_000n, 31_000_000_000n)],
  },
  project: {
    values: { ...NO_VALUES, weekNanos: 17_000_000_000n, concurrentCalls: 8 },
    rates: [{ name: 'calls', limit: 8, used: 8, left: 0, renewsAt: null }],
    budgets: [budget('week', 17_000_000_000n, 14_000_000_000n, 500_000_000n)],
  },
  endUsers: { values: { ...NO_VALUES, dayNanos: 250_000_000n, requestsPerMinute: 21, tokensPerMinute: 90_001n } },
  keys: [
    {
      id: id(71),
      name: 'web server',
      publishableKey: 'ply_pk_71webserver',
      pairs: 3,
      values: { ...NO_VALUES, totalNanos: 3_000_000_000n },
      rates: [],
      budgets: [budget('total', 3_000_000_000n, 3_000_000_000n)],
    },
    { id: id(72), name: 'nightly import', publishableKey: 'ply_pk_72nightlyimport', pairs: 1, ...UNLIMITED },
  ],
}

const GRACE: EndUser = {
  id: id(91),
  label: 'Grace of Yale',
  firstSeenAt: ago({ days: 31 }),
  lastSeenAt: ago({ minutes: 6 }),
  calls30d: 1_201n,
  tokens30d: 48_302n,
  spent30dNanos: 2_403_000_000n,
  limits: {
    values: { ...NO_VALUES, dayNanos: 2_000_000_000n },
    rates: [],
    budgets: [budget('day', 2_000_000_000n, 1_500_000_000n)],
  },
}

const NAMELESS: EndUser = {
  ...GRACE,
  id: id(92),
  label: null,
  lastSeenAt: ago({ days: 3 }),
  calls30d: 7n,
  tokens30d: 905n,
  spent30dNanos: 13_000_000n,
  limits: UNLIMITED,
}

const DONE = { done: true } as const

const GRACES_SESSION: Given<'GET /api/projects/:project/browser-sessions'>['items'][number] = {
  id: id(95),
  secretHint: 'ply_es_00…k3Zq',
  key: { id: id(71), name: 'web server', publishableKey: 'ply_pk_71webserver', obstacle: null },
  endUser: { id: id(91), label: 'Grace of Yale' },
  models: ['sim-small', 'sim-large'],
  origins: ['https://app.example.com'],
  maxTokens: 801,
  callsMade: 19,
  callsMax: 20,
  moneyNanos: 250_000_000n,
  spentNanos: 231_000_000n,
  heldNanos: 4_000_000n,
  createdAt: ago({ minutes: 9 }),
  expiresAt: ago({ minutes: -51 }),
}

const NOBODYS_SESSION = {
  ...GRACES_SESSION,
  id: id(96),
  secretHint: 'ply_es_00…Tt8d',
  key: { ...GRACES_SESSION.key, obstacle: 'Refused: its key pair is inactive.' },
  endUser: null,
  models: null,
  origins: null,
  maxTokens: null,
  callsMade: 0,
  spentNanos: 0n,
  heldNanos: 0n,
}

export const LIMITS: Replies = {
  'GET /api/projects/:project/limits': PROJECT_LIMITS,
  'PUT /api/publishers/:publisher/limits': DONE,
  'PUT /api/projects/:project/limits': DONE,
  'PUT /api/projects/:project/end-user-limits': DONE,
  'PUT /api/projects/:project/keys/:key/limits': DONE,
  'GET /api/projects/:project/browser-sessions': ({ query }) =>
    query.after === undefined ? { items: [GRACES_SESSION], next: 'further' } : { items: [NOBODYS_SESSION], next: null },
  'DELETE /api/projects/:project/browser-sessions/:session': DONE,
  'DELETE /api/projects/:project/keys/:key/browser-sessions': { ended: 3 },
  'GET /api/projects/:project/end-users': ({ query }) =>
    query.after === undefined ? { items: [GRACE], next: 'further' } : { items: [NAMELESS], next: null },
  'POST /api/projects/:project/end-users/search': { items: [NAMELESS] },
  'GET /api/projects/:project/end-users/:endUser': GRACE,
  'PUT /api/projects/:project/end-users/:endUser/limits': DONE,
  'DELETE /api/projects/:project/end-users/:endUser': DONE,
}
