import { wordsOf } from '../../../../src/rules/calls/call-labels.ts'
import { CALL_OUTCOMES } from '../../../../src/rules/billing/charging.ts'
import { LEDGER_KINDS, titleOfMovement, type LedgerKind } from '../../../../src/rules/billing/ledger-labels.ts'
import { DAY_MS } from '../../../../src/rules/durations.ts'
import type { Given, Replies } from '../canned-console.ts'
import { ago, id, NOW, OTHER_PROJECT, PROJECT } from './ids.ts'

type Usage = Given<'GET /api/projects/:project/usage'>
type Details = Usage['totals']
type Failure = Given<'GET /api/projects/:project/home'>['failures'][number]
type Brief = NonNullable<Given<'GET /api/projects/:project/onboarding'>['call']>

/** The beginning of the day in UTC, so many days before today. */
const day = (back: number) => new Date((Math.floor(NOW.getTime() / DAY_MS) - back) * DAY_MS)
const hour = (back: number) => new Date((Math.floor(NOW.getTime() / 3_600_000) - back) * 3_600_000)

function brief(outcome: Brief['outcome'], n: number): Brief {
  return {
    id: `chatcmpl-brief${n}`,
    requestId: `req_brief${n}`,
    beganAt: ago({ minutes: n * 11 }),
    model: `model-${n}`,
    keyName: `key ${n}`,
    outcome,
    title: wordsOf(outcome).title,
    status: outcome === 'gateway_died' ? 0 : 500 + n,
    errorCode: `code_${n}`,
    inputTokens: 1_200 + n,
    outputTokens: 340 + n,
    chargedNanos: 7_600_000n + BigInt(n),
    firstTokenMs: 150 + n,
    durationMs: 2_500 + n,
  }
}

/** However often it came. */
function failure(outcome: Brief['outcome'], n: number, calls: number): Failure {
  const { id: newest, requestId, model, errorCode, status } = brief(outcome, n)
  const { title, explanation } = wordsOf(outcome)
  return {
    id: newest,
    requestId,
    outcome,
    errorCode: outcome === 'gateway_died' ? null : errorCode,
    status,
    title,
    explanation,
    calls,
    firstAt: ago({ minutes: (n + calls) * 11 }),
    lastAt: ago({ minutes: n * 11 }),
    models: calls > 1 ? [model, 'model-0'] : [model],
  }
}

export const FAILED_CALL: Brief = brief('upstream_failed', 1)
export const FIRST_CALL: Brief = { ...brief('completed', 6), status: 200 }

export const ONBOARDING: Given<'GET /api/projects/:project/onboarding'> = {
  isActivated: true,
  isDomainVerified: true,
  hasKeyPair: true,
  hasCredit: true,
  call: FIRST_CALL,
  isAnswered: true,
  isDismissed: true,
  isSandbox: false,
  hasOwnProject: true,
}

export const HOME: Given<'GET /api/projects/:project/home'> = {
  balanceNanos: 41_999_000_000n,
  heldNanos: 318_000_000n,
  spent: {
    today: { nanos: 1_210_000_000n, previousNanos: 1_000_000_000n },
    week: { nanos: 8_340_000_000n, previousNanos: 12_000_000_000n },
    month: { nanos: 31_570_000_000n, previousNanos: 0n },
  },
  week: {
    calls: 15_432,
    previousCalls: 12_000,
    failed: 77,
    previousFailed: 90,
    firstTokenMs: { p50: 412, p95: 1_870 },
    previousFirstTokenMs: { p50: 500, p95: 1_500 },
  },
  days: Array.from({ length: 30 }, (_, n) => ({
    at: day(29 - n),
    calls: n * 10,
    failed: n % 3,
    chargedNanos: BigInt(n % 7) * 450_000_000n + BigInt(n) * 20_000_000n,
  })),
  models: [
    { model: 'small-1', calls: 14_100, chargedNanos: 20_000_000_000n },
    { model: 'large-2', calls: 932, chargedNanos: 9_000_000_000n },
    { model: 'odd-3', calls: 4, chargedNanos: 2_500_000n },
  ],
  failures: [failure('upstream_failed', 1, 100), failure('timed_out', 2, 1), failure('gateway_died', 3, 4)],
  failuresMax: 100,
  upTo: ago({ seconds: 40 }),
}

export const WALLET: Given<'GET /api/projects/:project/wallet'> = {
  balanceNanos: 42_317_000_000n,
  heldNanos: 1_317_000_000n,
  runningCalls: 4,
  availableNanos: 41_000_000_000n,
  owedNanos: 0n,
  spent7dNanos: 8_400_000_000n,
  daysLeft: 34,
  alertNanos: 15_250_000_000n,
  topUp: { isOpen: true, minNanos: 5_000_000_000n, maxNanos: 2_000_000_000_000n },
}

type Entry = Given<'GET /api/projects/:project/ledger'>['items'][number]

function movement(kind: LedgerKind, n: number, more: Partial<Entry> = {}): Entry {
  const deltaNanos = more.deltaNanos ?? BigInt(n % 2 === 0 ? -(n + 1) : n + 1) * 1_015_000_000n
  return {
    id: kind === 'usage' ? day(n).toISOString().slice(0, 10) : id(800 + n),
    kind,
    title: titleOfMovement(kind, deltaNanos),
    at: kind === 'usage' ? day(n) : ago({ days: n, hours: n }),
    deltaNanos,
    balanceAfterNanos: BigInt(60 - n) * 1_003_000_000n,
    calls: null,
    reference: null,
    reason: null,
    call: null,
    ...more,
  }
}

const REFERENCES: Partial<Record<LedgerKind, Partial<Entry>>> = {
  usage: { calls: 12_345n },
  topup: { reference: 'pi_12345' },
  grant: { reason: 'Welcome credit' },
  refund: { call: 'chatcmpl-refunded' },
  adjustment: { reason: 'Agreed by phone', reference: 'ticket 17' },
  late_charge: { call: 'chatcmpl-late' },
}

const LEDGER: Entry[] = [
  ...LEDGER_KINDS.map((kind, n) => movement(kind, n, REFERENCES[kind])),
  movement('usage', 20, { calls: 1n }),
  movement('usage', 21, { calls: null, deltaNanos: -123n }),
  movement('refund', 22, { deltaNanos: -5_000_000_000n, reference: 're_22' }),
]

function detailed(n: number): Details {
  return {
    calls: 1_000 * n + 11,
    failed: 10 * n + 3,
    streamed: 600 * n,
    tokens: tokens(n),
    chargedNanos: BigInt(n) * 3_210_000_000n,
    outcomes: CALL_OUTCOMES.map((outcome, place) => ({ outcome, calls: (8 - place) * 40 * n + place })),
    statuses: [
      { status: 502, calls: 21 * n },
      { status: 0, calls: 5 * n },
      { status: null, calls: 2 * n },
    ],
    firstTokenMs: { p50: 300 + 17 * n, p95: 1_200 + 19 * n },
    durationMs: { p50: 2_100 + 23 * n, p95: 9_100 + 29 * n },
  }
}

function tokens(n: number) {
  return { input: 51_001 * n, cachedInput: 12_002 * n, cacheWrite: 3_003 * n, output: 9_004 * n, reasoning: 705 * n }
}

export function usageOf(by: Usage['by'], every: Usage['every'], groups: [id: string, label: string][]): Usage {
  const { outcomes: _, statuses: __, firstTokenMs: ___, durationMs: ____, ...previous } = detailed(2)
  const count = every === 'day' ? 7 : 24
  return {
    from: every === 'day' ? day(6) : hour(23),
    to: NOW,
    every,
    by,
    upTo: ago({ seconds: 50 }),
    totals: { ...detailed(5), calls: 4_321 },
    savedNanos: 1_230_000_000n,
    previous: { ...previous, calls: 5_000 },
    groups: groups.map(([each, label], n) => ({ ...detailed(groups.length - n), id: each, label })),
    points: Array.from({ length: count }, (_unused, n) => ({
      ...previous,
      at: every === 'day' ? day(count - 1 - n) : hour(count - 1 - n),
      firstTokenMs: n === 2 ? { p50: null, p95: null } : { p50: 300 + 10 * n, p95: 900 + 35 * n },
      durationMs: { p50: 2_000 + n, p95: 8_000 + n },
      groups: groups
        .filter((_each, place) => (n + place) % 4 !== 3)
        .map(([each], place) => ({
          id: each,
          calls: 100 * (n + 1) + 13 * place,
          tokens: tokens(n + place + 1),
          failed: n + place,
          chargedNanos: BigInt(n * 11 + place * 7 + 1) * 13_000_000n,
        })),
    })),
  }
}

const MODELS: [string, string][] = [
  ['small-1', 'small-1'],
  ['large-2', 'large-2'],
  ['odd-3', 'odd-3'],
]
const KEYS: [string, string][] = [
  [id(71), 'web server'],
  [id(72), 'nightly import'],
]
const SITES: [string, string][] = [
  [PROJECT, 'Recipes'],
  [OTHER_PROJECT, 'Weather'],
]

function breakdown(n: number) {
  const spent = (each: number) => ({ tokens: each * n * 1_001, nanos: BigInt(each * n) * 7_000_123n })
  return {
    classes: {
      input: spent(11),
      cachedInput: spent(n === 1 ? 0 : 12),
      cacheWrite: spent(13),
      output: spent(14),
      reasoning: spent(n === 1 ? 0 : 15),
    },
    roundingNanos: BigInt(n) * 101n,
    notChargedNanos: BigInt(n) * 2_002n,
    chargedNanos: BigInt(n) * 455_006_000n,
  }
}

const prices = (n: bigint) => ({
  input: n * 150_000_000n,
  cachedInput: n * 75_500_000n,
  cacheWrite: n * 187_000_000n,
  output: n * 600_250_000n,
  reasoning: n * 610_000_001n,
})

export const COSTS: Given<'GET /api/projects/:project/costs'> = {
  from: day(29),
  to: NOW,
  upTo: ago({ seconds: 70 }),
  calls: 5_432,
  billedCalls: 5_100,
  total: breakdown(3),
  previousChargedNanos: 1_500_000_000n,
  averageNanos: 267_650n,
  models: [
    { ...breakdown(2), model: 'small-1', calls: 4_400, billedCalls: 4_300, averageNanos: 206_000n },
    { ...breakdown(1), model: 'large-2', calls: 1_032, billedCalls: 800, averageNanos: null },
  ],
  prices: [
    {
      version: 17n,
      model: 'small-1',
      effectiveFrom: ago({ days: 20 }),
      price: prices(1n),
      calls: 4_000,
      chargedNanos: 800_000_000n,
    },
    {
      version: 18n,
      model: 'large-2',
      effectiveFrom: ago({ days: 3 }),
      price: prices(7n),
      calls: 1_031,
      chargedNanos: 455_000_000n,
    },
  ],
  forecast: { availableNanos: 41_000_000_000n, perDayNanos: 1_190_000_000n, daysLeft: 34.4 },
}

export const AUTO_TOP_UP: Given<'GET /api/projects/:project/auto-top-up'> = {
  card: { brand: 'visa', last4: '4242', expMonth: 3, expYear: 2029 },
  settings: {
    thresholdNanos: 10_000_000_000n,
    amountNanos: 25_000_000_000n,
    monthMaxNanos: 200_000_000_000n,
    pausedAt: null,
    nextTryAt: null,
  },
  chargedThisMonthNanos: 75_000_000_000n,
  leftThisMonthNanos: 125_000_000_000n,
  hasTax: false,
}

const topUp = (id: string, days: number) => ({
  id,
  createdAt: ago({ days }),
  amountNanos: 25_000_000_000n,
  taxNanos: 0n,
  isAutomatic: id.startsWith('auto_'),
  failure: null,
})

const TOP_UPS: Given<'GET /api/projects/:project/top-ups'>['items'] = [
  { ...topUp('auto_1', 1), state: 'pending' },
  { ...topUp('auto_2', 2), state: 'failed', failure: 'The card has insufficient funds.' },
  { ...topUp('auto_3', 9), state: 'paid', taxNanos: 4_750_000_000n },
  { ...topUp('cs_4', 12), state: 'open' },
  { ...topUp('cs_5', 40), state: 'paid' },
]

export const MONEY: Replies = {
  'GET /api/projects/:project/onboarding': ONBOARDING,
  'POST /api/projects/:project/onboarding/dismiss': { done: true },
  'GET /api/projects/:project/home': HOME,
  'GET /api/projects/:project/wallet': WALLET,
  'GET /api/projects/:project/ledger': ({ query }) =>
    query.after === undefined
      ? { items: LEDGER, next: 'after-ledger' }
      : { items: [movement('topup', 40, { reference: 'pi_older' })], next: null },
  'PUT /api/projects/:project/wallet-alert': { alertNanos: 12_500_000_000n },
  'POST /api/projects/:project/checkouts': { id: 'cs_1', url: '/sign-in?paying=cs_1' },
  'GET /api/projects/:project/checkouts/:checkout': {
    state: 'paid',
    amountNanos: 25_000_000_000n,
    paidAt: ago({ seconds: 20 }),
  },
  'GET /api/projects/:project/auto-top-up': AUTO_TOP_UP,
  'PUT /api/projects/:project/auto-top-up': { done: true },
  'DELETE /api/projects/:project/auto-top-up': { done: true },
  'DELETE /api/projects/:project/card': { done: true },
  'GET /api/projects/:project/top-ups': ({ query }) =>
    query.after === undefined
      ? { items: TOP_UPS, next: 'cs_5' }
      : { items: [{ ...topUp('cs_6', 90), state: 'refunded' as const }], next: null },
  'GET /api/projects/:project/top-ups/:payment/invoice': { kind: 'invoice', url: '/sign-in?invoice=in_1' },
  'GET /api/projects/:project/usage': ({ query }) =>
    usageOf(
      query.by === 'key' ? 'key' : 'model',
      query.every === 'hour' ? 'hour' : 'day',
      query.by === 'key' ? KEYS : MODELS,
    ),
  'GET /api/publishers/:publisher/usage': ({ query }) =>
    usageOf(query.by === 'model' ? 'model' : 'project', 'day', query.by === 'model' ? MODELS : SITES),
  'GET /api/projects/:project/costs': COSTS,
}
