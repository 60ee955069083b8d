import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { appendAuditLog } from '../../src/store/accounts/audit-log.ts'
import { NO_LIMITS, replaceLimits } from '../../src/store/billing/limits.ts'
import { noteEndUsers } from '../../src/store/calls/end-users.ts'
import { countIgnoredFields } from '../../src/store/calls/ignored-fields.ts'
import { addRefusedRequests } from '../../src/store/calls/refused-requests.ts'
import { insertMetadata } from '../../src/store/calls/metadata.ts'
import { recordTurn } from '../../src/store/calls/conversations.ts'
import type { Db } from '../../src/store/database.ts'
import { upsertInvitation } from '../../src/store/accounts/invitations.ts'
import { insertKeyPair } from '../../src/store/projects/keys.ts'
import { insertMembership } from '../../src/store/accounts/members.ts'
import { insertPayment } from '../../src/store/billing/payments.ts'
import { insertTopUp, setAutoTopUp } from '../../src/store/billing/top-ups/auto-top-ups.ts'
import { insertCard } from '../../src/store/billing/top-ups/wallet-cards.ts'
import { upsertPlaygroundKey } from '../../src/store/projects/playground-keys.ts'
import { closeAlert, openAlert, setAlertRule } from '../../src/store/projects/alerts.ts'
import { insertProject } from '../../src/store/projects/projects.ts'
import { addEvent } from '../../src/store/projects/webhook-deliveries.ts'
import { insertEndpoint } from '../../src/store/projects/webhook-endpoints.ts'
import { insertPublisher } from '../../src/store/accounts/publishers.ts'
import { addOutcomes, countTurns, noteSensitive } from '../../src/store/recommendations/records.ts'
import { creditWallet, refundWallet } from '../../src/store/billing/wallets.ts'
import { reportRecommendation } from '../../src/store/recommendations/reader-reports.ts'
import { addBrowserSession } from './browser-sessions.ts'
import { addOffer } from './catalogue.ts'
import { click } from './clicks.ts'
import { addSettledCall } from './ledger.ts'
import { refusalOf } from './refused-requests.ts'
import { addSavedPrompt } from './saved-prompts.ts'

/**
 * A publisher with a project that has something in every table. Whatever its publisher or its callers choose is the same
 * for all sites, down to the ids of conversations; of some things the second site has one more than the first.
 */
export interface Site {
  name: string
  publisherId: string
  projectId: string
  /** The same user in all sites: a member of each. */
  userId: string
  keyPairId: string
  browserSessionId: string
  endUserId: string
  callId: string
  refusedId: string
  savedPromptId: string
  invitationId: string
  sessionId: string
  recommendationId: string
  alertId: string
  endpointId: string
  /** How many there are of what there is more than one of. */
  count: number
}

export const SHARED = {
  conversation: 'shared',
  goneInSome: 'gone-in-some',
  requestId: 'shared-request',
  metadata: { key: 'plan', value: 'free' },
  ignoredField: 'top_k',
  email: 'guest@example.com',
  digest: Buffer.alloc(32, 7),
  threshold: 5n,
}

export function newSite(name: string, userId: string, count: number): Site {
  return {
    name,
    userId,
    count,
    publisherId: uuidv7(),
    projectId: uuidv7(),
    keyPairId: uuidv7(),
    browserSessionId: uuidv7(),
    endUserId: uuidv7(),
    callId: uuidv7(),
    refusedId: uuidv7(),
    savedPromptId: uuidv7(),
    invitationId: uuidv7(),
    sessionId: `session-${name}`,
    recommendationId: uuidv7(),
    alertId: uuidv7(),
    endpointId: uuidv7(),
  }
}

export async function fillSite(db: Db, site: Site): Promise<void> {
  const { name, publisherId, projectId: id, userId, count } = site
  await insertPublisher(db, { id: publisherId, name, email: `${name}@example.com`, activatedAt: new Date() })
  const domain = { domain: `${name}.example.com`, verificationToken: name, domainVerifiedAt: new Date() }
  await insertProject(db, { id, publisherId, name, ...domain })
  await insertMembership(db, publisherId, userId, count === 1 ? 'owner' : 'developer')
  if (count > 1) {
    const other = { id: uuidv7(), name: 'Other', email: `other-${publisherId}@example.com` }
    await db.insertInto('users').values(other).execute()
    await insertMembership(db, publisherId, other.id, 'viewer')
  }
  await insertInvitations(db, site)
  for (const action of ['project.created', 'project.renamed'])
    await appendAuditLog(db, {
      publisherId,
      actorId: userId,
      actor: name,
      action,
      subject: null,
      projectId: action === 'project.created' ? null : id,
      ip: null,
      userAgent: null,
      details: {},
    })
  await insertKeys(db, site)
  await insertMoney(db, site)
  await sql`update wallets set owed_nanos = ${count} where project_id = ${id}`.execute(db)
  for (let n = 0; n < count; n++) await insertCall(db, site, n === 0 ? site.callId : uuidv7())
  await insertRefusals(db, site)
  await insertHold(db, site)
  await insertLimits(db, site)
  for (let n = 0; n < count; n++) await addBrowserSession(db, site, { id: n === 0 ? site.browserSessionId : uuidv7() })
  await insertRecommendations(db, site)
  await insertPrompts(db, site)
  await insertWebhooks(db, site)
  const retention = { project_id: id, days: count, due_at: new Date(Date.now() + 86_400_000) }
  await db.insertInto('retention_cuts').values(retention).execute()
}

async function insertInvitations(db: Db, { name, publisherId, invitationId, userId, count }: Site): Promise<void> {
  const invitation = { team: { publisherId }, role: 'viewer' as const, invitedBy: name, inviterId: userId }
  const expiresAt = new Date(Date.now() + 86_400_000)
  await upsertInvitation(db, { ...invitation, id: invitationId, email: SHARED.email, expiresAt })
  if (count > 1) await upsertInvitation(db, { ...invitation, id: uuidv7(), email: 'more@example.com', expiresAt })
}

async function insertKeys(db: Db, { name, projectId, keyPairId, userId, count }: Site): Promise<void> {
  const secret = { secretDigest: randomBytes(32), secretVersion: 1, secretLast4: 'abcd', createdBy: userId }
  for (let n = 0; n < count; n++) {
    const id = n === 0 ? keyPairId : uuidv7()
    await insertKeyPair(db, { id, projectId, name: `key of ${name}`, publishableKey: `pk_${id}`, ...secret })
  }
  const id = uuidv7()
  await upsertPlaygroundKey(db, { id, projectId, name: 'playground', publishableKey: `pk_${id}`, ...secret })
}

async function insertMoney(db: Db, { name, projectId, sessionId, count }: Site): Promise<void> {
  const movement = { projectId, reason: name }
  for (let n = 0; n < count; n++)
    await creditWallet(db, { ...movement, id: uuidv7(), amount: 1_000_000n, kind: 'topup', reference: `${name} ${n}` })
  await refundWallet(db, { ...movement, id: uuidv7(), amount: 10n, reference: `${name} refund` })
  await insertPayment(db, { sessionId, projectId, amount: BigInt(count) * 10_000_000n, currency: 'usd' })
  const card = { brand: 'visa', last4: '4242', expMonth: 12, expYear: 2030 }
  await insertCard(db, projectId, { ...card, paymentMethod: `pm-${name}`, customer: `cus-${name}` })
  await setAutoTopUp(db, projectId, {
    threshold: SHARED.threshold,
    amount: 10_000_000n,
    monthMax: BigInt(count) * 10_000_000n,
  })
  const pending = { id: topUpIdOf(name), projectId, amount: BigInt(count) * 10_000_000n }
  await insertTopUp(db, { ...pending, paymentMethod: `pm-${name}`, customer: `cus-${name}` })
  await db.insertInto('wallet_alerts').values({ project_id: projectId, threshold_nanos: SHARED.threshold }).execute()
}

/** The id of the top-up that is being charged. */
export function topUpIdOf(name: string): string {
  return `auto_${name}`
}

async function insertCall(
  db: Db,
  { name, projectId, keyPairId, endUserId, count }: Site,
  callId: string,
): Promise<void> {
  const change = { conversationId: SHARED.conversation, requestId: SHARED.requestId }
  const call = { id: callId, projectId, keyPairId, modelId: `model-of-${name}`, charge: 30_000n * BigInt(count) }
  await addSettledCall(db, { ...call, change })
  const sent = { projectId, callId, conversationId: SHARED.conversation, endUserId, retentionDays: 30 }
  await insertMetadata(db, [{ ...sent, pairs: [SHARED.metadata, { key: 'site', value: name }] }])
  await countIgnoredFields(db, [{ projectId, name: SHARED.ignoredField, times: count, lastAt: new Date() }])
  const messages = (['user', 'assistant'] as const).map((role) => said(role, `${role} of ${name}`))
  for (const id of [SHARED.conversation, SHARED.goneInSome])
    await recordTurn(db, { conversation: { projectId, id }, callId, messages, retentionDays: 30 })
  if (count > 1)
    await db
      .updateTable('conversations')
      .set({ deleted_at: new Date() })
      .where('project_id', '=', projectId)
      .where('id', '=', SHARED.goneInSome)
      .execute()
  await db
    .insertInto('idempotency_keys')
    .values({
      project_id: projectId,
      key_digest: randomBytes(32),
      body_digest: randomBytes(32),
      call_id: callId,
      gateway_id: uuidv7(),
      conversation_id: SHARED.conversation,
    })
    .execute()
  const odd = { call_id: callId, project_id: projectId, model_id: 'm', provider: 'odd', anomalies: ['zero'] }
  await db.insertInto('usage_anomalies').values(odd).execute()
}

async function insertRefusals(db: Db, site: Site): Promise<void> {
  const refused = refusalOf(site, { times: site.count, message: `said to ${site.name}` })
  await addRefusedRequests(db, [{ ...refused, id: site.refusedId }])
  if (site.count > 1) await addRefusedRequests(db, [refusalOf(site, { viaSession: true })])
}

async function insertPrompts(db: Db, { name, projectId, savedPromptId, count }: Site): Promise<void> {
  for (let n = 0; n < count; n++)
    await addSavedPrompt(db, projectId, { id: n === 0 ? savedPromptId : uuidv7(), name: `prompt of ${name}` })
}

async function insertWebhooks(db: Db, { name, projectId, alertId, endpointId, count }: Site): Promise<void> {
  await setAlertRule(db, projectId, { kind: 'error_rate', enabled: true, threshold: BigInt(10 * count) })
  await openAlert(db, { id: alertId, projectId, kind: 'error_rate', subject: '', facts: { calls: count } })
  const over = { id: uuidv7(), projectId, kind: 'spend_spike', subject: '', facts: { name } } as const
  await openAlert(db, over)
  await closeAlert(db, projectId, over.id)
  const endpoint = { projectId, url: `https://hooks.example.com/${name}`, sealedSecret: name }
  await insertEndpoint(db, { ...endpoint, id: endpointId, eventTypes: ['key.created'] })
  for (let n = 0; n < count; n++)
    await addEvent(db, { id: uuidv7(), projectId, type: 'key.created', objectKey: 'key', body: name })
}

/** Adds the hold of a call that still runs. */
async function insertHold(db: Db, { name, projectId, keyPairId }: Site): Promise<void> {
  const price = await db
    .selectFrom('price_versions')
    .select('id')
    .where('model_id', '=', `model-of-${name}`)
    .executeTakeFirstOrThrow()
  const hold = { project_id: projectId, key_pair_id: keyPairId, model_id: `model-of-${name}`, amount_nanos: 1n }
  await db
    .insertInto('holds')
    .values({ id: uuidv7(), gateway_id: uuidv7(), price_version_id: price.id, ...hold })
    .execute()
}

async function insertLimits(db: Db, { publisherId, projectId, endUserId: id, count }: Site): Promise<void> {
  const at = new Date()
  const subject = { scope: 'end_user', subject: id, publisherId, projectId } as const
  await noteEndUsers(db, [{ projectId, id, label: undefined, at }])
  await replaceLimits(db, subject, { ...NO_LIMITS, day_nanos: BigInt(count) })
  await db.insertInto('limit_counts').values({ scope: 'end_user', subject: id, project_id: projectId }).execute()
  const erasure = { project_id: projectId, end_user_id: id, erased_at: new Date(0) }
  await db.insertInto('end_user_erasures').values(erasure).execute()
  const sums = { calls: BigInt(count), tokens: 1n, charged_nanos: 1n }
  await db
    .insertInto('end_user_days')
    .values({ project_id: projectId, end_user_id: id, starts_at: new Date(0), ...sums })
    .execute()
}

async function insertRecommendations(db: Db, site: Site): Promise<void> {
  const { projectId, callId, recommendationId, count } = site
  await addRecommendation(db, { id: recommendationId, projectId, callId, advertiserId: uuidv7() })
  for (let n = 0; n < count; n++) await click(db, recommendationId, { verdict: 'bot' })
  await insertPaidClick(db, site)
  await insertReports(db, site)
  await sql`select earnings_account(${projectId})`.execute(db)
  await sql`update earnings set pending_nanos = ${count}, released_nanos = ${count} where project_id = ${projectId}`.execute(
    db,
  )
  await addOutcomes(db, [{ projectId, hour: new Date(3_600_000), outcome: 'no_match', calls: count }])
  const conversation = { projectId, digest: SHARED.digest }
  if (count > 1) await noteSensitive(db, [conversation])
  else await countTurns(db, [conversation])
  await db.insertInto('monetization').values({ project_id: projectId, label: site.name }).execute()
}

/** Without the money that it would have moved: its advertiser is nobody's. */
async function insertPaidClick(db: Db, { projectId, recommendationId, count }: Site): Promise<void> {
  const id = uuidv7()
  const others = { advertiser_id: uuidv7(), campaign_id: uuidv7(), offer_id: uuidv7() }
  const paid = { verdict: 'valid', price_nanos: BigInt(count), share_nanos: BigInt(count), state: 'pending' }
  await db
    .insertInto('clicks')
    .values({ id, project_id: projectId, recommendation_id: recommendationId, ...others, ...paid })
    .execute()
  await sql`select clicks_sum(array[k], array[null]::uuid[], 1) from clicks k where k.id = ${id}`.execute(db)
}

async function insertReports(db: Db, { projectId, recommendationId }: Site): Promise<void> {
  await reportRecommendation(db, { recommendationId, reason: 'other', networkTag: randomBytes(16) })
  const { offerId } = await addOffer(db, { advertiser: projectId, domain: 'shop.example', headline: 'Stopped' })
  await db.insertInto('offer_stops').values({ project_id: projectId, offer_id: offerId }).execute()
}

/** As a turn of a conversation records it. */
export function said(role: 'user' | 'assistant', content: string) {
  return { digest: randomBytes(16), occurrence: 1, message: { role, content } }
}

/** One that was delivered. */
export async function addRecommendation(
  db: Db,
  { id, projectId, callId, advertiserId }: Record<'id' | 'projectId' | 'callId' | 'advertiserId', string>,
): Promise<void> {
  await db
    .insertInto('recommendations')
    .values({
      id,
      project_id: projectId,
      call_id: callId,
      advertiser_id: advertiserId,
      campaign_id: uuidv7(),
      offer_id: uuidv7(),
      turn: 1,
      price_nanos: 250_000_000n,
      relevance: 1,
      label: 'Ad',
      state: 'delivered',
    })
    .execute()
}

/** Everything that the database has of a site, table by table. */
export async function rowsOfSite(db: Db, { publisherId, projectId }: Site): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string; columns: string[] }>`
    select c.relname as name, array_agg(a.attname::text) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
    group by 1 order by 1`.execute(db)
  const parts = tables.flatMap(({ name, columns }) => {
    const own = [
      ...(columns.includes('project_id') ? [sql`t.project_id = ${projectId}`] : []),
      ...(columns.includes('publisher_id') ? [sql`t.publisher_id = ${publisherId}`] : []),
      ...(name === 'projects' ? [sql`t.id = ${projectId}`] : []),
      ...(name === 'publishers' ? [sql`t.id = ${publisherId}`] : []),
      ...(name === 'transfers' ? [sql`${projectId}::uuid in (t.debit_account, t.credit_account)`] : []),
    ]
    if (own.length === 0) return []
    return [
      sql`select ${name} || ' ' || to_jsonb(t)::text as row from ${sql.table(name)} t where ${sql.join(own, sql` or `)}`,
    ]
  })
  const { rows } = await sql<{ row: string }>`${sql.join(parts, sql` union all `)} order by 1`.execute(db)
  return rows.map(({ row }) => row)
}
