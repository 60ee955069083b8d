/**
 * E9: what monetization adds to the time to the first token, and what a reply loses when the matcher dies. A simulator, a
 * gateway and a matcher as processes of their own; two projects that differ in monetization alone take turns.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createSecrets } from '../../src/platform/secrets.ts'
import { openStore, type Store } from '../../src/store/database.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { databaseEnv, loginUrl } from '../../test/support/logins.ts'
import { freePort } from '../../test/support/free-port.ts'
import { addModel, addProject, addProvider, until, untilReady, type TestProject } from '../../test/support/world.ts'
import { seedCatalogue } from './catalogue.ts'
import type { Order } from './matcher-process.ts'
import { mean, percentile } from './metrics.ts'
import { createProgress } from './progress.ts'
import type { Result } from './report.ts'
import type { CatalogueOffer } from './sets.ts'
import type { VectorShelf } from './vector-shelf.ts'

const [ADDED_MEDIAN_MS_MAX, ADDED_P95_MS_MAX] = [2, 10]
const [WARM_UP_CALLS, PAIRS, UPSTREAM_TTFT_MS] = [30, 400, 20]
const [LOAD_CALLS, LOAD_AT_ONCE, KILL_AFTER_CALLS] = [600, 20, 200]
const READY_WITHIN_MS = 120_000
const ANSWER =
  'For a noisy flat the usual advice is to pair closed headphones that cancel steady noise with a rug, heavy curtains and a desk away from the shared wall.'
const QUESTIONS = [
  'My neighbour plays drums and I work from home. Which noise-cancelling headphones would help me focus?',
  'Which over-ear headphones are good for long flights and for calls in a loud office?',
  'I need quiet headphones for studying in a shared flat, what should I look for?',
]

interface Reply {
  isWhole: boolean
  hasRecommendation: boolean
  firstTokenMs: number
}

export async function measureFirstToken(offers: readonly CatalogueOffer[], shelf: VectorShelf): Promise<Result> {
  const database = await createTestDatabase()
  const store = openStore({ url: database.url, applicationName: 'parley bench' })
  const directory = await mkdtemp(join(tmpdir(), 'parley-bench-matcher-'))
  const children: ChildProcess[] = []
  try {
    await seedCatalogue(database.url, offers, shelf)
    const { url, matcher, plain, monetized } = await startAll(database.url, directory, store, children)
    const { off, on } = await takeTurns(url, plain, monetized)
    const load = await killUnderLoad(url, monetized, matcher)
    const [offMs, onMs] = [off.map(timeOf), on.map(timeOf)]
    const added = (share: number) => percentile(onMs, share) - percentile(offMs, share)
    return {
      bar: 'E9 first token',
      figures: [
        { name: 'added p50', value: added(0.5), unit: 'ms', bar: { atMost: ADDED_MEDIAN_MS_MAX } },
        { name: 'added p95', value: added(0.95), unit: 'ms', bar: { atMost: ADDED_P95_MS_MAX } },
        { name: 'failed while the matcher died', value: load.failed, unit: 'count', bar: { atMost: 0 } },
      ],
      details: [
        `off p50 ${percentile(offMs, 0.5).toFixed(1)} p95 ${percentile(offMs, 0.95).toFixed(1)} ms, on p50 ${percentile(onMs, 0.5).toFixed(1)} p95 ${percentile(onMs, 0.95).toFixed(1)} ms; ${PAIRS} pairs in turn, upstream answers after ${UPSTREAM_TTFT_MS} ms`,
        `with a recommendation: ${percent(on)} of the replies with monetization on, ${percent(off)} with it off`,
        `${LOAD_CALLS} calls, ${LOAD_AT_ONCE} at once; matcher killed (SIGKILL) after ${KILL_AFTER_CALLS}: with a recommendation ${load.before} before, ${load.after} after`,
      ],
    }
  } finally {
    for (const child of children) child.kill('SIGTERM')
    await Promise.all(children.map(async (child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
    await store.close()
    await database.drop()
    await rm(directory, { recursive: true, force: true })
  }
}

async function startAll(databaseUrl: string, directory: string, store: Store, children: ChildProcess[]) {
  const secret = randomBytes(32).toString('base64')
  const secrets = createSecrets([{ version: 1, bytes: Buffer.from(secret, 'base64') }])
  const simulatorUrl = await startSimulator(children)
  await addProvider(store, secrets, 'simulator', `${simulatorUrl}/v1`)
  await addModel(store, {
    id: 'bench',
    provider: 'simulator',
    upstreamModel: `sim?ttft=${UPSTREAM_TTFT_MS}&gap=2&text=${encodeURIComponent(ANSWER)}`,
  })
  const [plain, monetized] = [await addProject(store, secrets), await addProject(store, secrets)]
  await store.db.insertInto('monetization').values({ project_id: monetized.id, mode: 'on' }).execute()
  const [port, opsPort, matcherPort] = [await freePort(), await freePort(), await freePort()]
  const env = {
    ...process.env,
    ...databaseEnv(databaseUrl),
    PARLEY_SECRET: secret,
    // All of the load is one project's, from one address.
    PARLEY_PROJECT_CALLS_PERCENT: '100',
    PARLEY_KEY_PAIR_CALLS_PERCENT: '100',
    PARLEY_ACCOUNT_WORK_PERCENT: '100',
    PARLEY_ADDRESS_REQUESTS_PER_SECOND: '1000000',
    PARLEY_KEY_PAIR_REQUESTS_PER_SECOND: '1000000',
    PARLEY_LOG_LEVEL: 'warn',
    PARLEY_AUTO_MIGRATE: 'false',
    PARLEY_DRAIN_DELAY_MS: '0',
    PARLEY_PORT: String(port),
    PARLEY_OPS_PORT: String(opsPort),
    PARLEY_MATCHER_URL: `http://127.0.0.1:${matcherPort}`,
  }
  const matcher = startMatcher(
    { databaseUrl: loginUrl(databaseUrl, 'matcher'), secret, port: matcherPort, directory },
    children,
  )
  children.push(spawn('bin/parley', ['serve', 'gateway'], { env, stdio: ['ignore', 'ignore', 'inherit'] }))
  await untilListening(`http://127.0.0.1:${opsPort}`)
  await until(async () => {
    const row = await store.db.selectFrom('matchers').select('state').executeTakeFirst()
    return row?.state === 'ready'
  }, READY_WITHIN_MS)
  return { url: `http://127.0.0.1:${port}`, matcher, plain, monetized }
}

function startMatcher(order: Order, children: ChildProcess[]): ChildProcess {
  const path = join(import.meta.dirname, 'matcher-process.ts')
  const child = spawn(process.execPath, [path, JSON.stringify(order)], { stdio: ['ignore', 'ignore', 'inherit'] })
  children.push(child)
  return child
}

async function startSimulator(children: ChildProcess[]): Promise<string> {
  const child = spawn(process.execPath, ['simulator/main.ts', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/[\d.:]+/.exec(line)?.[0]
    if (url) return url
  }
  throw new Error('the simulator did not start')
}

async function untilListening(opsUrl: string): Promise<void> {
  await until(
    () =>
      untilReady(opsUrl).then(
        () => true,
        () => false,
      ),
    READY_WITHIN_MS,
  )
}

/** One after the other, so that both see the same machine: what changes between two runs is larger than what we look for. */
async function takeTurns(url: string, plain: TestProject, monetized: TestProject) {
  const agent = new Agent({ keepAlive: true })
  const [off, on]: [Reply[], Reply[]] = [[], []]
  for (let i = 0; i < WARM_UP_CALLS; i++) {
    await ask(url, plain, agent, i)
    await ask(url, monetized, agent, i)
  }
  const progress = createProgress('E9 pairs', PAIRS)
  for (let i = 0; i < PAIRS; i++) {
    // The second of a pair finds warmer caches, so they take turns.
    const first = i % 2 === 0 ? [plain, off] : [monetized, on]
    const second = i % 2 === 0 ? [monetized, on] : [plain, off]
    for (const [project, replies] of [first, second] as [TestProject, Reply[]][]) {
      replies.push(await ask(url, project, agent, i))
    }
    progress.add()
  }
  progress.end()
  agent.destroy()
  return { off, on }
}

async function killUnderLoad(url: string, project: TestProject, matcher: ChildProcess) {
  const agent = new Agent({ keepAlive: true, maxSockets: LOAD_AT_ONCE })
  const replies: Reply[] = []
  let asked = 0
  const askOnAndOn = async () => {
    while (asked < LOAD_CALLS) {
      asked += 1
      replies.push(await ask(url, project, agent, asked))
      if (replies.length === KILL_AFTER_CALLS) matcher.kill('SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: LOAD_AT_ONCE }, askOnAndOn))
  agent.destroy()
  const recommended = (some: readonly Reply[]) => some.filter(({ hasRecommendation }) => hasRecommendation).length
  return {
    failed: replies.filter(({ isWhole }) => !isWhole).length,
    before: recommended(replies.slice(0, KILL_AFTER_CALLS)),
    after: recommended(replies.slice(KILL_AFTER_CALLS)),
  }
}

function ask(url: string, project: TestProject, agent: Agent, n: number): Promise<Reply> {
  const content = QUESTIONS[n % QUESTIONS.length]
  const body = JSON.stringify({ model: 'bench', stream: true, messages: [{ role: 'user', content }] })
  const startedMs = performance.now()
  return new Promise((resolve) => {
    let firstTokenMs = Number.NaN
    let text = ''
    const headers = { ...project.headers, 'content-type': 'application/json' }
    const req = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers }, (response) => {
      response.setEncoding('utf8')
      response.on('data', (part: string) => {
        text += part
        if (Number.isNaN(firstTokenMs) && text.includes('"content":"')) firstTokenMs = performance.now() - startedMs
      })
      response.once('close', () => resolve(replyOf(text, firstTokenMs)))
    })
    req.once('error', () => resolve(replyOf('', Number.NaN)))
    req.end(body)
  })
}

function replyOf(text: string, firstTokenMs: number): Reply {
  return {
    isWhole: text.includes('"finish_reason":"stop"') && text.includes('data: [DONE]') && !text.includes('"error"'),
    hasRecommendation: text.includes('/r/'),
    firstTokenMs,
  }
}

function timeOf({ firstTokenMs }: Reply): number {
  return firstTokenMs
}

function percent(replies: readonly Reply[]): string {
  return `${(mean(replies.map(({ hasRecommendation }) => Number(hasRecommendation))) * 100).toFixed(0)} %`
}
