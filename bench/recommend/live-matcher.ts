/** A matcher in a process of its own, and live replies that ask it as a gateway does. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createMetrics } from '../../src/metrics.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { createMatcherClient, type MatcherClient } from '../../src/recommend/matcher-client.ts'
import { matcherTokenOf } from '../../src/recommend/wire.ts'
import { start, type Started } from '../../test/support/commands.ts'
import { freePort } from '../../test/support/free-port.ts'
import { loginUrl } from '../../test/support/logins.ts'
import type { Order } from './matcher-process.ts'
import { readConversations, type Conversation } from './sets.ts'

const PROCESS = join(import.meta.dirname, 'matcher-process.ts')
const NEVER = new AbortController().signal
const STOPPED_WITHIN_MS = 30_000
const FIRST_REPLY_WITHIN_MS = 20_000

export interface LiveMatcher {
  matcher: Started
  url: string
  token: string
  client: MatcherClient
  stop(): Promise<void>
}

/** Answers once it is ready. The directory keeps its index. */
export async function startLiveMatcher(
  databaseUrl: string,
  directory: string,
  readyWithinMs: number,
): Promise<LiveMatcher> {
  await mkdir(directory, { recursive: true })
  const order: Order = {
    databaseUrl: loginUrl(databaseUrl, 'matcher'),
    secret: randomBytes(32).toString('base64'),
    port: await freePort(),
    directory,
  }
  const matcher = start(process.execPath, [PROCESS, JSON.stringify(order)])
  const url = `http://127.0.0.1:${order.port}`
  const token = matcherTokenOf(createSecrets([{ version: 1, bytes: Buffer.from(order.secret, 'base64') }]))
  const client = createMatcherClient({ url, token, metrics: createMetrics() })
  const stop = async () => {
    await client.close()
    await matcher.end('SIGTERM', STOPPED_WITHIN_MS)
  }
  try {
    await untilReady(client, matcher, readyWithinMs)
  } catch (error) {
    await stop()
    throw error
  }
  return { matcher, url, token, client, stop }
}

async function untilReady(client: MatcherClient, matcher: Started, withinMs: number): Promise<void> {
  const [conversation = assert.fail('no conversations')] = readConversations()
  const waits = { judgeWithinMs: FIRST_REPLY_WITHIN_MS, matchWithinMs: FIRST_REPLY_WITHIN_MS }
  const dueMs = performance.now() + withinMs
  while ((await askLive(client, { conversation, mark: '', ...waits })) === 'unavailable') {
    if (performance.now() > dueMs || matcher.child.exitCode !== null) throw new Error(`not ready:\n${matcher.output}`)
    await sleep(200)
  }
}

export interface LiveReply {
  conversation: Conversation
  /** Goes into what is said, so that nothing is remembered from one reply to the next. */
  mark: string
  projectId?: string | undefined
  judgeWithinMs: number
  /** How long the model takes to answer, between both questions. */
  answeredAfterMs?: number
  matchWithinMs: number
}

/** Judged, and when that is open, matched. Returns what came of it. */
export async function askLive(client: MatcherClient, reply: LiveReply): Promise<string> {
  const { turns, answer } = reply.conversation
  const last = turns.at(-1) ?? assert.fail('an empty conversation')
  const said = [...turns.slice(0, -1), { ...last, text: `${last.text} (${reply.mark})` }]
  const asked = { turns: said, ...(reply.projectId !== undefined && { projectId: reply.projectId }) }
  const judged = await client.judge({ ...asked, deadlineMs: reply.judgeWithinMs }, NEVER)
  if (judged.outcome !== 'open') return judged.outcome
  await sleep(reply.answeredAfterMs ?? 0)
  const nothing = { blockedCategories: [], blockedAdvertisers: [], blockedDomains: [], seenOffers: [] }
  const question = { ...asked, answer: `${answer} ${reply.mark}`, minRelevance: 0, floorNanos: '0', ...nothing }
  return (await client.match({ ...question, deadlineMs: reply.matchWithinMs }, NEVER)).outcome
}
