/**
 * Measures how much live replies are slowed down while new offers are indexed, and how quickly the offers are. Replies
 * arrive at a steady rate, whatever becomes of them, and are judged and matched with the deadlines of a gateway; the offers
 * have no vectors yet, as after the import of a new feed.
 *
 *   npm run bench:indexing -- [--offers 5000] [--new 2500] [--calls 18]
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { uuidv7 } from '../src/platform/uuid.ts'
import type { MatcherClient } from '../src/recommend/matcher-client.ts'
import { findOrSeed } from './matcher-seed.ts'
import { askLive, startLiveMatcher, type LiveReply } from './recommend/live-matcher.ts'
import { readConversations, type Conversation } from './recommend/sets.ts'

const DIRECTORY = join(import.meta.dirname, '../.parley/bench-indexing')
const READY_WITHIN_MS = 60_000
/** The deadlines of a gateway, and as long as a model takes to answer. */
const AS_A_GATEWAY = { judgeWithinMs: 2_000, answeredAfterMs: 400, matchWithinMs: 150 }
/** Long enough for a share, where nothing is indexed. */
const CONVERSATIONS = 60
const ANSWER_CHARACTERS = 250
const QUIET_MS = 15_000

const { values } = parseArgs({
  options: {
    offers: { type: 'string', default: '5000' },
    new: { type: 'string', default: '2500' },
    calls: { type: 'string', default: '18' },
  },
})

const PROJECTS = Array.from({ length: 10 }, () => uuidv7())
let round = 1

await measure(Number(values.offers), Number(values.new), Number(values.calls))

async function measure(offers: number, fresh: number, callsPerSecond: number): Promise<void> {
  const databaseUrl = await findOrSeed({ offers, data: undefined, isFresh: false })
  const database = new Client({ connectionString: databaseUrl })
  await database.connect()
  await rm(DIRECTORY, { recursive: true, force: true })
  const { client, stop } = await startLiveMatcher(databaseUrl, DIRECTORY, READY_WITHIN_MS)
  try {
    const asked = await matchedWhenAsked(client)
    report('nothing is indexed', await replies(client, asked, callsPerSecond, AbortSignal.timeout(QUIET_MS)))
    const startedMs = performance.now()
    await makeNew(database, fresh)
    const indexed = new AbortController()
    const during = replies(client, asked, callsPerSecond, indexed.signal)
    while ((await unembedded(database)) > 0) await sleep(500)
    const seconds = (performance.now() - startedMs) / 1_000
    indexed.abort()
    report('new offers are indexed', await during)
    console.log(
      `${fresh} new offers in ${seconds.toFixed(0)} s, ${(fresh / seconds).toFixed(0)} a second; load ${loadavg()[0]?.toFixed(1)}`,
    )
  } finally {
    await Promise.all([stop(), database.end()])
  }
}

/** So many of the offers get words that nobody has embedded. */
async function makeNew(database: Client, count: number): Promise<void> {
  await database.query(
    `update offers set title = left(title, 130) || ' ' || left(gen_random_uuid()::text, 8),
       text_hash = sha256(gen_random_uuid()::text::bytea)
     where id in (select id from offers order by id limit $1)`,
    [count],
  )
}

async function unembedded(database: Client): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'select count(*)::int from offers where not exists (select from text_vectors where digest = text_hash)',
  )
  return rows[0]?.count ?? 0
}

type Outcomes = Map<string, number>

/** Short ones that have a recommendation when there is time: all of them should have it while offers are indexed. */
async function matchedWhenAsked(client: MatcherClient): Promise<Conversation[]> {
  const found: Conversation[] = []
  for (const { turns, answer, ...rest } of readConversations()) {
    const short = { ...rest, turns: turns.slice(-1), answer: answer.slice(0, ANSWER_CHARACTERS) }
    const reply = { ...liveReply(short, 0), answeredAfterMs: 0, matchWithinMs: 20_000 }
    if ((await askLive(client, reply)) === 'matched') found.push(short)
    if (found.length === CONVERSATIONS) break
  }
  return found
}

/** One begins whenever it is time, also while others wait. */
async function replies(
  client: MatcherClient,
  conversations: readonly Conversation[],
  perSecond: number,
  until: AbortSignal,
): Promise<Outcomes> {
  const running: Promise<string>[] = []
  const startedMs = performance.now()
  while (!until.aborted) {
    const n = round++
    const conversation = conversations[n % conversations.length] ?? assert.fail('no conversations')
    running.push(askLive(client, liveReply(conversation, n)))
    await sleep(Math.max(0, startedMs + (running.length * 1_000) / perSecond - performance.now()))
  }
  const outcomes: Outcomes = new Map()
  for (const outcome of await Promise.all(running)) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  return outcomes
}

function liveReply(conversation: Conversation, n: number): LiveReply {
  return { conversation, mark: String(n), projectId: PROJECTS[n % PROJECTS.length], ...AS_A_GATEWAY }
}

function report(when: string, outcomes: Outcomes): void {
  const count = outcomes.values().reduce((sum, more) => sum + more, 0)
  const matched = outcomes.get('matched') ?? 0
  const rest = [...outcomes].filter(([name]) => name !== 'matched').map(([name, times]) => `${name} ${times}`)
  console.log(
    `while ${when}: ${matched} of ${count} replies matched (${((100 * matched) / count).toFixed(1)}%); ${rest.join(', ')}`,
  )
}
