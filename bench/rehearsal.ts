/**
 * How long a rehearsal takes (of 10,000 stored conversations: under 60 s on two cores), and what live replies notice of it.
 * The matcher is a process of its own, the conversations are in PostgreSQL, and the rehearsal is the one that the console
 * and the command line run.
 *
 *   npm run bench:rehearsal -- [--conversations 10000] [--offers 10000]
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { findOrStartPostgres } from '../scripts/postgres.ts'
import { uuidv7 } from '../src/platform/uuid.ts'
import type { MatcherClient } from '../src/recommend/matcher-client.ts'
import { rehearse, type RehearsalOptions, type RehearsalResult } from '../src/recommend/rehearsal.ts'
import { createRehearsalClient } from '../src/recommend/rehearsal-client.ts'
import { openStore } from '../src/store/database.ts'
import type { Started } from '../test/support/commands.ts'
import { createRandom } from '../test/support/random.ts'
import { findOrSeed } from './matcher-seed.ts'
import { askLive, startLiveMatcher } from './recommend/live-matcher.ts'
import { readConversations, readTalks } from './recommend/sets.ts'

const DIRECTORY = join(import.meta.dirname, '../.parley/bench-rehearsal')
const NEVER = new AbortController().signal
const READY_WITHIN_MS = 10 * 60_000
const LIVE_EVERY_MS = 500
const LIVE_WITHIN_MS = 20_000

const { values } = parseArgs({
  options: { conversations: { type: 'string', default: '10000' }, offers: { type: 'string', default: '10000' } },
})

const postgres = await findOrStartPostgres({ dataDir: join(tmpdir(), 'parley-bench-postgres'), alwaysPrivate: true })
process.env.PARLEY_TEST_POSTGRES_URL = postgres.url
try {
  await measure(Number(values.conversations), Number(values.offers))
} finally {
  await postgres.stop()
}

async function measure(conversations: number, offers: number): Promise<void> {
  const databaseUrl = await findOrSeed({ offers, data: undefined, isFresh: false })
  const projectId = uuidv7()
  const kept = await keepConversations(databaseUrl, projectId, conversations)
  const { matcher, url, token, client: live, stop } = await startLiveMatcher(databaseUrl, DIRECTORY, READY_WITHIN_MS)
  const store = openStore({ url: databaseUrl, applicationName: 'parley bench rehearsal' })
  const client = createRehearsalClient({ url, token })
  try {
    const before = await liveMs(live, AbortSignal.timeout(10_000), 0)
    const done = new AbortController()
    const during = liveMs(live, done.signal, 1_000_000)
    const cpuBefore = await cpuSecondsOf(matcher)
    const startedMs = performance.now()
    const inTransaction: RehearsalOptions['inTransaction'] = (work) => store.db.transaction().execute(work)
    let result: RehearsalResult | undefined
    const whose = { projectId, publisherId: uuidv7() }
    for await (const step of rehearse({ client, ...whose, inTransaction, signal: NEVER, withinMs: READY_WITHIN_MS })) {
      if ('result' in step) result = step.result
    }
    const seconds = (performance.now() - startedMs) / 1_000
    const cpu = (await cpuSecondsOf(matcher)) - cpuBefore
    done.abort()
    report({ result: result ?? assert.fail('no result'), kept, seconds, cpu, before, during: await during })
  } finally {
    await Promise.all([client.close(), stop(), store.close()])
  }
}

/** Returns the last message of the user in each talk. */
function lastSaid(talks: readonly { turns: readonly { role: string; text: string }[] }[]): string[] {
  return talks.map(({ turns }) => turns.findLast(({ role }) => role === 'user')?.text ?? '')
}

function shareOf(all: number[], share: number): string {
  return (all[Math.floor(all.length * share)] ?? 0).toFixed(0)
}

interface Kept {
  messages: number
  characters: number
}

/** One to three exchanges each: seven tenths of talk, two of shopping, one of what is sensitive. No text comes twice. */
async function keepConversations(databaseUrl: string, projectId: string, count: number): Promise<Kept> {
  const commercial = readConversations()
  const talk = lastSaid(readTalks('everyday'))
  const sensitive = lastSaid(readTalks('sensitive-2'))
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  const kept = { messages: 0, characters: 0 }
  try {
    // The bench is about matching: the rows stand for themselves.
    await client.query('set session_replication_role = replica')
    for (let first = 0; first < count; first += 500) {
      const rows = Array.from({ length: Math.min(500, count - first) }, (_, n) => conversationOf(first + n))
      await client.query(
        `insert into conversations (project_id, id, last_call_at)
         select $1, id, now() - interval '1 second' * n from unnest($2::text[], $3::int[]) as c (id, n)`,
        [projectId, rows.map(({ id }) => id), rows.map((_, n) => first + n)],
      )
      const messages = rows.flatMap(({ id, said: all }) => all.map((message) => ({ id, ...message })))
      kept.messages += messages.length
      kept.characters += messages.reduce((sum, { text }) => sum + text.length, 0)
      await client.query(
        `insert into messages (project_id, conversation_id, digest, occurrence, role, content, call_id)
         select $1, id, decode(digest, 'hex'), 1, role, json_build_object('content', text), $1
         from unnest($2::text[], $3::text[], $4::text[], $5::text[]) as m (id, digest, role, text)`,
        [
          projectId,
          messages.map(({ id }) => id),
          messages.map(() => randomBytes(16).toString('hex')),
          messages.map(({ role }) => role),
          messages.map(({ text }) => text),
        ],
      )
    }
    await client.query('analyze conversations, messages')
    return kept
  } finally {
    await client.end()
  }

  function conversationOf(n: number) {
    const random = createRandom(n + 1)
    const kind = n % 10
    const exchanges = 1 + (n % 3)
    const all = Array.from({ length: exchanges }, (_, k) => {
      const shopping = random.pick(commercial)
      const wish = shopping.turns.findLast(({ role }) => role === 'user')?.text ?? ''
      const text = kind < 7 ? random.pick(talk) : kind < 9 ? wish : random.pick(sensitive)
      return [
        { role: 'user', text: `${text} (${n}.${k})` },
        { role: 'assistant', text: `${shopping.answer} ${n}.${k}` },
      ]
    })
    return { id: `c${n}`, said: all.flat() }
  }
}

/** How long live replies take, one every half second, until somebody says so. */
async function liveMs(client: MatcherClient, until: AbortSignal, from: number): Promise<number[]> {
  const all = readConversations()
  const took: number[] = []
  for (let n = from; !until.aborted; n++) {
    const startedMs = performance.now()
    const conversation = all[n % all.length] ?? assert.fail('no conversations')
    await askLive(client, {
      conversation,
      mark: `live ${n}`,
      judgeWithinMs: LIVE_WITHIN_MS,
      matchWithinMs: LIVE_WITHIN_MS,
    })
    took.push(performance.now() - startedMs)
    await sleep(LIVE_EVERY_MS)
  }
  return took.toSorted((a, b) => a - b)
}

async function cpuSecondsOf({ child }: Started): Promise<number> {
  const fields = (await readFile(`/proc/${child.pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

interface Report {
  result: RehearsalResult
  kept: Kept
  seconds: number
  cpu: number
  before: number[]
  during: number[]
}

function report({ result, kept, seconds, cpu, before, during }: Report): void {
  const { looked, replies, recommended, outcomes } = result
  const verdict = seconds <= 60 ? 'met' : 'MISSED'
  console.log(
    `${looked.conversations} conversations, ${replies} replies in ${seconds.toFixed(1)} s (bar: 60 s, ${verdict})`,
  )
  console.log(`${kept.messages} messages of ${Math.round(kept.characters / kept.messages)} characters on average`)
  console.log(
    `the matcher used ${cpu.toFixed(1)} s of ${availableParallelism()} cores; load ${loadavg()[0]?.toFixed(1)}`,
  )
  console.log(`recommended: ${recommended}; ${outcomes.map((each) => `${each.outcome} ${each.replies}`).join(', ')}`)
  console.log(
    `live replies: p50 ${shareOf(before, 0.5)} ms, p95 ${shareOf(before, 0.95)} ms (${before.length}) before;`,
  )
  console.log(
    `              p50 ${shareOf(during, 0.5)} ms, p95 ${shareOf(during, 0.95)} ms (${during.length}) during it`,
  )
}
