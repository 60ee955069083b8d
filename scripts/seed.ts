/**
 * Fills a database so that the first answer needs no account anywhere: a provider, a few models, and a project with
 * credit and a key pair. `node scripts/seed.ts --upstream-url http://127.0.0.1:9100/v1` does it for the database in
 * DATABASE_URL.
 */
import { parseArgs } from 'node:util'
import { curlFor, gatewayUrlOf } from '../src/cli/curl.ts'
import { sentenceOf } from '../src/cli/failures.ts'
import type { Operator } from '../src/actions/actor.ts'
import { createKeyPair, setKeyPairActive } from '../src/actions/projects/key-pairs.ts'
import { readConfig } from '../src/config.ts'
import { createPasswords } from '../src/platform/passwords.ts'
import { createSecrets, type Secrets } from '../src/platform/secrets.ts'
import { uuidv7 } from '../src/platform/uuid.ts'
import type { ModelKind } from '../src/rules/catalogue/model-kinds.ts'
import { parseCredits } from '../src/rules/money.ts'
import { openStore, type Db, type Store } from '../src/store/database.ts'
import { setDomainVerified } from '../src/store/projects/domains.ts'
import { listKeyPairs } from '../src/store/projects/keys.ts'
import {
  insertDeployment,
  insertPrice,
  listDeployments,
  listPrices,
  setDeploymentEnabled,
  upsertModel,
} from '../src/store/catalogue/models.ts'
import { insertProject, listProjects } from '../src/store/projects/projects.ts'
import { findProvider, insertProvider, updateProvider, upsertProviderKey } from '../src/store/catalogue/providers.ts'
import { insertPublisher, listPublishers, setPublisherActivated } from '../src/store/accounts/publishers.ts'
import { findUserByEmail } from '../src/store/accounts/users.ts'
import { creditWallet } from '../src/store/billing/wallets.ts'

export interface Demo {
  publisherId: string
  projectId: string
  publishableKey: string
  secretKey: string
  models: string[]
  guide: string
}

const NAME = 'Demo'
const PROVIDER = 'simulator'
const CELL = '00'
const KEY_PAIR = 'demo'
/** Each answers what it is asked, as far as the simulator can: simulator/talk.ts has the words. */
const MODELS = [
  { id: 'parley-small', upstreamModel: 'sim-mini?talk=1', price: priceOf('0.15', '0.075', '0.60') },
  { id: 'parley-large', upstreamModel: 'sim?talk=1', price: priceOf('2.50', '1.25', '10') },
]
/** For questions about things to buy, which a recommendation can follow. */
const GUIDE = { id: 'parley-guide', upstreamModel: 'sim-guide?talk=1', price: priceOf('0.30', '0.15', '1.20') }

/** The model that the documentation's examples ask for vectors. */
const EMBEDDING = {
  id: 'parley-embedding',
  kind: 'embedding' as const,
  upstreamModel: 'sim',
  price: priceOf('0.02', '0.02', '0'),
}

/** In dollars per million tokens. */
function priceOf(inputText: string, cachedInputText: string, outputText: string) {
  const input = parseCredits(inputText)
  const output = parseCredits(outputText)
  return { input, cachedInput: parseCredits(cachedInputText), cacheWrite: input, output, reasoning: output }
}

const SEED: Operator = { kind: 'operator', id: 'seed', reason: 'demo' }

/** Running it again adds nothing but a fresh key pair: the secret of the former one is stored nowhere. */
export async function seedDemo(store: Store, secrets: Secrets, upstreamBaseUrl: string): Promise<Demo> {
  const { db } = store
  const providerId = await seedProvider(db, secrets, upstreamBaseUrl)
  for (const model of [...MODELS, GUIDE, EMBEDDING]) await seedModel(db, providerId, model)
  const { publisherId, projectId } = await seedProject(db)
  const former = (await listKeyPairs(db, projectId)).filter((pair) => pair.active && pair.name === KEY_PAIR)
  const project = { id: projectId, name: NAME, publisherId }
  const installation = { secrets, cell: CELL, consoleUrl: '' }
  const pair = await db.transaction().execute(async (tx) => {
    for (const { id: keyId } of former) await setKeyPairActive(tx, SEED, { project, keyId, isActive: false })
    return createKeyPair(tx, SEED, { project, name: KEY_PAIR, expiresInDays: null, installation })
  })
  return {
    publisherId,
    projectId,
    publishableKey: pair.publishableKey,
    secretKey: pair.secretKey,
    models: MODELS.map((model) => model.id),
    guide: GUIDE.id,
  }
}

/** The address may be another than last time, and so may the secret that its key is sealed under. */
async function seedProvider(db: Db, secrets: Secrets, baseUrl: string): Promise<string> {
  const known = await findProvider(db, PROVIDER)
  const id = known?.id ?? uuidv7()
  if (known) await updateProvider(db, PROVIDER, { base_url: baseUrl, enabled: true })
  else await insertProvider(db, { id, name: PROVIDER, kind: 'openai-compatible', baseUrl })
  const key = 'simulated-key'
  const sealedKey = secrets.seal(key, `provider/${id}`)
  await upsertProviderKey(db, { id: uuidv7(), providerId: id, name: 'default', sealedKey, last4: key.slice(-4) })
  return id
}

type SeededModel = (typeof MODELS)[number] & { kind?: ModelKind }

async function seedModel(db: Db, providerId: string, model: SeededModel): Promise<void> {
  await upsertModel(db, {
    id: model.id,
    kind: model.kind,
    ownedBy: PROVIDER,
    contextWindow: 128_000,
    maxOutputTokens: 16_384,
  })
  if ((await listPrices(db, model.id, 1)).length === 0) {
    await insertPrice(db, { modelId: model.id, ...model.price, effectiveFrom: new Date() })
  }
  const routes = (await listDeployments(db)).filter(
    (route) => route.model_id === model.id && route.enabled && route.provider === PROVIDER,
  )
  if (routes.some((route) => route.upstream_model === model.upstreamModel)) return
  // Routes of an older version, which had other words for it.
  for (const { id } of routes) await setDeploymentEnabled(db, id, false)
  await insertDeployment(db, {
    id: uuidv7(),
    modelId: model.id,
    providerId,
    upstreamModel: model.upstreamModel,
    position: 0,
    unsupportedFields: [],
  })
}

async function seedProject(db: Db): Promise<{ publisherId: string; projectId: string }> {
  const publisher = (await listPublishers(db)).find((candidate) => candidate.name === NAME)
  const publisherId = publisher?.id ?? uuidv7()
  if (!publisher) await insertPublisher(db, { id: publisherId, name: NAME, email: null, activatedAt: new Date() })
  else if (!publisher.activated_at) await setPublisherActivated(db, publisherId, new Date())

  const project = (await listProjects(db, publisherId)).find((candidate) => candidate.name === NAME)
  const id = project?.id ?? uuidv7()
  if (!project) {
    await insertProject(db, {
      id,
      publisherId,
      name: NAME,
      domain: 'example.com',
      verificationToken: 'demo',
      domainVerifiedAt: new Date(),
    })
  } else if (!project.domain_verified_at) await setDomainVerified(db, id, new Date())
  const credit = { id: uuidv7(), projectId: id, amount: parseCredits('10'), kind: 'grant' as const }
  await creditWallet(db, { ...credit, reference: `demo:${id}`, reason: 'to try Parley with' })
  return { publisherId, projectId: id }
}

/** Signs in to the console as the demo's owner. Everybody can read this, so the user exists on developers' machines only. */
export const DEMO_USER = { email: 'demo@example.com', password: 'parley-demo-only' }

/** Only for a database that belongs to one developer. Whoever is there already stays as they are. */
export async function seedDemoUser(db: Db, publisherId: string): Promise<void> {
  const known = await findUserByEmail(db, DEMO_USER.email)
  const userId = known?.id ?? uuidv7()
  if (!known) {
    await db
      .insertInto('users')
      .values({ id: userId, name: 'Demo Editor', email: DEMO_USER.email, email_verified: true })
      .execute()
    const credential = { id: uuidv7(), account_id: userId, provider_id: 'credential', user_id: userId }
    const password = await createPasswords().hash(DEMO_USER.password)
    await db
      .insertInto('credentials')
      .values({ ...credential, password })
      .execute()
  }
  await db
    .insertInto('memberships')
    .values({ publisher_id: publisherId, user_id: userId, role: 'owner' })
    .onConflict((conflict) => conflict.columns(['publisher_id', 'user_id']).doNothing())
    .execute()
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { 'upstream-url': { type: 'string', default: 'http://127.0.0.1:9100/v1' } } })
  const config = readConfig()
  const store = openStore({ url: config.DATABASE_URL, applicationName: 'parley seed', poolMax: 2 })
  try {
    const demo = await seedDemo(store, createSecrets(config.PARLEY_SECRET), values['upstream-url'])
    const [model = ''] = demo.models
    console.log(`Seeded. Publishers sign up at ${config.PARLEY_CONSOLE_URL}\nAsk for an answer:\n`)
    console.log(curlFor({ url: gatewayUrlOf(config), ...demo, model }))
  } catch (error) {
    console.error(sentenceOf(error, config.DATABASE_URL))
    process.exitCode = 1
  } finally {
    await store.close()
  }
}

if (import.meta.main) await main()
