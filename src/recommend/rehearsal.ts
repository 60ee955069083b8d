import { uuidv7 } from '../platform/uuid.ts'
import { DAY_MS, SECOND_MS } from '../rules/durations.ts'
import type { Nanos } from '../rules/money.ts'
import type { MonetizationSettings } from '../rules/recommendations/matching.ts'
import {
  REHEARSED_BYTES_MAX,
  REHEARSED_MAX,
  REHEARSED_MESSAGES_MAX,
  repliesIn,
  settingsOfRehearsal,
  type Readable,
  type Verdict,
} from '../rules/recommendations/rehearsal.ts'
import {
  categoriesOf,
  createRehearsalSums,
  earningsOf,
  USUAL_SHARE_BPS,
  type Counted,
  type RehearsalFigures,
  type RehearsalSums,
} from '../rules/recommendations/rehearsal-figures.ts'
import type { Db } from '../store/database.ts'
import { findMonetization } from '../store/recommendations/monetization.ts'
import {
  countConversationsSince,
  findCategories,
  findShareBps,
  listKeptConversations,
  type KeptConversation,
} from '../store/recommendations/rehearsals.ts'
import type { RehearsalClient } from './rehearsal-client.ts'
import { BATCH_BYTES_MAX, BATCH_CONVERSATIONS_MAX, type RehearsalRequest } from './rehearsal-wire.ts'

/**
 * One rehearsal of a project: reads what is kept of its conversations page by page, has a matcher look at each, and adds
 * up. Everything is in memory and goes with the last reader; leaving in the middle ends it at the matcher, too.
 */

export const REHEARSED_DAYS = 30
/** Somebody waits for it. What was not looked at by then is left out, and said. */
const WITHIN_MS = 90 * SECOND_MS
/** So that the matcher never waits for the store, nor its encoders for a request. */
const REQUESTS_AT_ONCE = 4
const COUNTED_MAX = 100_000
const TEXT_MAX = 1_200

export interface RehearsalOptions {
  client: RehearsalClient
  projectId: string
  publisherId: string
  /** A transaction of whoever asks: each page is read in one of its own. */
  inTransaction<T>(work: (tx: Db) => Promise<T>): Promise<T>
  signal: AbortSignal
  withinMs?: number
}

export interface RehearsalProgress {
  seen: number
  /** How many conversations there are to look at. */
  of: number
  replies: number
  recommended: number
}

export interface RehearsalResult extends Omit<RehearsalFigures, 'offers' | 'pricesNanos'> {
  /** The conversations that were looked at, newest first, and how many there are. */
  looked: { conversations: number; of: number; isMore: boolean }
  categories: Counted[]
  earnings: { fewNanos: Nanos; manyNanos: Nanos; shareBps: number }
}

export type RehearsalStep = { progress: RehearsalProgress } | { result: RehearsalResult }

export async function* rehearse(options: RehearsalOptions): AsyncGenerator<RehearsalStep> {
  const { client, projectId, publisherId, inTransaction, withinMs = WITHIN_MS } = options
  const over = new AbortController()
  const signal = AbortSignal.any([options.signal, over.signal])
  const id = uuidv7()
  const startedMs = performance.now()
  const since = new Date(Date.now() - REHEARSED_DAYS * DAY_MS)
  const sums = createRehearsalSums()
  let seen = 0
  try {
    const { settings, found } = await inTransaction(async (tx) => ({
      settings: await findMonetization(tx, projectId),
      found: await countConversationsSince(tx, projectId, since, COUNTED_MAX + 1),
    }))
    const of = Math.min(found, REHEARSED_MAX)
    const progress = () => ({ progress: { seen, of, replies: sums.replies, recommended: sums.recommended } })
    yield progress()
    const asked: Promise<Heard>[] = []
    const isLate = () => performance.now() - startedMs >= withinMs
    const hear = async (first: Promise<Heard>) => {
      const { batch, verdicts } = await first
      seen += batch.length
      for (const [n, conversation] of batch.entries()) addTo(sums, conversation, verdicts[n] ?? [])
    }
    for await (const batch of batchesOf({ projectId, inTransaction, since, settings, signal }, isLate)) {
      const asks = { id, projectId, publisherId, settings: settingsOfRehearsal(settings) }
      const request = { ...asks, conversations: batch.map(partOf) }
      asked.push(heardOf(client, request, batch, signal))
      const [first] = asked
      if (asked.length < REQUESTS_AT_ONCE || !first) continue
      void asked.shift()
      await hear(first)
      yield progress()
    }
    for (const rest of asked) {
      await hear(rest)
      yield progress()
    }
    const looked = { conversations: seen, of: Math.min(found, COUNTED_MAX), isMore: found > COUNTED_MAX }
    yield { result: await inTransaction((tx) => resultOf(tx, projectId, sums.figures(), looked)) }
  } finally {
    over.abort()
    await client.end({ id, projectId })
  }
}

/** With all that is needed to say where a placement is. */
interface Rehearsed extends Readable {
  id: string
}

interface Heard {
  batch: readonly Rehearsed[]
  verdicts: Verdict[][]
}

function heardOf(
  client: RehearsalClient,
  request: RehearsalRequest,
  batch: readonly Rehearsed[],
  signal: AbortSignal,
): Promise<Heard> {
  const heard = client.ask(request, signal).then((verdicts) => ({ batch, verdicts }))
  // Its turn to be read may never come.
  heard.catch(() => {})
  return heard
}

function partOf({ turns, replies }: Rehearsed) {
  return { turns, replies }
}

interface Reading extends Pick<RehearsalOptions, 'projectId' | 'inTransaction' | 'signal'> {
  since: Date
  settings: MonetizationSettings
}

/** As many conversations as fit into one request, until there are no more or it is late. */
async function* batchesOf(reading: Reading, isLate: () => boolean): AsyncGenerator<Rehearsed[]> {
  const { settings, since, signal } = reading
  let batch: Rehearsed[] = []
  let bytes = 0
  for await (const { id, messages } of conversationsOf(reading)) {
    signal.throwIfAborted()
    const rehearsed = { id, ...repliesIn(messages, settings, since) }
    const size = rehearsed.turns.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
    if (batch.length >= BATCH_CONVERSATIONS_MAX || (batch.length > 0 && bytes + size > BATCH_BYTES_MAX)) {
      yield batch
      if (isLate()) return
      batch = []
      bytes = 0
    }
    batch.push(rehearsed)
    bytes += size
  }
  if (batch.length > 0) yield batch
}

async function* conversationsOf({ projectId, inTransaction, since }: Reading): AsyncGenerator<KeptConversation> {
  let read = 0
  let before: KeptConversation | undefined
  while (read < REHEARSED_MAX) {
    const page = await inTransaction((tx) =>
      listKeptConversations(tx, projectId, {
        since,
        before,
        conversationsMax: Math.min(BATCH_CONVERSATIONS_MAX, REHEARSED_MAX - read),
        messagesMax: REHEARSED_MESSAGES_MAX,
        bytesMax: REHEARSED_BYTES_MAX,
      }),
    )
    yield* page
    read += page.length
    before = page.at(-1)
    if (page.length < BATCH_CONVERSATIONS_MAX) return
  }
}

function addTo(sums: RehearsalSums, { id, turns, replies, times, unread }: Rehearsed, verdicts: Verdict[]): void {
  sums.addConversation(unread, replies.length)
  for (const [n, verdict] of verdicts.entries()) {
    const { before = 0 } = replies[n] ?? {}
    sums.add(verdict, () => ({
      conversation: id,
      at: times[n] ?? new Date(0),
      said: shortened(turns[before - 1]?.text ?? ''),
      answer: shortened(turns[before]?.text ?? ''),
    }))
  }
}

function shortened(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)} …`
}

async function resultOf(
  tx: Db,
  projectId: string,
  { offers, pricesNanos, ...figures }: RehearsalFigures,
  looked: RehearsalResult['looked'],
): Promise<RehearsalResult> {
  const categories = categoriesOf(offers, await findCategories(tx, [...offers.keys()]))
  const shareBps = await findShareBps(tx, projectId, USUAL_SHARE_BPS)
  return { ...figures, looked, categories, earnings: { ...earningsOf(pricesNanos, shareBps), shareBps } }
}
