/** A publisher who has been at it for weeks: what pages and pictures of them show when there is something to show. */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { seedCalls } from '../../../scripts/seed-calls.ts'
import { uuidv7 } from '../../../src/platform/uuid.ts'
import type { Message } from '../../../src/rules/calls/message.ts'
import { numberOccurrences } from '../../../src/rules/calls/conversations.ts'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom } from '../../../src/rules/projects/keys.ts'
import { callIdOf, completionIdOf } from '../../../src/rules/billing/receipts.ts'
import { recordTurn } from '../../../src/store/calls/conversations.ts'
import { countIgnoredFields } from '../../../src/store/calls/ignored-fields.ts'
import { insertMetadata } from '../../../src/store/calls/metadata.ts'
import { inTransaction, type Db } from '../../../src/store/database.ts'
import { DAY_MS } from '../../../src/rules/durations.ts'
import { must, newPerson, type ConsoleWorld, type Person } from '../../support/console.ts'
import { addDeployment } from '../../support/world.ts'
import { furnishAdvertiser } from './furnish-advertiser.ts'
import { furnishLimits } from './furnish-limits.ts'
import { furnishRefusals } from './furnish-refusals.ts'
import { furnishSessions } from './furnish-sessions.ts'
import { furnishMonetization } from './furnish-monetization.ts'
import { TALK, TALKS } from './talk.ts'

export interface Furnished {
  person: Person
  /** The project with the data. */
  projectId: string
  conversationId: string
  advertiserId: string
  /** The advertiser's feed with runs, and a file that was checked. */
  feedId: string
  uploadId: string
  /** One that was answered, and one that failed. */
  callId: string
  failedCallId: string
}

const DAYS = 62
const KEPT_PROJECTS = [
  { name: 'Recipes', domain: 'recipes.example.com' },
  { name: 'Travel guides', domain: 'travel.example.com' },
]

/** Facts about the seeded models; the seed knows only their prices. */
const MODELS = {
  'claude-sonnet': { maker: 'anthropic', context: 200_000, answer: 64_000 },
  'gpt-large': { maker: 'openai', context: 400_000, answer: 128_000 },
  'gpt-mini': { maker: 'openai', context: 128_000, answer: 16_384 },
  'gemini-flash': { maker: 'google', context: 1_048_576, answer: 65_536 },
  'mistral-small': { maker: 'mistral', context: 128_000, answer: 8_192 },
}

export async function furnish(world: ConsoleWorld): Promise<Furnished> {
  const { db } = world.store
  const person = await newPerson(world, { name: 'Ada Lovelace', email: 'ada@example.com' })
  const { publisherId } = person
  await sql`update publishers set name = 'Example Media' where id = ${publisherId}`.execute(db)
  const { projectIds } = await seedCalls(String(world.env.DATABASE_URL), { calls: 6_000, days: DAYS, publisherId })
  const [projectId = ''] = projectIds
  await keepProjects(db, projectIds)
  for (const [id, { maker, context, answer }] of Object.entries(MODELS)) {
    await addDeployment(world.store, { id, provider: 'simulator' })
    const figures = { owned_by: maker, context_window: context, max_output_tokens: answer }
    await db.updateTable('models').set(figures).where('id', '=', id).execute()
  }
  await dressKeys(db, projectId)
  await rewriting(db, (trx) => fillWallet(trx, projectId))
  await gatherTeam(world, person)
  const conversationId = await rewriting(db, (trx) => talk(trx, projectId))
  await must(
    person.send(`POST /api/projects/${projectId}/keys`, { body: { name: 'Nightly import', expiresInDays: 90 } }),
  )
  await furnishMonetization(db, projectId)
  await furnishLimits(db, person, projectId)
  await furnishSessions(db, projectId)
  const callId = await newestCall(db, projectId, 'completed')
  await sendAlong(db, projectId, callId)
  await furnishRefusals(db, projectId)
  const failedCallId = await newestCall(db, projectId, 'upstream_failed')
  const shop = await furnishAdvertiser(db, person)
  return { person, projectId, conversationId, ...shop, callId, failedCallId }
}

/** Two sites are what a publisher has; the others go to somebody else. */
async function keepProjects(db: Db, projectIds: readonly string[]): Promise<void> {
  const elsewhere = uuidv7()
  await sql`insert into publishers (id, name) values (${elsewhere}, 'Elsewhere')`.execute(db)
  await sql`update projects set publisher_id = ${elsewhere}
    where id = any (${projectIds.slice(KEPT_PROJECTS.length)}::uuid[])`.execute(db)
  for (const [n, { name, domain }] of KEPT_PROJECTS.entries()) {
    await sql`update projects set name = ${name}, onboarding_dismissed_at = now() where id = ${projectIds[n]}`.execute(
      db,
    )
    const token = randomBytes(16).toString('hex')
    const findings = {
      dns: { outcome: 'match', values: [`parley-verify=${token}`], misplacedAt: null },
      file: { outcome: 'not_needed' },
    }
    await sql`update domains set name = ${domain}, verification_token = ${token}, proven_by = 'dns',
      verified_at = now() - ${DAYS} * interval '1 day', checked_at = now() - interval '3 hours',
      next_check_at = now() + interval '21 hours', findings = ${JSON.stringify(findings)}
      where project_id = ${projectIds[n]}`.execute(db)
  }
}

/** Rewrites records of the past, which are never changed anywhere else: none of them is real here. */
function rewriting<T>(db: Db, work: (db: Db) => Promise<T>): Promise<T> {
  return inTransaction(db, async (trx) => {
    await sql`set local session_replication_role = replica`.execute(trx)
    return work(trx)
  })
}

/** Keys that look like ours, used in the last hours. */
async function dressKeys(db: Db, projectId: string): Promise<void> {
  const pairs = await db.selectFrom('key_pairs').select('id').where('project_id', '=', projectId).execute()
  for (const [n, { id }] of pairs.entries()) {
    const { publishable, secret } = keyPairFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), '00')
    await sql`update key_pairs set publishable_key = ${publishable}, secret_last4 = ${secret.slice(-4)},
      last_used_at = now() - ${4 + n * 95} * interval '1 minute', created_at = now() - ${DAYS - n * 9} * interval '1 day'
      where id = ${id}`.execute(db)
  }
}

/** Instead of the seed's one payment: credit to try with, and top-ups over weeks. */
async function fillWallet(db: Db, projectId: string): Promise<void> {
  await sql`delete from transfers where credit_account = ${projectId}`.execute(db)
  await pay(db, projectId, { kind: 'grant', dollars: 5, daysAgo: DAYS, reason: 'Credit to try with' })
  for (const [daysAgo, dollars] of [
    [38, 10],
    [21, 20],
    [6, 20],
  ] as const) {
    await pay(db, projectId, { kind: 'topup', dollars, daysAgo, reason: null })
  }
  await sql`update wallets set balance_nanos = (select sum(delta_nanos) from journal where account_id = ${projectId})
    where project_id = ${projectId}`.execute(db)
}

interface Payment {
  kind: 'grant' | 'topup'
  dollars: number
  daysAgo: number
  reason: string | null
}

async function pay(db: Db, projectId: string, { kind, dollars, daysAgo, reason }: Payment): Promise<void> {
  const at = new Date(Date.now() - daysAgo * DAY_MS)
  await sql`insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference, reason, created_at)
    select ${uuidv7(at.getTime())}, '00000000-0000-0000-0000-000000000002', ${projectId}, ${BigInt(dollars) * 1_000_000_000n},
      ${kind}, ${`stripe:pi_3Qx${daysAgo}LkdIwHu7ix`}, ${reason}, ${at}`.execute(db)
}

async function gatherTeam(world: ConsoleWorld, person: Person): Promise<void> {
  for (const [name, role] of [
    ['Grace Hopper', 'admin'],
    ['Alan Turing', 'developer'],
  ] as const) {
    const email = `${name.split(' ')[0]?.toLowerCase()}@example.com`
    await newPerson(world, { name, email })
    await sql`insert into memberships (publisher_id, user_id, role)
      select ${person.publisherId}, id, ${role} from users where email = ${email}`.execute(world.store.db)
  }
  await sql`update memberships m set created_at = now() - interval '48 days' + 9 * interval '1 day' * n.joined
    from (select user_id, row_number() over (order by created_at) as joined from memberships
      where publisher_id = ${person.publisherId}) n
    where m.user_id = n.user_id and m.publisher_id = ${person.publisherId}`.execute(world.store.db)
  const invitation = { email: 'edsger@example.com', role: 'viewer' }
  await must(person.send(`POST /api/publishers/${person.publisherId}/invitations`, { body: invitation }))
}

/** Real calls of the project become the turns, so that what a turn cost is what its call cost. */
async function talk(db: Db, projectId: string): Promise<string> {
  // The seeded ids of conversations lead to none.
  await sql`update calls set conversation_id = null where project_id = ${projectId}`.execute(db)
  const talks = [...TALKS, { id: 'sourdough-starter', messages: TALK }]
  const { rows: calls } = await sql<{ id: string; created_at: Date }>`
    select id, created_at from calls where project_id = ${projectId} and outcome = 'completed'
      and created_at > now() - interval '3 days' order by id`.execute(db)
  const turns = talks.flatMap(({ id, messages }) =>
    messages.flatMap(({ role }, n) => (role === 'assistant' ? [{ id, said: messages.slice(0, n + 1) }] : [])),
  )
  const late = calls.slice(-turns.length)
  for (const [n, { id, said }] of turns.entries()) {
    const call = late[n]
    if (!call) throw new Error('too few calls to talk')
    const messages = numberOccurrences(said as Message[], Buffer.alloc(32, 2))
    await recordTurn(db, { conversation: { projectId, id }, callId: call.id, messages, retentionDays: 30 })
    await sql`update calls set conversation_id = ${id} where id = ${call.id}`.execute(db)
    await sql`update messages set created_at = ${call.created_at} where call_id = ${call.id}`.execute(db)
    await sql`update conversations set last_call_at = ${call.created_at}, created_at = least(created_at, ${call.created_at})
      where project_id = ${projectId} and id = ${id}`.execute(db)
  }
  await sql`insert into conversation_sums
    select k.project_id, k.conversation_id, count(*), sum(input_tokens + cached_input_tokens + cache_write_tokens),
      sum(output_tokens + reasoning_tokens), sum(charged_nanos)
    from calls k join charges c using (id) where k.project_id = ${projectId} and k.conversation_id is not null
    group by 1, 2`.execute(db)
  return 'sourdough-starter'
}

/** Adds the metadata of the newest call, and field names that developers of the site have mistyped. */
async function sendAlong(db: Db, projectId: string, completionId: string): Promise<void> {
  const callId = String(callIdOf(completionId))
  const nobody = { conversationId: undefined, endUserId: undefined }
  await db.deleteFrom('call_metadata').where('call_id', '=', callId).execute()
  await insertMetadata(db, [
    {
      projectId,
      callId,
      ...nobody,
      pairs: [
        { key: 'env', value: 'prod' },
        { key: 'article', value: 'sourdough-for-beginners' },
        { key: 'release', value: '2026.3.1' },
      ],
      retentionDays: 30,
    },
  ])
  const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000)
  await countIgnoredFields(db, [
    { projectId, name: 'reasoning_efort', times: 12, lastAt: ago(3) },
    { projectId, name: 'maxTokens', times: 1_204, lastAt: ago(26) },
    { projectId, name: 'thinking_budget', times: 1, lastAt: ago(200) },
  ])
}

async function newestCall(db: Db, projectId: string, outcome: string): Promise<string> {
  const { id } = await db
    .selectFrom('calls')
    .select('id')
    .where('project_id', '=', projectId)
    .where('outcome', '=', outcome)
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow()
  return completionIdOf(id, 'chat')
}
