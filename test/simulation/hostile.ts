import { costOf } from '../../src/rules/billing/pricing.ts'
import { createRandom, type Random } from '../support/random.ts'
import { blanks, evading, island, prose } from '../exactness/texts.ts'
import { HIDDEN_TOKENS_MAX, MODEL_IDS, modelBy } from './models.ts'
import { said, type CallPlan, type PaymentEvent, type TimedChunk, type Scenario, type Script } from './scenario.ts'
import { simulateScenario } from './simulate.ts'
import { installVirtualTime, type VirtualTime } from './virtual-time.ts'

/**
 * A tenant who looks for the cheapest way: what it sends, how long it reads and when it leaves is a strategy, and the
 * providers are honest. What it pays is compared with what they bill for what it caused.
 */
export interface Strategy {
  funds: number
  topUps: readonly { atMs: number; nanos: number }[]
  moves: readonly Move[]
}

export interface Move {
  atMs: number
  model: string
  prompt: number
  /** Where the prompt stands. */
  place: Place
  images: number
  imageTokens: number
  maxTokens: number | undefined
  isStreamed: boolean
  hasKey: boolean
  /** The behaviour that it demands of the model. */
  hiddenTokens: number
  firstAfterMs: number
  chunks: number
  wordsPerChunk: number
  gapMs: number
  isThinkingAloud: boolean
  reportsSoFar: boolean
  /** How it ends, and how it reads. */
  hangsUpAfterMs: number | undefined
  breakMs: number
  breakEvery: number
}

export interface Result {
  paid: bigint
  billed: bigint
  violations: readonly string[]
}

const random = createRandom(7)
const PROMPTS = [
  'Hi.',
  prose(random, 4_000),
  prose(random, 60_000),
  evading(random, 60_000),
  blanks(random, 50_000),
  island(random, 60_000),
]

export async function play(strategy: Strategy, time: VirtualTime): Promise<Result> {
  const world = await simulateScenario(scenarioOf(strategy), createRandom(strategy.moves.length), time)
  const { tables } = world.bank
  const late = tables.transfers.filter(({ kind }) => kind === 'late_charge')
  const charged = tables.charges.reduce((sum, charge) => sum + charge.charged, 0n)
  const billed = [...world.records.values()].reduce((sum, { plan, attempts }) => {
    return attempts.reduce((ofCall, attempt) => ofCall + costOf(attempt.billed, modelBy(plan.model).price), sum)
  }, 0n)
  return { paid: late.reduce((sum, { amount }) => sum + amount, charged), billed, violations: world.violations }
}

/** Returns the paid share of the providers' bill; 1 if they billed nothing. */
export function shareOf({ paid, billed }: Result): number {
  return billed === 0n ? 1 : Number(paid) / Number(billed)
}

function scenarioOf({ funds, topUps, moves }: Strategy): Scenario {
  return {
    gateways: 1,
    callsMax: 1_000,
    wallets: [{ nanos: BigInt(funds), concurrentCalls: null, limits: [] }],
    calls: moves.map(planOf),
    mishaps: [],
    payments: topUps.map(({ atMs, nanos }): PaymentEvent => {
      return { atMs, wallet: 0, isToldTwice: false, kind: 'topup', nanos: BigInt(nanos) }
    }),
    weather: { mishapShare: 0, slowShare: 0, outages: [], calmFromMs: 0 },
  }
}

function planOf(move: Move, n: number): CallPlan {
  let chunks = 0
  return {
    name: `call ${n + 1}`,
    atMs: move.atMs,
    gateway: 0,
    wallet: 0,
    keyPair: 'pair 1',
    endUser: undefined,
    model: move.model,
    maxTokens: move.maxTokens,
    isStreamed: move.isStreamed,
    messages: messagesOf(move),
    key: move.hasKey ? `key-${n}` : undefined,
    deployments: 1,
    drawScript: () => scriptOf(move),
    hangsUpAfterMs: move.hangsUpAfterMs,
    unreadMax: 1_000,
    readingMs: () => (move.breakMs > 0 && ++chunks % move.breakEvery === 0 ? move.breakMs : 0),
  }
}

const CALL = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{}' } }

/** Every field that is sent on is one in which something long may stand. */
const PLACES = {
  'a message': (text: string) => [said(text)],
  instructions: (text: string) => [{ role: 'system', content: text }, said('Hi.')],
  'a refusal': (text: string) => [said('Hi.'), { role: 'assistant', refusal: text }, said('So?')],
  arguments: (text: string) => [
    said('Hi.'),
    { role: 'assistant', tool_calls: [{ ...CALL, function: { name: 'look_up', arguments: text } }] },
    { role: 'tool', tool_call_id: CALL.id, content: 'There.' },
  ],
  'an id': (text: string) => [
    said('Hi.'),
    { role: 'assistant', tool_calls: [{ ...CALL, id: text }] },
    { role: 'tool', tool_call_id: text, content: 'There.' },
  ],
}
type Place = keyof typeof PLACES

function messagesOf({ prompt, place, images }: Move): unknown[] {
  const messages = PLACES[place](PROMPTS[prompt] ?? '')
  return images > 0 ? [...messages, said('Look.', images)] : messages
}

/** Faster than any model writes: what is written between a decision to cancel and its effect is lost, and must be little. */
const MS_PER_TOKEN = 2

function scriptOf(move: Move): Script {
  const text = ' tea'.repeat(move.wordsPerChunk)
  const hiddenTokens = move.model === 'thinking' ? move.hiddenTokens : 0
  const longest = modelBy(move.model).maxOutputTokens ?? 100_000
  const chunkAt = (n: number): TimedChunk => ({
    afterMs: Math.max(move.gapMs, move.wordsPerChunk * MS_PER_TOKEN),
    tokens: move.wordsPerChunk,
    chunk: { type: move.isThinkingAloud && n < move.chunks / 2 ? 'reasoning' : 'text', text },
  })
  return {
    firstAfterMs: Math.max(move.firstAfterMs, hiddenTokens * MS_PER_TOKEN),
    hiddenTokens,
    imageTokens: move.imageTokens,
    reportsSoFar: move.reportsSoFar,
    // No model writes more than it can.
    chunks: Array.from({ length: Math.min(move.chunks, Math.floor(longest / move.wordsPerChunk)) }, (_, n) =>
      chunkAt(n),
    ),
    ending: { kind: 'complete', reason: 'stop', usage: 'exact' },
    obeysMaxTokens: true,
  }
}

const PAID_MODELS = MODEL_IDS.filter((id) => id !== 'free')

export function drawMove(chance: Random): Move {
  return {
    atMs: chance.int(chance.pick([20, 2_000, 30_000])),
    model: chance.pick(PAID_MODELS),
    prompt: chance.next() < 0.85 ? chance.int(2) : chance.int(PROMPTS.length),
    place: chance.pick(Object.keys(PLACES) as Place[]),
    images: chance.next() < 0.8 ? 0 : 1 + chance.int(2),
    imageTokens: chance.pick([85, 1_105, 25_000, 30_000]),
    maxTokens: chance.next() < 0.5 ? undefined : chance.pick([1, 40, 400, 4_000, 1_000_000]),
    isStreamed: chance.next() < 0.8,
    hasKey: chance.next() < 0.1,
    hiddenTokens: chance.int(HIDDEN_TOKENS_MAX),
    firstAfterMs: chance.int(chance.pick([5, 400, 20_000])),
    chunks: chance.int(chance.pick([3, 40])),
    wordsPerChunk: 1 + chance.int(60),
    gapMs: chance.int(chance.pick([3, 80, 2_000])),
    isThinkingAloud: chance.next() < 0.2,
    reportsSoFar: chance.next() < 0.2,
    hangsUpAfterMs: chance.next() < 0.4 ? undefined : chance.int(chance.pick([10, 900, 30_000])),
    breakMs: chance.next() < 0.7 ? 0 : chance.int(chance.pick([500, 4_000, 40_000])),
    breakEvery: 1 + chance.int(10),
  }
}

export function drawStrategy(chance: Random): Strategy {
  return {
    funds: chance.int(chance.pick([50_000, 2_000_000, 200_000_000])),
    topUps: Array.from({ length: chance.int(3) }, () => ({
      atMs: chance.int(20_000),
      nanos: 1 + chance.int(3_000_000),
    })),
    moves: Array.from({ length: 1 + chance.int(8) }, () => drawMove(chance)),
  }
}

/** Another strategy that is like this one. */
function changed(strategy: Strategy, chance: Random): Strategy {
  const at = chance.int(strategy.moves.length)
  const move = strategy.moves[at]!
  const fresh = drawMove(chance)
  const field = chance.pick(Object.keys(move)) as keyof Move
  switch (chance.int(5)) {
    case 0:
      return { ...strategy, funds: drawStrategy(chance).funds }
    case 1:
      return { ...strategy, moves: [...strategy.moves.slice(0, 9), fresh] }
    case 2:
      return strategy.moves.length > 1 ? { ...strategy, moves: strategy.moves.toSpliced(at, 1) } : strategy
    default:
      return { ...strategy, moves: strategy.moves.with(at, { ...move, [field]: fresh[field] }) }
  }
}

const KEPT = 20

export interface Search {
  tried: number
  billed: bigint
  cheapest: { strategy: Strategy; result: Result }
  violations: string[]
}

/** Draws strategies, keeps the cheapest, and goes on from those: half of what it tries is like one that was cheap. */
export async function searchCheapest(tries: number, seed: number): Promise<Search> {
  const time = installVirtualTime()
  const chance = createRandom(seed)
  let best: Search['cheapest'][] = []
  const violations: string[] = []
  let billed = 0n
  for (let tried = 0; tried < tries; tried++) {
    const isFresh = best.length < KEPT || chance.next() < 0.5
    const strategy = isFresh ? drawStrategy(chance) : changed(chance.pick(best).strategy, chance)
    const result = await play(strategy, time)
    violations.push(...result.violations)
    billed += result.billed
    best = [...best, { strategy, result }].toSorted((a, b) => shareOf(a.result) - shareOf(b.result)).slice(0, KEPT)
  }
  time.restore()
  return { tried: tries, billed, cheapest: best[0]!, violations }
}
