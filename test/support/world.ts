import { randomBytes } from 'node:crypto'
import type { SimulatedCall } from '../../simulator/calls.ts'
import { createSimulator, type Simulator } from '../../simulator/server.ts'
import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { createSecrets, type Secrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Figures } from '../../src/rules/catalogue/figures.ts'
import type { ModelKind } from '../../src/rules/catalogue/model-kinds.ts'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom, secretDigestOf } from '../../src/rules/projects/keys.ts'
import { parseCredits } from '../../src/rules/money.ts'
import { serve, type Role, type Running, type ServeOptions } from '../../src/serve.ts'
import type { Store } from '../../src/store/database.ts'
import { insertKeyPair } from '../../src/store/projects/keys.ts'
import {
  insertDeployment,
  insertPrice,
  upsertModel,
  type NewDeployment,
  type NewPrice,
} from '../../src/store/catalogue/models.ts'
import { insertProject } from '../../src/store/projects/projects.ts'
import { insertProvider, upsertProviderKey } from '../../src/store/catalogue/providers.ts'
import { insertPublisher } from '../../src/store/accounts/publishers.ts'
import { creditWallet, findWallet } from '../../src/store/billing/wallets.ts'
import { rollUpUsage } from '../../src/worker/roll-up-usage.ts'
import { createTestDatabase, openTestStore, POOL_WAIT_MS, STORE_WAIT_MS } from './database.ts'
import { databaseEnv, loginUrl } from './logins.ts'

/** A whole Parley for one test file: its own database, a simulated provider, and a gateway on real sockets. */
export interface World {
  url: string
  opsUrl: string
  /** With the owner's login. The running planes have logins of their own. */
  store: Store
  secrets: Secrets
  simulator: Simulator
  /** Everything the gateway has logged, line by line. */
  logs: string[]
  env: Record<string, string>
  running: Running
  /** The project that tests use unless they make their own: verified, activated, with 1,000 credits. */
  project: TestProject
  close(): Promise<void>
}

export interface TestProject {
  publisherId: string
  id: string
  publishableKey: string
  secretKey: string
  headers: Record<string, string>
}

export const PRICE = {
  input: 1_000_000_000n,
  cachedInput: 500_000_000n,
  cacheWrite: 0n,
  output: 4_000_000_000n,
  reasoning: 4_000_000_000n,
}

/** Far more than a matcher needs, also on a busy machine: none of a test's recommendations is missing by chance. */
const ANSWER_WAIT_MS = 10_000
/** PostgreSQL's code for it. */
const NOT_ALLOWED = '42501'

export interface WorldOptions {
  env?: Record<string, string>
  roles?: Role[]
  /** Whether the simulated provider caches prompts. */
  hasCaches?: boolean
  /** Told of each call of the simulated provider. */
  onCall?: (call: SimulatedCall) => void
  /** How long a new call waits for the store; as long as a busy machine needs, if nothing is said. */
  storeWaitMs?: number
  /** Another build of the web app than the one in dashboard/dist. */
  webRoot?: string
  /** The hosts that can be reached at addresses chosen by advertisers, and the certificates trusted there. */
  publicConnections?: ServeOptions['publicConnections']
}

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const database = await createTestDatabase()
  const simulator = await createSimulator({ seed: 1, onCall: options.onCall, hasCaches: options.hasCaches })
  const logs: string[] = []
  const env = {
    ...databaseEnv(database.url),
    PARLEY_SECRET: randomBytes(32).toString('base64'),
    PARLEY_PORT: '0',
    PARLEY_OPS_PORT: '0',
    PARLEY_AUTO_MIGRATE: 'false',
    PARLEY_DRAIN_DELAY_MS: '0',
    PARLEY_DRAIN_GRACE_MS: '5000',
    ...options.env,
  }
  const config = readConfig(env)
  const secrets = createSecrets(config.PARLEY_SECRET)
  const store = openTestStore({
    url: database.url,
    tenantUrl: loginUrl(database.url, 'tenant'),
    applicationName: 'parley test',
  })
  await addProvider(store, secrets, 'simulator', `${simulator.url}/v1`)
  await addModel(store, { id: 'sim-small', provider: 'simulator' })
  const project = await addProject(store, secrets)
  const log = createLog('info', { write: (line) => logs.push(line) })
  const running = await serve(config, options.roles ?? ['gateway'], log, {
    webRoot: options.webRoot,
    ...(options.publicConnections && { publicConnections: options.publicConnections }),
    answerWaitMs: ANSWER_WAIT_MS,
    storeWaitMs: options.storeWaitMs ?? STORE_WAIT_MS,
    poolWaitMs: POOL_WAIT_MS,
    passwordCost: { memoryKib: 8, passes: 1 },
  })
  await untilReady(running.opsUrl)
  return {
    url: String(running.url),
    opsUrl: running.opsUrl,
    store,
    secrets,
    simulator,
    logs,
    env,
    running,
    project,
    async close() {
      await running.stop()
      await store.close()
      await simulator.close()
      await database.drop()
      // A job whose login lacks a right fails in the background, where no test looks.
      const refused = logs.filter((line) => line.includes(`"${NOT_ALLOWED}"`))
      if (refused.length > 0) throw new Error(`a login lacks a right: ${refused[0]}`)
    },
  }
}

export async function untilReady(opsUrl: string): Promise<void> {
  await until(async () => {
    const response = await fetch(`${opsUrl}/readyz`)
    await response.arrayBuffer()
    return response.ok
  }, 10_000)
}

/** Polls until true; fails loudly after `withinMs`. */
export async function until(condition: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not true within ${withinMs} ms: ${condition.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

export interface TestProvider {
  apiKey?: string
  kind?: string
  settings?: Record<string, unknown>
}

export async function addProvider(
  store: Store,
  secrets: Secrets,
  name: string,
  baseUrl: string,
  { apiKey = 'upstream-key', kind = 'openai-compatible', settings = {} }: TestProvider = {},
): Promise<string> {
  const id = uuidv7()
  await insertProvider(store.db, { id, name, kind, baseUrl, settings })
  await addProviderKey(store, secrets, id, apiKey)
  return id
}

/** Another key of a provider that is there. */
export async function addProviderKey(
  store: Store,
  secrets: Secrets,
  providerId: string,
  apiKey: string,
  name = 'default',
): Promise<void> {
  const sealedKey = secrets.seal(apiKey, `provider/${providerId}`)
  await upsertProviderKey(store.db, { id: uuidv7(), providerId, name, sealedKey, last4: apiKey.slice(-4) })
}

/** The price of a model that makes embeddings: only its prompt costs anything. */
export const EMBEDDING_PRICE = {
  ...PRICE,
  cachedInput: PRICE.input,
  cacheWrite: PRICE.input,
  output: 0n,
  reasoning: 0n,
}

export interface TestModel {
  id: string
  kind?: ModelKind
  provider: string
  upstreamModel?: string
  price?: Partial<NewPrice> | null
  contextWindow?: number
  maxOutputTokens?: number
  figures?: Partial<Figures>
  deployment?: Partial<NewDeployment>
}

export async function addModel(store: Store, model: TestModel): Promise<void> {
  await upsertModel(store.db, {
    id: model.id,
    kind: model.kind,
    ownedBy: model.provider,
    contextWindow: model.contextWindow ?? 128_000,
    maxOutputTokens: model.maxOutputTokens ?? 16_384,
    figures: model.figures,
  })
  if (model.price !== null) {
    await insertPrice(store.db, {
      modelId: model.id,
      ...(model.kind === 'embedding' ? EMBEDDING_PRICE : PRICE),
      effectiveFrom: new Date(Date.now() - 60_000),
      ...model.price,
    })
  }
  await addDeployment(store, model)
}

/** Another route of a model that is there. */
export async function addDeployment(store: Store, model: TestModel): Promise<void> {
  const provider = await store.db
    .selectFrom('providers')
    .select('id')
    .where('name', '=', model.provider)
    .executeTakeFirstOrThrow()
  await insertDeployment(store.db, {
    id: uuidv7(),
    modelId: model.id,
    providerId: provider.id,
    upstreamModel: model.upstreamModel ?? 'sim',
    position: 0,
    unsupportedFields: [],
    ...model.deployment,
  })
}

/**
 * A model with a provider, a key and a deployment of its own. A gateway leaves alone for a while what got 429 or has
 * refused its key, so whoever provokes that does it here.
 */
export async function addLoneModel(world: World, deployment: Partial<NewDeployment> = {}): Promise<string> {
  const id = `lone-${uuidv7()}`
  await addProvider(world.store, world.secrets, id, `${world.simulator.url}/v1`)
  await addModel(world.store, { id, provider: id, deployment })
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes(`"${id}"`)
  })
  return id
}

export async function addProject(
  store: Store,
  secrets: Secrets,
  options: { credits?: string; isActivated?: boolean; isVerified?: boolean; publisherId?: string } = {},
): Promise<TestProject> {
  const { publisherId = uuidv7() } = options
  const id = uuidv7()
  if (options.publisherId === undefined)
    await insertPublisher(store.db, {
      id: publisherId,
      name: 'Test Publisher',
      email: null,
      activatedAt: (options.isActivated ?? true) ? new Date() : null,
    })
  await insertProject(store.db, {
    id,
    publisherId,
    name: 'Test Project',
    domain: 'example.com',
    verificationToken: 'token',
    domainVerifiedAt: (options.isVerified ?? true) ? new Date() : null,
  })
  const amount = parseCredits(options.credits ?? '1000')
  if (amount > 0n) await credit(store, id, amount)
  const keys = await addKeyPair(store, secrets, id)
  return { publisherId, id, ...keys }
}

export async function addKeyPair(store: Store, secrets: Secrets, projectId: string) {
  const pair = keyPairFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), '00')
  await insertKeyPair(store.db, {
    id: uuidv7(),
    projectId,
    name: 'test',
    publishableKey: pair.publishable,
    secretDigest: secretDigestOf(pair.secret, secrets.keyFor('key-pair-pepper')),
    secretVersion: secrets.version,
    secretLast4: pair.secret.slice(-4),
  })
  return {
    publishableKey: pair.publishable,
    secretKey: pair.secret,
    headers: { 'x-publishable-key': pair.publishable, 'x-secret-key': pair.secret },
  }
}

export async function credit(store: Store, projectId: string, amount: bigint): Promise<void> {
  await creditWallet(store.db, {
    id: uuidv7(),
    projectId,
    amount,
    kind: 'topup',
    reference: `test:${uuidv7()}`,
    reason: null,
  })
}

export async function walletOf(store: Store, projectId: string) {
  const wallet = await findWallet(store.db, projectId)
  if (!wallet) throw new Error('no such wallet')
  return { balance: wallet.balance_nanos, held: wallet.held_nanos, openHolds: wallet.open_holds }
}

/** Brings the sums of the console up to now instead of when the worker next does. Repeats: a worker at work has the right of way. */
export async function rollUp({ db }: Store): Promise<void> {
  const startedAt = Date.now()
  await until(async () => {
    await rollUpUsage({ db, signal: new AbortController().signal, marginMs: 0 })
    const { through } = await db.selectFrom('usage_progress').select('through').executeTakeFirstOrThrow()
    return through !== null && through.getTime() > startedAt
  }, 20_000)
}

/** POST /v1/chat/completions with the project's keys. */
export function complete(
  world: Pick<World, 'url' | 'project'>,
  body: unknown,
  options: { headers?: Record<string, string>; signal?: AbortSignal; project?: TestProject } = {},
): Promise<Response> {
  return fetch(`${world.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(options.project ?? world.project).headers, ...options.headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal: options.signal,
  })
}

/** A request for the simulator: `directive` is what it is told to do, for example `tokens=5 fault=U6`. */
export function chatBody(directive = '', extra: Record<string, unknown> = {}) {
  return { model: 'sim-small', messages: [{ role: 'user', content: `Hello [[sim ${directive}]]` }], ...extra }
}

/** The data of each event of a finished stream. */
export function eventsOf(text: string): string[] {
  return text
    .split('\n\n')
    .map((block) =>
      block
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
        .join('\n'),
    )
    .filter((data) => data !== '')
}
