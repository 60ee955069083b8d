/** Callers of tenants that come and go: each asks one thing after another, and some hang up. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, fetch } from 'undici'
import { createRandom, type Random } from '../support/random.ts'
import { addKeyPair, addProject, type TestProject } from '../support/world.ts'
import { EMBEDDING_MODEL, FAULTS, MODEL, modelOf, type System } from './system.ts'

export interface Traffic {
  readonly calls: number
  /** How often each kind was sent. */
  readonly kinds: Record<string, number>
  readonly tenants: number
  /** Answers that say to ask again: a machine that others use is busy now and then. */
  readonly busy: number
  /** Answers that nobody has to expect. */
  readonly unexpected: string[]
  /** Resolves when the last call has ended. */
  stop(): Promise<void>
}

interface Tenant {
  project: TestProject
  /** Its keys were switched off, or others took their place: it may be refused from then on. */
  isLeaving: boolean
  /** A secret for a browser. */
  session?: string
}

const CLOSED = 'other side closed'
const CALLERS = 8
const REST_MS = 60
const TENANTS = 12
const CHURN_EVERY_MS = 700
const FAULTY_PERCENT = 1
const HANG_UP_PERCENT = 5
const ANSWERED_WITHIN_MS = 20_000

export async function startTraffic(system: System, seed: number): Promise<Traffic> {
  const tenants: Tenant[] = []
  for (let n = 0; n < 3; n++) tenants.push(await newTenant(system))
  const seen = {
    calls: 0,
    kinds: {} as Record<string, number>,
    tenants: tenants.length,
    busy: 0,
    unexpected: [] as string[],
  }
  // Connections are kept, as SDKs do, and gone when the traffic is.
  const dispatcher = new Agent()
  let isOver = false

  async function call(random: Random, caller: number): Promise<void> {
    for (let turn = 0; !isOver; turn++) {
      const tenant = random.pick(tenants)
      const { kind, ...question } = questionOf(random, tenant, `soak-${caller}-${Math.floor(turn / 10)}`)
      seen.calls += 1
      seen.kinds[kind] = (seen.kinds[kind] ?? 0) + 1
      let problem = await ask({ url: system.url, dispatcher }, question, tenant)
      // An answer that ends in an error event closes its connection, which may be taken for the next call by then. SDKs ask again.
      if (problem?.includes(CLOSED)) problem = await ask({ url: system.url, dispatcher }, question, tenant)
      if (problem?.startsWith('503 ')) seen.busy += 1
      else if (problem !== undefined && !tenant.isLeaving) seen.unexpected.push(`${kind}: ${problem}`)
      await sleep(random.int(REST_MS))
    }
  }

  async function churn(random: Random): Promise<void> {
    while (!isOver) {
      await sleep(CHURN_EVERY_MS)
      seen.tenants += 1
      const joined = await newTenant(system)
      tenants.push(joined)
      const leaving = random.pick(tenants)
      // A second pair for some, and no pair at all for others.
      if (random.int(2) === 0) await addKeyPair(system.store, system.secrets, leaving.project.id)
      if (tenants.length <= TENANTS) continue
      const [oldest] = tenants.splice(0, 1)
      oldest!.isLeaving = true
      await deactivate(system, oldest!)
    }
  }

  const running = [
    ...Array.from({ length: CALLERS }, (_, n) => call(createRandom(seed + n), n)),
    churn(createRandom(seed + 999)),
  ]
  return {
    ...seen,
    get calls() {
      return seen.calls
    },
    get busy() {
      return seen.busy
    },
    get tenants() {
      return seen.tenants
    },
    async stop() {
      isOver = true
      await Promise.all(running)
      await dispatcher.destroy()
    },
  }
}

async function newTenant({ store, secrets }: System): Promise<Tenant> {
  return { project: await addProject(store, secrets, { credits: '100' }), isLeaving: false }
}

async function deactivate({ store }: System, { project }: Tenant): Promise<void> {
  await store.db.updateTable('key_pairs').set({ active: false }).where('project_id', '=', project.id).execute()
}

interface Question {
  path: string
  body: object
  headers: Record<string, string>
  /** The caller goes away after so long. */
  hangUpMs?: number | undefined
  /** The provider fails on purpose. */
  mayFail: boolean
}

function questionOf(random: Random, tenant: Tenant, conversation: string): Question & { kind: string } {
  const text = `Tell me more about ${random.int(1_000)} ${'words '.repeat(random.int(60))}`
  const isFaulty = random.int(100) < FAULTY_PERCENT
  const hangsUp = random.int(100) < HANG_UP_PERCENT
  const model = isFaulty ? modelOf(random.pick(FAULTS)) : MODEL
  const pace = hangsUp ? ' [[sim tokens=60 gap=20]]' : ` [[sim tokens=${5 + random.int(60)} gap=${random.int(3)}]]`
  const messages = [{ role: 'user', content: text + pace }]
  const chat = {
    path: '/v1/chat/completions',
    headers: {},
    mayFail: isFaulty,
    hangUpMs: hangsUp ? 20 + random.int(200) : undefined,
  }
  switch (random.int(7)) {
    case 0:
      return { ...chat, kind: 'json', body: { model, messages } }
    case 1:
    case 2:
      return {
        ...chat,
        kind: 'stream',
        body: { model, messages, stream: true, stream_options: { include_usage: true } },
      }
    case 3:
      return {
        ...chat,
        kind: 'embeddings',
        path: '/v1/embeddings',
        mayFail: false,
        body: { model: EMBEDDING_MODEL, input: [text, 'two'] },
      }
    case 4:
      return {
        ...chat,
        kind: 'responses',
        path: '/v1/responses',
        body: { model, input: text + pace, stream: random.int(2) === 0 },
      }
    case 5: {
      const headers = { 'x-conversation-id': conversation, 'x-end-user-id': conversation }
      return {
        ...chat,
        kind: 'conversation',
        headers,
        body: { model, messages, stream: true, metadata: { of: 'soak' } },
      }
    }
    default:
      return sessionQuestion(random, tenant, { ...chat, body: { model, messages, stream: true } })
  }
}

/** Either a new session, or a call with the one before. */
function sessionQuestion(random: Random, tenant: Tenant, call: Question): Question & { kind: string } {
  const { session } = tenant
  if (session === undefined || random.int(4) === 0)
    return {
      kind: 'new session',
      path: '/v1/sessions',
      headers: {},
      mayFail: false,
      body: { seconds: 120, calls: 10_000, money: '5000000000' },
    }
  return { ...call, kind: 'session', headers: { 'x-secret-key': session, origin: 'https://example.com' } }
}

/** Returns the problem with the answer, if there was one. */
async function ask(
  { url, dispatcher }: { url: string; dispatcher: Agent },
  { path, body, headers, hangUpMs, mayFail }: Question,
  tenant: Tenant,
): Promise<string | undefined> {
  const leave = hangUpMs === undefined ? undefined : AbortSignal.timeout(hangUpMs)
  const signals = [AbortSignal.timeout(ANSWERED_WITHIN_MS), ...(leave ? [leave] : [])]
  try {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...tenant.project.headers, ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.any(signals),
      dispatcher,
    })
    const text = await response.text()
    if (path === '/v1/sessions' && response.ok) tenant.session = (JSON.parse(text) as { secret_key: string }).secret_key
    if (mayFail) return undefined
    if (!response.ok) return `${response.status} ${text.slice(0, 200)}`
    return /"error":\s*\{/.test(text) ? `an error in a stream: ${text.slice(-200)}` : undefined
  } catch (error) {
    return leave?.aborted || mayFail ? undefined : `${String(error)}, ${String((error as Error).cause)}`
  }
}
