import type { UpstreamErrorKind } from '../../src/providers/provider.ts'
import { FINISH_REASONS, type ContentChunk, type FinishReason } from '../../src/rules/calls/chunk.ts'
import { LEASE_MS } from '../../src/rules/limits.ts'
import type { Nanos } from '../../src/rules/money.ts'
import type { Random } from '../support/random.ts'
import { UNLIMITED, type LimitRow } from './memory-tables.ts'
import { HIDDEN_TOKENS_MAX, MODEL_IDS } from './models.ts'

/** Everything that a seed decides beforehand: who calls when, what the providers do, and what goes wrong. */
export interface Scenario {
  gateways: number
  /** For each gateway. */
  callsMax: number
  wallets: { nanos: Nanos; concurrentCalls: number | null; limits: LimitPlan[] }[]
  calls: CallPlan[]
  mishaps: Mishap[]
  /** The actions of payers and their banks during the run. */
  payments: PaymentEvent[]
  weather: Weather
}

/** A limit of one of the wallet's key pairs, of every end user, or of one end user. */
export interface LimitPlan extends Omit<LimitRow, 'subject' | 'projectId'> {
  who: string | undefined
}

/** Told of once or twice, as a payment provider does. */
export type PaymentEvent = { atMs: number; wallet: number; isToldTwice: boolean } & (
  | { kind: 'topup'; nanos: Nanos }
  /** A share of the credit that the wallet began with; won back after a while, or not. */
  | { kind: 'chargeback'; percent: number; wonAfterMs: number | undefined }
)

export interface CallPlan {
  name: string
  atMs: number
  gateway: number
  wallet: number
  /** Names, of this wallet. */
  keyPair: string
  endUser: string | undefined
  model: string
  maxTokens: number | undefined
  isStreamed: boolean
  messages: readonly unknown[]
  key: string | undefined
  /** How many deployments the model has for this call. */
  deployments: number
  /** Draws the behaviour of the provider at the next attempt. */
  drawScript(): Script
  /** After the start of the call. */
  hangsUpAfterMs: number | undefined
  /** How long the caller takes to read on after a chunk; 0: at once. */
  readingMs(): number
  /** How many chunks are kept for the caller while it takes a break; then the provider is held up. */
  unreadMax: number
}

/** The behaviour of a provider at one attempt. */
export interface Script {
  firstAfterMs: number
  /** The tokens that the provider counts for an image. */
  imageTokens: number
  /** The tokens that the model thinks unseen before its first chunk. */
  hiddenTokens: number
  /** Reports prompt and thoughts with the first chunk, and not only in the end. */
  reportsSoFar: boolean
  chunks: TimedChunk[]
  ending:
    | { kind: 'complete'; reason: FinishReason; usage: UsageReport }
    | { kind: 'fails'; error: UpstreamErrorKind; status?: number; retryAfterSeconds?: number }
    | { kind: 'silent' }
  obeysMaxTokens: boolean
}

export interface TimedChunk {
  afterMs: number
  chunk: ContentChunk
  tokens: number
}

const USAGE_REPORTS = [
  'exact',
  'absent',
  'zero',
  'generous',
  'thinking',
  'cached',
  'negative',
  'not_a_number',
  'absurd',
] as const
export type UsageReport = (typeof USAGE_REPORTS)[number]

export type Mishap = { atMs: number; gateway: number } & (
  | { kind: 'crash'; restartsAfterMs: number | undefined }
  | { kind: 'pause'; forMs: number }
  | { kind: 'shut_down' }
)

/** How reliable the connections to the store are. */
export interface Weather {
  /** The share of statements that something happens to. */
  mishapShare: number
  slowShare: number
  outages: { fromMs: number; toMs: number }[]
  /** From here on nothing goes wrong any more, so that the end can be judged. */
  calmFromMs: number
}

/** Longer than the longest pause that begins while calls start. */
const CALM_FROM_MS = 240_000
const STARTS_WITHIN_MS = 6_000

/** The kinds of calls that a seed has many of, so that rare things meet each other. */
interface Taste {
  longShare: number
  hangUpShare: number
  keyShare: number
  /** The share of attempts that are refused before they begin, with one of `refusals`. */
  refusedShare: number
  refusals: readonly UpstreamErrorKind[]
}

export function drawScenario(random: Random): Scenario {
  // With all keys of a provider revoked or exhausted, calls of one deployment have nowhere to go.
  const isRefusing = random.next() < 0.15
  const taste: Taste = {
    longShare: random.pick([0.2, 0.8]),
    hangUpShare: random.pick([0, 0.3]),
    keyShare: random.pick([0, 0.15, 0.8]),
    refusedShare: isRefusing ? 0.8 : 0.2,
    refusals: isRefusing ? [random.pick(['key_rejected', 'rate_limited'])] : EARLY_FAILURES,
  }
  const gateways = 1 + random.int(3)
  const wallets = Array.from({ length: 1 + random.int(3) }, () => drawWallet(random))
  const bursts = Array.from({ length: 1 + random.int(3) }, () => random.int(STARTS_WITHIN_MS))
  const calls = Array.from({ length: 1 + random.int(12) }, (_, n) => {
    const atMs = random.pick(bursts) + random.int(30)
    return drawCall(random, taste, `call ${n + 1}`, atMs, random.int(gateways), random.int(wallets.length))
  })
  addRetries(random, taste, calls, gateways)
  return {
    gateways,
    callsMax: random.next() < 0.1 ? 2 : 1_000,
    wallets,
    calls,
    mishaps: drawMishaps(random, gateways, calls),
    payments: drawPayments(random, wallets.length, calls),
    weather: drawWeather(random),
  }
}

const RICH = [5_000_000, 50_000_000] as const
const WEALTHS = [[0, 30_000], [30_000, 250_000], [150_000, 900_000], RICH] as const

/** An answer of typical length holds about 160,000 nanos: from nothing at all to more than everybody needs. */
function drawWallet(random: Random): Scenario['wallets'][number] {
  const isLimited = random.next() < 0.6
  // Most limited wallets are rich: an amount that a wallet does not have is refused before its budgets matter.
  const [least, most] = isLimited && random.next() < 0.7 ? RICH : random.pick(WEALTHS)
  return {
    nanos: BigInt(least + random.int(most - least)),
    concurrentCalls: random.next() < 0.1 ? 1 + random.int(3) : null,
    limits: isLimited ? drawLimits(random) : [],
  }
}

const KEY_PAIRS = ['pair 1', 'pair 2']
const END_USERS = ['Ada', 'Bob', 'Cem']

function drawLimits(random: Random): LimitPlan[] {
  const plans: LimitPlan[] = [
    { scope: 'key_pair', who: random.pick(KEY_PAIRS), ...drawLimit(random) },
    { scope: 'end_users', who: undefined, ...drawLimit(random) },
    { scope: 'end_user', who: random.pick(END_USERS), ...drawLimit(random) },
  ]
  return plans.filter(() => random.next() < 0.8)
}

/** Mostly a budget; as with wallets, from next to nothing to enough for a few answers. */
function drawLimit(random: Random) {
  const nanos = () => BigInt(random.int(random.pick([40_000, 250_000, 250_000, 900_000])))
  return random.pick([
    { ...UNLIMITED, dayNanos: nanos() },
    { ...UNLIMITED, totalNanos: nanos() },
    { ...UNLIMITED, dayNanos: nanos(), totalNanos: nanos() },
    { ...UNLIMITED, concurrentCalls: 1 + random.int(2) },
    { ...UNLIMITED, requestsPerMinute: 1 + random.int(4) },
  ])
}

function drawCall(random: Random, taste: Taste, name: string, atMs: number, gateway: number, wallet: number): CallPlan {
  const isSlowReader = random.next() < 0.2
  const isBounded = random.next() < 0.45
  const model = random.pick(MODEL_IDS)
  return {
    name,
    atMs,
    gateway,
    wallet,
    keyPair: random.pick(KEY_PAIRS),
    endUser: random.next() < 0.7 ? random.pick(END_USERS) : undefined,
    model,
    maxTokens: isBounded ? random.pick([1, 5, 1 + random.int(80), 400, 6_000, 999_999_999]) : undefined,
    isStreamed: random.next() < 0.7,
    messages: [
      said('Tell me more about the tea of this river. '.repeat(1 + random.int(6)), random.next() < 0.1 ? 1 : 0),
    ],
    key: undefined,
    deployments: 1 + random.int(3),
    drawScript: () => drawScript(random, taste, model === 'thinking'),
    hangsUpAfterMs: random.next() < taste.hangUpShare ? random.int(random.pick([20, 800, 6_000])) : undefined,
    unreadMax: random.pick([0, 2, 1_000]),
    readingMs: () => (isSlowReader && random.next() < 0.3 ? random.int(random.pick([50, 3_000, 45_000])) : 0),
  }
}

/** Returns the message of a user, with its text and images. */
export function said(text: string, images = 0): unknown {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  const parts = [{ type: 'text', text }, ...Array.from({ length: images }, () => image)]
  return { role: 'user', content: images === 0 ? text : parts }
}

function drawScript(random: Random, taste: Taste, isHiding: boolean): Script {
  const isLong = random.next() < taste.longShare
  const gapMs = random.pick([0, 5, 60, 400])
  const chunks = Array.from({ length: random.int(isLong ? 30 : 8) }, () => drawChunk(random, gapMs, isLong))
  const chance = random.next()
  // A first attempt that is refused is what the second one exists for.
  const isRefused = random.next() < taste.refusedShare
  return {
    firstAfterMs: random.int(random.pick([3, 50, 2_000])),
    imageTokens: random.pick([85, 1_600, 25_000]),
    hiddenTokens: isHiding ? random.int(HIDDEN_TOKENS_MAX) : 0,
    reportsSoFar: random.next() < 0.2,
    chunks: isRefused ? [] : chunks,
    ending: isRefused
      ? drawEarlyFailure(random, taste)
      : chance < 0.75
        ? { kind: 'complete', reason: random.pick(FINISH_REASONS), usage: drawUsageReport(random) }
        : chance < 0.95
          ? chunks.length === 0
            ? drawEarlyFailure(random, taste)
            : { kind: 'fails', error: random.pick(LATE_FAILURES) }
          : { kind: 'silent' },
    obeysMaxTokens: random.next() < 0.8,
  }
}

function drawEarlyFailure(random: Random, { refusals }: Taste): Script['ending'] {
  const error = random.pick(refusals)
  if (error === 'rate_limited' && random.next() < 0.5)
    return { kind: 'fails', error, status: 429, retryAfterSeconds: 1 + random.int(60) }
  // Mostly the one that disables a key whoever meets it: 402 and 403 take two publishers.
  if (error === 'key_rejected') return { kind: 'fails', error, status: random.pick([401, 401, 401, 402, 403]) }
  return error === 'server_error' ? { kind: 'fails', error, status: random.pick([500, 503]) } : { kind: 'fails', error }
}

function drawUsageReport(random: Random): UsageReport {
  return random.next() < 0.45 ? 'exact' : random.pick(USAGE_REPORTS)
}

/** Each begins with a space: so many tokens alone, and as many anywhere in a text, however it is cut into pieces. */
const WORDS = [
  { text: ' tea', tokens: 1 },
  { text: ' día', tokens: 1 },
  { text: ' 紅茶', tokens: 3 },
]

function drawChunk(random: Random, gapMs: number, isLong: boolean): TimedChunk {
  const word = random.pick(WORDS)
  const count = 1 + random.int(isLong ? 40 : 12)
  const text = word.text.repeat(count)
  const chance = random.next()
  const chunk: ContentChunk =
    chance < 0.8
      ? { type: 'text', text }
      : chance < 0.9
        ? { type: 'reasoning', text }
        : { type: 'tool_call', index: 0, id: 'tool', name: undefined, arguments: text }
  return { afterMs: random.int(gapMs + 1), chunk, tokens: word.tokens * count }
}

const EARLY_FAILURES: readonly UpstreamErrorKind[] = [
  'refused',
  'reset',
  'server_error',
  'connect_timeout',
  'rate_limited',
  'key_rejected',
  'rejected',
  'error_in_200',
]
const LATE_FAILURES: readonly UpstreamErrorKind[] = ['truncated', 'bad_event', 'error_in_200', 'total_timeout']

/** Some callers give their call a key and send it again: while it runs, soon after, or when its gateway is long dead. */
function addRetries(random: Random, taste: Taste, calls: CallPlan[], gateways: number): void {
  for (const [n, first] of [...calls].entries()) {
    if (random.next() >= taste.keyShare) continue
    first.key = `key-${n + 1}`
    for (let retry = 1; retry <= 1 + random.int(2); retry++) {
      const laterMs = random.pick([random.int(50), random.int(5_000), LEASE_MS + random.int(40_000)])
      calls.push({
        ...first,
        name: `${first.name}${'abc'.charAt(retry - 1)}`,
        atMs: first.atMs + laterMs,
        gateway: random.int(gateways),
        messages: random.next() < 0.05 ? [said('Something else.')] : first.messages,
      })
    }
  }
}

function drawMishaps(random: Random, gateways: number, calls: readonly CallPlan[]): Mishap[] {
  return Array.from({ length: random.int(4) }, (): Mishap => {
    // Close to a call that begins or runs, where it hurts.
    const call = random.pick(calls)
    const atMs = call.atMs + random.int(random.pick([6, 300, 5_000]))
    const gateway = random.next() < 0.7 ? call.gateway : random.int(gateways)
    const chance = random.next()
    if (chance < 0.4) {
      const restartsAfterMs = random.next() < 0.5 ? 500 + random.int(10_000) : undefined
      return { kind: 'crash', atMs, gateway, restartsAfterMs }
    }
    if (chance < 0.9) {
      const forMs = random.next() < 0.3 ? random.int(20_000) : LEASE_MS + 10_000 + random.int(80_000)
      return { kind: 'pause', atMs, gateway, forMs }
    }
    return { kind: 'shut_down', atMs, gateway }
  })
}

/** In the middle of calls, where credit is held, and long after them. */
function drawPayments(random: Random, wallets: number, calls: readonly CallPlan[]): PaymentEvent[] {
  if (random.next() < 0.5) return []
  return Array.from({ length: 1 + random.int(4) }, (): PaymentEvent => {
    const atMs = random.pick(calls).atMs + random.int(random.pick([6, 300, 5_000, 90_000]))
    const event = { atMs, wallet: random.int(wallets), isToldTwice: random.next() < 0.3 }
    if (random.next() < 0.3) return { ...event, kind: 'topup', nanos: BigInt(1 + random.int(500_000)) }
    const wonAfterMs = random.next() < 0.4 ? random.int(20_000) : undefined
    return { ...event, kind: 'chargeback', percent: random.pick([10, 60, 100]), wonAfterMs }
  })
}

function drawWeather(random: Random): Weather {
  const [mishapShare, slowShare] = random.pick([
    [0, 0],
    [0.02, 0.1],
    [0.15, 0.02],
    [0.4, 0.05],
  ] as const)
  const outages = Array.from({ length: random.next() < 0.25 ? 1 : 0 }, () => {
    const fromMs = random.int(STARTS_WITHIN_MS + 2_000)
    return { fromMs, toMs: fromMs + random.int(random.pick([600, 5_000, 40_000, 90_000])) }
  })
  return { mishapShare, slowShare, outages, calmFromMs: CALM_FROM_MS }
}
