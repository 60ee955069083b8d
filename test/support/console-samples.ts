import assert from 'node:assert/strict'
import { sql } from 'kysely'
import type { BodyOf, Contract, ParamOf, QueryOf, RouteKey } from '../../src/console/contract.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { recordTurn } from '../../src/store/calls/conversations.ts'
import { noteEndUsers } from '../../src/store/calls/end-users.ts'
import { countIgnoredFields } from '../../src/store/calls/ignored-fields.ts'
import { addRefusedRequests } from '../../src/store/calls/refused-requests.ts'
import { insertMetadata } from '../../src/store/calls/metadata.ts'
import type { Db } from '../../src/store/database.ts'
import { openAlert } from '../../src/store/projects/alerts.ts'
import { addEvent } from '../../src/store/projects/webhook-deliveries.ts'
import { insertEndpoint } from '../../src/store/projects/webhook-endpoints.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { insertPayment, markPaid } from '../../src/store/billing/payments.ts'
import { setAutoTopUp } from '../../src/store/billing/top-ups/auto-top-ups.ts'
import { insertCard } from '../../src/store/billing/top-ups/wallet-cards.ts'
import { addOutcomes } from '../../src/store/recommendations/records.ts'
import { DAY_MS, HOUR_MS } from '../../src/rules/durations.ts'
import { must, newProject, type ConsoleWorld, type Person } from './console.ts'
import { applyClicks } from '../../src/store/recommendations/clicks.ts'
import { clickOn } from './clicks.ts'
import { addOwnAdvertiser, ADVERTISER_SAMPLES } from './advertiser-samples.ts'
import { addBrowserSession } from './browser-sessions.ts'
import { addSettledCall } from './ledger.ts'
import { addSavedPrompt } from './saved-prompts.ts'
import { refusalOf } from './refused-requests.ts'
import { addRecommendation, said } from './sites.ts'
import { addKeyPair, credit } from './world.ts'

/**
 * One valid request for every route that names something by an id, for tests that go through all of them: a route without
 * a sample does not compile, and fails its test. A parameter is the name of one of the ids that `seedTenant` makes.
 */
type NamingKey = {
  [Key in RouteKey]: [ParamOf<Key>] extends [never] ? never : Key
}[RouteKey]

type OtherParam<Key extends RouteKey> = Exclude<ParamOf<Key>, 'publisher' | 'project' | 'advertiser'>
type Sample<Key extends RouteKey> = ([OtherParam<Key>] extends [never]
  ? object
  : { params: Record<OtherParam<Key>, keyof TenantIds> }) &
  (Contract[Key] extends { body: unknown } ? { body: BodyOf<Key> } : object) & { query?: QueryOf<Key> }

/** Advertisers belong to the installation, and so to every publisher. */
const ADVERTISER = '00000000-0000-7000-8000-00000000a11a'

const LIMITS = {
  requestsPerMinute: 60,
  tokensPerMinute: '100000',
  concurrentCalls: null,
  dayNanos: '2000000000',
  weekNanos: null,
  monthNanos: '20000000000',
  totalNanos: null,
}

export const SAMPLES: { [Key in NamingKey]: Sample<Key> } = {
  'GET /api/publishers/:publisher/projects': {},
  'POST /api/publishers/:publisher/projects': { body: { name: 'Sample', domain: 'sample.example.com' } },
  'GET /api/projects/:project': {},
  'PATCH /api/projects/:project': { body: { name: 'Sample' } },
  'GET /api/projects/:project/onboarding': {},
  'POST /api/projects/:project/onboarding/dismiss': {},
  'GET /api/projects/:project/home': {},
  'GET /api/projects/:project/models': {},
  'GET /api/projects/:project/catalogue': {},
  'GET /api/projects/:project/quick-start': {},
  'POST /api/projects/:project/monetization/rehearsal': {},
  'PUT /api/projects/:project/monetization/library': { body: { isPublic: true } },
  'POST /api/projects/:project/playground': {
    body: { model: 'sim-small', messages: [{ role: 'user', content: 'Sample' }] },
  },
  'POST /api/projects/:project/playground/code': {
    body: { model: 'sim-small', messages: [{ role: 'user', content: 'Sample' }] },
  },
  'GET /api/projects/:project/saved-prompts': {},
  'POST /api/projects/:project/saved-prompts': {
    body: { name: 'Sample', model: 'sim-small', messages: [{ role: 'user', content: 'Sample' }] },
  },
  'GET /api/projects/:project/saved-prompts/:prompt': { params: { prompt: 'savedPrompt' } },
  'PUT /api/projects/:project/saved-prompts/:prompt': {
    params: { prompt: 'savedPrompt' },
    body: { model: 'sim-small', messages: [{ role: 'user', content: 'Another' }] },
  },
  'PATCH /api/projects/:project/saved-prompts/:prompt': { params: { prompt: 'savedPrompt' }, body: { name: 'Other' } },
  'DELETE /api/projects/:project/saved-prompts/:prompt': { params: { prompt: 'savedPrompt' } },
  'GET /api/projects/:project/domain': {},
  'POST /api/projects/:project/domain/check': {},
  'PATCH /api/projects/:project/domain': { body: { name: 'other.example.com' } },
  'GET /api/projects/:project/keys': {},
  'POST /api/projects/:project/keys': { body: { name: 'Sample' } },
  'POST /api/projects/:project/keys/:key/roll': { params: { key: 'key' }, body: { overlapSeconds: 60 } },
  'POST /api/projects/:project/keys/:key/end': { params: { key: 'rolledKey' } },
  'PATCH /api/projects/:project/keys/:key': { params: { key: 'key' }, body: { active: false } },
  'DELETE /api/projects/:project/keys/:key': { params: { key: 'key' } },
  'GET /api/projects/:project/browser-sessions': {},
  'DELETE /api/projects/:project/browser-sessions/:session': { params: { session: 'browserSession' } },
  'DELETE /api/projects/:project/keys/:key/browser-sessions': { params: { key: 'key' } },
  'GET /api/projects/:project/limits': {},
  'PUT /api/publishers/:publisher/limits': { body: LIMITS },
  'PUT /api/projects/:project/limits': { body: LIMITS },
  'PUT /api/projects/:project/end-user-limits': { body: LIMITS },
  'PUT /api/projects/:project/keys/:key/limits': { params: { key: 'key' }, body: LIMITS },
  'GET /api/publishers/:publisher/team': {},
  'POST /api/publishers/:publisher/invitations': { body: { email: 'sample@example.com', role: 'viewer' } },
  'DELETE /api/publishers/:publisher/invitations/:invitation': { params: { invitation: 'invitation' } },
  'PATCH /api/publishers/:publisher/members/:member': { params: { member: 'member' }, body: { role: 'viewer' } },
  'DELETE /api/publishers/:publisher/members/:member': { params: { member: 'member' } },
  'POST /api/publishers/:publisher/leave': {},
  'GET /api/publishers/:publisher/audit-log': {},
  'GET /api/publishers/:publisher/audit-log.csv': {},
  'PATCH /api/publishers/:publisher': { body: { name: 'Sample' } },
  'GET /api/projects/:project/usage': {},
  'GET /api/projects/:project/usage.csv': {},
  'GET /api/publishers/:publisher/usage': {},
  'GET /api/projects/:project/costs': {},
  'GET /api/projects/:project/costs.csv': {},
  'GET /api/projects/:project/calls': {},
  'GET /api/projects/:project/calls/:call': { params: { call: 'call' } },
  'GET /api/projects/:project/calls.csv': {},
  'GET /api/projects/:project/ignored-fields': {},
  'GET /api/projects/:project/call-filters': {},
  'GET /api/projects/:project/refused-requests': {},
  'GET /api/projects/:project/refused-request-filters': {},
  'GET /api/projects/:project/conversations': {},
  'POST /api/projects/:project/message-search': { body: { text: 'sample' } },
  'GET /api/projects/:project/conversations/:conversation': { params: { conversation: 'conversation' } },
  'GET /api/projects/:project/conversations/:conversation/messages': { params: { conversation: 'conversation' } },
  'GET /api/projects/:project/conversations/:conversation/conversation.json': {
    params: { conversation: 'conversation' },
  },
  'GET /api/projects/:project/conversations/:conversation/conversation.md': {
    params: { conversation: 'conversation' },
  },
  'DELETE /api/projects/:project/conversations/:conversation': { params: { conversation: 'conversation' } },
  'GET /api/projects/:project/end-users': {},
  'POST /api/projects/:project/end-users/search': { body: { text: 'Visitor' } },
  'GET /api/projects/:project/end-users/:endUser': { params: { endUser: 'endUser' } },
  'PUT /api/projects/:project/end-users/:endUser/limits': { params: { endUser: 'endUser' }, body: LIMITS },
  'DELETE /api/projects/:project/end-users/:endUser': { params: { endUser: 'endUser' } },
  'GET /api/projects/:project/wallet': {},
  'GET /api/projects/:project/ledger': {},
  'GET /api/projects/:project/ledger.csv': {},
  'PUT /api/projects/:project/wallet-alert': { body: { thresholdNanos: '5000000000' } },
  'GET /api/projects/:project/alerts': {},
  'GET /api/projects/:project/alert-history': {},
  'PUT /api/projects/:project/alert-rules': { body: { kind: 'error_rate', enabled: true, threshold: 35 } },
  'GET /api/projects/:project/webhooks': {},
  'POST /api/projects/:project/webhooks': {
    body: { url: 'https://hooks.example.com/new', eventTypes: ['alert.opened'] },
  },
  'POST /api/projects/:project/webhooks/:endpoint/secret': { params: { endpoint: 'endpoint' } },
  'PATCH /api/projects/:project/webhooks/:endpoint': { params: { endpoint: 'endpoint' }, body: { enabled: false } },
  'DELETE /api/projects/:project/webhooks/:endpoint': { params: { endpoint: 'endpoint' } },
  'POST /api/projects/:project/webhooks/:endpoint/test': { params: { endpoint: 'endpoint' } },
  'GET /api/projects/:project/webhooks/:endpoint/deliveries': { params: { endpoint: 'endpoint' } },
  'POST /api/projects/:project/webhook-deliveries/:delivery/replay': { params: { delivery: 'delivery' } },
  'POST /api/projects/:project/checkouts': { body: { amountNanos: '25000000000' } },
  'GET /api/projects/:project/checkouts/:checkout': { params: { checkout: 'checkout' } },
  'GET /api/projects/:project/auto-top-up': {},
  'PUT /api/projects/:project/auto-top-up': {
    body: { thresholdNanos: '10000000000', amountNanos: '25000000000', monthMaxNanos: '100000000000' },
  },
  'DELETE /api/projects/:project/auto-top-up': {},
  'DELETE /api/projects/:project/card': {},
  'GET /api/projects/:project/top-ups': {},
  'GET /api/projects/:project/top-ups/:payment/invoice': { params: { payment: 'paidCheckout' } },
  'GET /api/projects/:project/monetization': {},
  'PUT /api/projects/:project/monetization/mode': { body: { mode: 'test' } },
  'PATCH /api/projects/:project/monetization': { body: { label: 'Sponsored', firstTurn: 2 } },
  'PUT /api/projects/:project/monetization/blocked-advertisers': {
    body: { advertiser: ADVERTISER, isBlocked: true },
  },
  'GET /api/projects/:project/monetization/preview': { query: { label: 'Ad' } },
  'GET /api/projects/:project/monetization/outcomes': {},
  'GET /api/projects/:project/monetization/reports': {},
  'GET /api/projects/:project/monetization/catalogue': {},
  'GET /api/projects/:project/monetization/categories': {},
  'GET /api/projects/:project/recommendations': {},
  'GET /api/projects/:project/earnings': {},
  'GET /api/projects/:project/clicks': {},
  'GET /api/projects/:project/clicks/:click': { params: { click: 'click' } },
  'GET /api/projects/:project/settings': {},
  'PATCH /api/projects/:project/settings': { body: { contentRetentionDays: 7 } },
  'DELETE /api/projects/:project': { body: { leavesCredit: true } },
  ...ADVERTISER_SAMPLES,
  'DELETE /api/me/sessions/:session': { params: { session: 'session' } },
  'PATCH /api/me/passkeys/:passkey': { params: { passkey: 'passkey' }, body: { name: 'Sample' } },
  'DELETE /api/me/passkeys/:passkey': { params: { passkey: 'passkey' } },
  'POST /api/me/invitations/:invitation/accept': { params: { invitation: 'invitationToMe' } },
  'POST /api/me/invitations/:invitation/decline': { params: { invitation: 'invitationToMe' } },
}

interface AnySample {
  params?: Record<string, keyof TenantIds>
  body?: unknown
  query?: Record<string, string>
}

function sampleOf(key: string): AnySample {
  return (SAMPLES as Record<string, AnySample>)[key] ?? {}
}

/** The ids that the sample's own parameters stand for, of this tenant. */
export function idsFor(key: string, ids: TenantIds): Record<string, string> {
  const others = Object.entries(sampleOf(key).params ?? {}).map(([name, id]) => [name, ids[id]])
  const { publisher, project, advertiser } = ids
  return { publisher, project, advertiser, ...Object.fromEntries(others) }
}

/** The sample's request, with these ids in its address. */
export function requestOf(key: string, ids: Record<string, string>): { address: string; body: unknown } {
  const { query, body } = sampleOf(key)
  const path = key.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? assert.fail(`${key}: no id for ${name}`))
  const search = new URLSearchParams(query).toString()
  return { address: search === '' ? path : `${path}?${search}`, body }
}

/** Everything of a publisher that has an id which a route may be asked for. */
export type TenantIds = Awaited<ReturnType<typeof seedTenant>>

export async function seedTenant(world: ConsoleWorld, person: Person) {
  const { db } = world.store
  const publisher = person.publisherId
  const project = await newProject(person, `${person.name} site`, `${publisher.slice(-12)}.example.com`)
  const invited = await must(
    person.send(`POST /api/publishers/${publisher}/invitations`, {
      body: { email: `guest-${publisher}@example.com`, role: 'viewer' },
    }),
  )
  const { member, invitationToMe } = await addSomebodyElse(db, person)
  const { body } = await must(person.send('GET /api/me/sessions'))
  await addKeyPair(world.store, world.secrets, project)
  const key = await db.selectFrom('key_pairs').select('id').where('project_id', '=', project).executeTakeFirstOrThrow()
  const rolledKey = await addRolledKey(world, project, key.id)
  // Without it nobody makes a key pair.
  await setDomainVerified(db, project, new Date())
  const call = uuidv7()
  await addSettledCall(db, { id: call, projectId: project, keyPairId: key.id })
  await credit(world.store, project, 1_000_000_000n)
  const conversation = `talk-${project}`
  const click = await addTraces(db, project, call, conversation)
  await addRefusedRequests(db, [refusalOf({ projectId: project, keyPairId: key.id })])
  const endUser = await addEndUser(db, project)
  const browserSession = await addBrowserSession(db, { projectId: project, keyPairId: key.id }, { endUserId: endUser })
  const savedPrompt = await addSavedPrompt(db, project)
  const checkout = `cs_test_${project.replaceAll('-', '')}`
  await insertPayment(db, { sessionId: checkout, projectId: project, amount: 25_000_000_000n, currency: 'usd' })
  const paidCheckout = await addSavedCard(db, project)
  return {
    publisher,
    project,
    call,
    click,
    conversation,
    endUser,
    browserSession,
    savedPrompt,
    checkout,
    paidCheckout,
    invitation: String(invited.body.id),
    invitationToMe,
    member,
    session: String(body.items[0].id),
    passkey: await addPasskey(db, person.email),
    ...(await addWebhook(db, project)),
    key: key.id,
    rolledKey,
    ...(await addOwnAdvertiser(db, person, member)),
  }
}

/** Adds a user whose only purpose is to be a member and to have invited this person. The publisher has two owners then. */
async function addSomebodyElse(db: Db, person: Person) {
  const member = uuidv7()
  const elsewhere = uuidv7()
  const invitationToMe = uuidv7()
  await db
    .insertInto('users')
    .values({ id: member, name: `${person.name} II`, email: `${member}@example.com` })
    .execute()
  await db
    .insertInto('memberships')
    .values({ publisher_id: person.publisherId, user_id: member, role: 'owner' })
    .execute()
  await db
    .insertInto('publishers')
    .values({ id: elsewhere, name: `${person.name} elsewhere` })
    .execute()
  await db.insertInto('memberships').values({ publisher_id: elsewhere, user_id: member, role: 'owner' }).execute()
  await db
    .insertInto('invitations')
    .values({
      id: invitationToMe,
      publisher_id: elsewhere,
      email: person.email,
      role: 'viewer',
      invited_by: 'Somebody',
      inviter_id: member,
      expires_at: sql`now() + interval '1 day'`,
    })
    .execute()
  return { member, invitationToMe }
}

/** A card that a checkout has saved, and top-ups that are charged to it. */
async function addSavedCard(db: Db, projectId: string): Promise<string> {
  const name = projectId.replaceAll('-', '')
  const sessionId = `cs_test_before_${name}`
  await insertPayment(db, { sessionId, projectId, amount: 25_000_000_000n, currency: 'usd' })
  await markPaid(db, sessionId, `pi_${name}`, 0n)
  const card = { brand: 'visa', last4: '4242', expMonth: 12, expYear: 2030 }
  await insertCard(db, projectId, { ...card, paymentMethod: `pm_${name}`, customer: `cus_${name}` })
  const chosen = { threshold: 1_000_000n, amount: 25_000_000_000n, monthMax: 100_000_000_000n }
  await setAutoTopUp(db, projectId, chosen)
  return sessionId
}

/** Adds the records that a call leaves behind, except its charge. */
async function addTraces(db: Db, projectId: string, callId: string, conversation: string): Promise<string> {
  await recordTurn(db, {
    conversation: { projectId, id: conversation },
    callId,
    messages: [said('user', 'Which pot for beans?'), said('assistant', 'A heavy one.')],
    retentionDays: 1,
  })
  const sent = { projectId, callId, conversationId: conversation, endUserId: undefined, retentionDays: 1 }
  await insertMetadata(db, [{ ...sent, pairs: [{ key: 'plan', value: 'free' }] }])
  await countIgnoredFields(db, [{ projectId, name: 'reasoning_efort', times: 12, lastAt: new Date() }])
  await addAdvertiser(db)
  const recommendationId = uuidv7()
  await addRecommendation(db, { id: recommendationId, projectId, callId, advertiserId: ADVERTISER })
  const click = clickOn(recommendationId, { verdict: 'bot' })
  await applyClicks(db, [click])
  const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS)
  await addOutcomes(db, [
    { projectId, hour, outcome: 'served', calls: 2 },
    { projectId, hour, outcome: 'no_match', calls: 5 },
  ])
  return click.id
}

async function addEndUser(db: Db, projectId: string): Promise<string> {
  const id = uuidv7()
  await noteEndUsers(db, [{ projectId, id, label: 'Visitor 17', at: new Date() }])
  const today = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS)
  const sums = { calls: 3n, tokens: 450n, charged_nanos: 1_500_000n }
  await db
    .insertInto('end_user_days')
    .values({ project_id: projectId, end_user_id: id, starts_at: today, ...sums })
    .execute()
  return id
}

async function addAdvertiser(db: Db): Promise<void> {
  await db
    .insertInto('advertisers')
    .values({ id: ADVERTISER, name: 'Sample shop', domain: 'shop.example.com', status: 'active' })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function addPasskey(db: Db, email: string): Promise<string> {
  const user = await db.selectFrom('users').select('id').where('email', '=', email).executeTakeFirstOrThrow()
  const id = uuidv7()
  const passkey = { id, user_id: user.id, name: 'Laptop', credential_id: id, public_key: Buffer.alloc(1), counter: 0n }
  await db.insertInto('passkeys').values(passkey).execute()
  return id
}

/** An endpoint that has taken one event, and an alert that is open. */
async function addWebhook(db: Db, projectId: string): Promise<{ endpoint: string; delivery: string }> {
  const endpoint = uuidv7()
  const url = 'https://hooks.example.com/parley'
  await insertEndpoint(db, { id: endpoint, projectId, url, eventTypes: ['key.created'], sealedSecret: 'sealed' })
  await addEvent(db, { id: uuidv7(), projectId, type: 'key.created', objectKey: 'key', body: '{}' })
  const { id: delivery } = await db
    .updateTable('webhook_deliveries')
    .set({ state: 'delivered', attempts: 1, last_status: 204 })
    .where('endpoint_id', '=', endpoint)
    .returning('id')
    .executeTakeFirstOrThrow()
  const facts = { calls: 40, failures: 12, percent: 30, threshold: 20 }
  await openAlert(db, { id: uuidv7(), projectId, kind: 'error_rate', subject: '', facts })
  return { endpoint, delivery }
}

/** A pair whose place another has taken. */
async function addRolledKey({ store, secrets }: ConsoleWorld, project: string, replacedBy: string): Promise<string> {
  const { publishableKey } = await addKeyPair(store, secrets, project)
  const { id } = await store.db
    .updateTable('key_pairs')
    .set({ replaced_by: replacedBy, expires_at: sql`now() + interval '1 day'` })
    .where('publishable_key', '=', publishableKey)
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}
