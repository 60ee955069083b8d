/**
 * How a matcher does with many offers (E10): first build, start on an existing index, matches, memory, and how soon a
 * change is seen. The matcher is a process of its own, asked over HTTP as a gateway does.
 * `node bench/matcher.ts --offers 1000000 --data DIR`
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { createMetrics } from '../src/metrics.ts'
import { createSecrets } from '../src/platform/secrets.ts'
import { createMatcherClient, type MatcherClient } from '../src/recommend/matcher-client.ts'
import { loadEngine } from '../src/recommend/offer-index/engine.ts'
import { VECTOR_INDEX_FROM_ROWS } from '../src/recommend/offer-index/offer-index.ts'
import { matcherTokenOf } from '../src/recommend/wire.ts'
import type { MatchReply } from '../src/rules/recommendations/matching.ts'
import { start, type Started } from '../test/support/commands.ts'
import { freePort } from '../test/support/free-port.ts'
import { loginUrl } from '../test/support/logins.ts'
import { findOrSeed } from './matcher-seed.ts'
import type { Order } from './recommend/matcher-process.ts'
import { linesOf, type Result } from './recommend/report.ts'
import { readConversations, type Conversation } from './recommend/sets.ts'

export interface MatcherMeasurement {
  offers: number
  /** Where the public sets are; undefined: our own texts, varied more often. */
  data: string | undefined
  /** Makes the database anew. */
  isFresh?: boolean
  /** Measures on the index of the run before. */
  isKept?: boolean
  matches?: number
}

const PROCESS = join(import.meta.dirname, 'recommend/matcher-process.ts')
const DIRECTORY = join(import.meta.dirname, '../.parley/bench-matcher')
const NEVER = new AbortController().signal
const WITHIN_MS = 30 * 60_000
/** The first ones load the pages of the index, as any running system has done before. */
const WARM_UP = 40
/** A build leaves a hundred. */
const FRAGMENTS_MAX = 20

interface Running {
  child: Started
  client: MatcherClient
  /** From its start until it answered. */
  readyMs: number
}

export async function measureE10(measurement: MatcherMeasurement): Promise<Result> {
  const { offers, data, isFresh = false, isKept = false, matches = 400 } = measurement
  const databaseUrl = await findOrSeed({ offers, data, isFresh })
  const built = isKept ? undefined : await timeBuild(databaseUrl, offers)
  const second = await run(databaseUrl)
  try {
    const { judged, took } = await timeMatches(second.client, matches)
    const visibleMs = await timeChange(databaseUrl, second.client)
    const rss = await rssOf(second)
    const share = (part: number, of = took) => of[Math.floor(of.length * part)] ?? 0
    return {
      bar: `E10 ${offers} offers`,
      figures: [
        { name: 'p95', value: share(0.95), bar: { atMost: 40 }, unit: 'ms' },
        { name: 'MB', value: Math.max(rss.now, rss.peak), bar: { atMost: 1_500 }, unit: 'count' },
        ...(built?.figures ?? []),
        { name: 'start', value: second.readyMs, bar: { atMost: 5_000 }, unit: 'ms' },
        { name: 'change visible', value: visibleMs, bar: { atMost: 10_000 }, unit: 'ms' },
      ],
      details: [
        `p50 ${share(0.5).toFixed(1)} ms, p99 ${share(0.99).toFixed(1)} ms of ${took.length} matches, one after the other`,
        `judging before: p50 ${share(0.5, judged).toFixed(1)} ms, p95 ${share(0.95, judged).toFixed(1)} ms`,
        `${rss.now} MB after them (peak ${rss.peak})`,
        ...(built?.details ?? []),
      ],
    }
  } finally {
    await stop(second)
  }
}

async function timeBuild(
  databaseUrl: string,
  offers: number,
): Promise<Pick<Result, 'figures'> & { details: string[] }> {
  await rm(DIRECTORY, { recursive: true, force: true })
  await mkdir(DIRECTORY, { recursive: true })
  const running = await run(databaseUrl)
  const readyMs = performance.now()
  await untilSettled(offers)
  const settledMs = performance.now() - readyMs
  const rss = await rssOf(running)
  await stop(running)
  return {
    figures: [{ name: 'first build', value: running.readyMs, bar: { atMost: 300_000 }, unit: 'ms' }],
    details: [
      `${rss.now} MB after the first build (peak ${rss.peak})`,
      `the index of vectors was made and all was folded ${Math.round(settledMs / 1_000)} s after it`,
    ],
  }
}

async function run(databaseUrl: string): Promise<Running> {
  const startedMs = performance.now()
  const order: Order = {
    databaseUrl: loginUrl(databaseUrl, 'matcher'),
    secret: randomBytes(32).toString('base64'),
    port: await freePort(),
    directory: DIRECTORY,
  }
  const child = start(process.execPath, [PROCESS, JSON.stringify(order)])
  const secrets = createSecrets([{ version: 1, bytes: Buffer.from(order.secret, 'base64') }])
  const url = `http://127.0.0.1:${order.port}`
  const client = createMatcherClient({ url, token: matcherTokenOf(secrets), metrics: createMetrics() })
  const [conversation] = readConversations()
  const dueMs = startedMs + WITHIN_MS
  while ((await ask(client, conversation ?? assert.fail('no conversations'))).outcome === 'unavailable') {
    if (performance.now() > dueMs || child.child.exitCode !== null) throw new Error(`not ready:\n${child.output}`)
    await sleep(50)
  }
  return { child, client, readyMs: performance.now() - startedMs }
}

async function stop({ child, client }: Running): Promise<void> {
  await client.close()
  await child.end('SIGTERM', 30_000)
}

function ask(client: MatcherClient, { turns, answer }: Pick<Conversation, 'turns' | 'answer'>): Promise<MatchReply> {
  const nothing = { blockedCategories: [], blockedAdvertisers: [], blockedDomains: [], seenOffers: [] }
  return client.match({ turns, answer, minRelevance: 0, floorNanos: '0', ...nothing, deadlineMs: 30_000 }, NEVER)
}

/**
 * In ms, shortest first: judgements, and matches as a gateway asks for them, after the conversation was judged. Only of
 * those that were searched for: what a gate ended early would flatter them.
 */
async function timeMatches(client: MatcherClient, matches: number): Promise<{ judged: number[]; took: number[] }> {
  const conversations = readConversations()
  const judged: number[] = []
  const took: number[] = []
  for (let n = 0; took.length < matches + WARM_UP && n < 20 * matches; n++) {
    const { turns, answer } = conversations[n % conversations.length] ?? assert.fail('no conversations')
    // Nothing is remembered from a round before: every text is embedded.
    const again = `${answer} ${n}`
    const last = turns.at(-1) ?? assert.fail('an empty conversation')
    const said = [...turns.slice(0, -1), { ...last, text: `${last.text} (${n})` }]
    const startedMs = performance.now()
    if ((await client.judge({ turns: said, deadlineMs: 30_000 }, NEVER)).outcome !== 'open') continue
    const judgedMs = performance.now()
    const { outcome } = await ask(client, { turns: said, answer: again })
    if (!['matched', 'no_match', 'below_relevance', 'below_floor'].includes(outcome)) continue
    judged.push(judgedMs - startedMs)
    took.push(performance.now() - judgedMs)
  }
  return { judged: sorted(judged), took: sorted(took) }
}

function sorted(all: number[]): number[] {
  return all.slice(WARM_UP).toSorted((a, b) => a - b)
}

/** From the commit of a change until it is what is matched. */
async function timeChange(databaseUrl: string, client: MatcherClient): Promise<number> {
  const conversations = readConversations()
  let shown: { conversation: Conversation; offerId: string } | undefined
  for (const conversation of conversations) {
    const reply = await ask(client, conversation)
    if (reply.outcome === 'matched' && 'match' in reply) shown ??= { conversation, offerId: reply.match.offerId }
    if (shown) break
  }
  if (!shown) throw new Error('nothing was matched')
  const { conversation, offerId } = shown
  const isShown = async () => {
    const reply = await ask(client, conversation)
    return reply.outcome === 'matched' && 'match' in reply && reply.match.offerId === offerId
  }
  const database = new Client({ connectionString: databaseUrl })
  await database.connect()
  const set = (to: string) => database.query('update offers set availability = $1 where id = $2', [to, offerId])
  try {
    await set('out_of_stock')
    const startedMs = performance.now()
    while (await isShown()) await sleep(50)
    return performance.now() - startedMs
  } finally {
    await set('in_stock')
    await database.end()
  }
}

/** The index of vectors is made after the first build, beside the work, and then all is folded: later starts find it so. */
async function untilSettled(offers: number): Promise<void> {
  const { lancedb } = await loadEngine()
  const database = await lancedb.connect(join(DIRECTORY, 'index'), { readConsistencyInterval: 0 })
  const table = await database.openTable('offers')
  const isSettled = async () => {
    const indices = await table.listIndices()
    const isIndexed = offers < VECTOR_INDEX_FROM_ROWS || indices.some(({ columns }) => columns.includes('vector'))
    return isIndexed && (await table.stats()).fragmentStats.numFragments < FRAGMENTS_MAX
  }
  while (!(await isSettled())) await sleep(500)
  table.close()
  database.close()
}

async function rssOf({ child }: Running): Promise<{ now: number; peak: number }> {
  const status = await readFile(`/proc/${child.child.pid}/status`, 'utf8')
  const megabytes = (name: string) =>
    Math.round(Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1_024)
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      offers: { type: 'string', default: '1000000' },
      data: { type: 'string' },
      matches: { type: 'string', default: '400' },
      fresh: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  })
  const { offers, matches, data, fresh: isFresh, keep: isKept } = values
  const result = await measureE10({ offers: Number(offers), matches: Number(matches), data, isFresh, isKept })
  console.log(linesOf(result).join('\n'))
}
