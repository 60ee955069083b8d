/** The tenants: one that is quiet, and one that is not. */
import { seedCalls } from '../../scripts/seed-calls.ts'
import { createPasswords } from '../../src/platform/passwords.ts'
import type { Secrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Store } from '../../src/store/database.ts'
import { addShop, importText, jsonLines } from '../support/feeds.ts'
import { setMonetization } from '../support/fixed-matcher.ts'
import { addModel, addProject, addProvider, type TestProject } from '../support/world.ts'

export interface Tenants {
  quiet: Tenant
  attacker: Tenant & {
    /** Without a cent. */
    poor: TestProject
    /** The id of a project whose pages have many calls to look through. */
    busy: string
  }
}

export interface Tenant {
  /** With credit, and with recommendations. */
  project: TestProject
  /** The session cookie of a user who is signed in to the console. */
  cookie: string
}

/** The model that both tenants call. The simulator does what the last message says. */
export const MODEL = 'shared'
/** Nobody has said how much it may write. */
export const UNBOUNDED_MODEL = 'unbounded'
/** Always answers with something that a recommendation fits. */
export const GUIDE_MODEL = 'guide'

const ANSWER =
  'For long flights, over-ear headphones with active noise cancelling are the most comfortable choice. Look for a long battery life and a case that folds flat.'
const PASSWORD = 'a long and quiet river'
const CALLS_SEEN = 20_000

export interface Place {
  store: Store
  secrets: Secrets
  consoleUrl: string
  databaseUrl: string
  upstream: string
}

export async function addTenants(place: Place): Promise<Tenants> {
  const { store, secrets, upstream } = place
  await addProvider(store, secrets, 'simulator', `${upstream}/v1`)
  await addModel(store, { id: MODEL, provider: 'simulator' })
  await addModel(store, { id: UNBOUNDED_MODEL, provider: 'simulator', price: { output: 10_000_000_000n } })
  await store.db.updateTable('models').set({ max_output_tokens: null }).where('id', '=', UNBOUNDED_MODEL).execute()
  await addModel(store, {
    id: GUIDE_MODEL,
    provider: 'simulator',
    upstreamModel: `sim?ttft=300&chunk=100&text=${encodeURIComponent(ANSWER)}`,
  })
  const quiet = await addTenant(place, 'quiet')
  const attacker = await addTenant(place, 'attacker')
  const { publisherId } = attacker.project
  const { projectIds } = await seedCalls(place.databaseUrl, { calls: CALLS_SEEN, days: 8, publisherId })
  const poor = await addProject(store, secrets, { credits: '0' })
  return { quiet, attacker: { ...attacker, poor, busy: projectIds[0] ?? '' } }
}

async function addTenant(place: Place, name: string): Promise<Tenant> {
  const { store, secrets } = place
  const project = await addProject(store, secrets, { credits: '1000000' })
  await setMonetization(store.db, project.id, { min_turn_gap: 1, max_per_conversation: 20 })
  return { project, cookie: await signUp(place, `${name}@example.com`, project.publisherId) }
}

/** Somebody who owns the publisher, and their session. */
async function signUp({ store: { db }, consoleUrl }: Place, email: string, publisherId: string): Promise<string> {
  const userId = uuidv7()
  const password = await createPasswords().hash(PASSWORD)
  await db.insertInto('users').values({ id: userId, name: email, email, email_verified: true }).execute()
  const credential = { id: uuidv7(), account_id: userId, provider_id: 'credential', user_id: userId, password }
  await db.insertInto('credentials').values(credential).execute()
  await db.insertInto('memberships').values({ publisher_id: publisherId, user_id: userId, role: 'owner' }).execute()
  const response = await fetch(`${consoleUrl}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { origin: consoleUrl, 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: PASSWORD }),
  })
  if (!response.ok) throw new Error(`${email} cannot sign in: ${response.status} ${await response.text()}`)
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';', 1)[0])
    .join('; ')
}

const HEADPHONES = {
  id: 'hush',
  title: 'Hush noise-cancelling headphones',
  description: 'Over-ear headphones with active noise cancelling for flights and loud offices.',
  link: 'https://northwind.example/hush',
  price: '189.00 EUR',
  availability: 'in_stock',
  product_type: 'Electronics > Audio > Headphones',
}
const TEAPOT = {
  ...HEADPHONES,
  id: 'pot',
  title: 'Cast iron teapot',
  description: 'Keeps tea warm.',
  link: 'https://northwind.example/pot',
}

export async function addOffers({ db }: Store): Promise<void> {
  const shop = await addShop(db, 'Northwind', 'northwind.example')
  await importText(db, shop, jsonLines([HEADPHONES, TEAPOT]))
}
