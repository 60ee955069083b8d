import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Secrets } from '../../src/platform/secrets.ts'
import { refusalOf } from './refused-requests.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { DAY_MS, HOUR_MS } from '../../src/rules/durations.ts'
import { upsertInvitation } from '../../src/store/accounts/invitations.ts'
import { insertMail } from '../../src/store/accounts/mails.ts'
import { countAttempts } from '../../src/store/accounts/throttles.ts'
import { beat } from '../../src/store/billing/gateways.ts'
import { deleteEndUser, noteEndUsers } from '../../src/store/calls/end-users.ts'
import { countIgnoredFields } from '../../src/store/calls/ignored-fields.ts'
import { addRefusedRequests } from '../../src/store/calls/refused-requests.ts'
import { insertMetadata } from '../../src/store/calls/metadata.ts'
import { claimKey } from '../../src/store/calls/idempotency.ts'
import { deleteConversation, recordTurn } from '../../src/store/calls/conversations.ts'
import { inTransaction, type Store } from '../../src/store/database.ts'
import { endFeedRun, startFeedRun } from '../../src/store/offers/feeds.ts'
import { addChances } from '../../src/store/offers/campaign-chances.ts'
import { insertVectors } from '../../src/store/offers/text-vectors.ts'
import { closeAlert, openAlert } from '../../src/store/projects/alerts.ts'
import { addEvent } from '../../src/store/projects/webhook-deliveries.ts'
import { beatMatcher } from '../../src/store/recommendations/matchers.ts'
import { applyClicks, findClickSalt } from '../../src/store/recommendations/clicks.ts'
import { reportRecommendation } from '../../src/store/recommendations/reader-reports.ts'
import {
  addOutcomes,
  countTurns,
  insertRecommendations,
  setRecommendationStates,
} from '../../src/store/recommendations/records.ts'
import { addBrowserSession } from './browser-sessions.ts'
import { addOffer } from './catalogue.ts'
import { createTestLedger, settlementOf } from './ledger.ts'

/** How much happens on a day. All of it is written as the planes write it, at the time that the database shows. */
export const PER_DAY = { calls: 2, mails: 2, conversations: 1, messagesOfEach: 2, offers: 1 } as const
/** How long an offer is there before its feed no longer has it. */
export const OFFERED_DAYS = 5
/** Every so many days, a conversation is deleted. */
export const DELETED_EVERY_DAYS = 10
/** The id of a conversation that never ends: it gets one message each day. */
export const ENDLESS = 'endless'

/** The number of days for which the project keeps text. */
export const TEXT_DAYS = 30

export interface DayOptions {
  store: Store
  secrets: Secrets
  project: { id: string; publisherId: string; keyPairId: string; owner: { id: string } }
  feed: { id: string; advertiser: string }
  modelId: string
  priceVersion: bigint
  day: number
  nowMs: number
}

export async function liveOneDay(options: DayOptions): Promise<void> {
  await call(options)
  await talk(options)
  await advertise(options)
  await signIn(options)
  await tell(options)
}

async function call({ store, project, modelId, priceVersion, nowMs }: DayOptions): Promise<void> {
  // A gateway that dies in the evening, with a call that nobody settles.
  const gatewayId = uuidv7(nowMs)
  await beat(store.db, gatewayId, [1])
  const ledger = createTestLedger(store.ledgerPool, gatewayId)
  const asked = { projectId: project.id, keyPairId: project.keyPairId, modelId, priceVersion }
  // Somebody new each day.
  const endUserId = uuidv7(nowMs)
  await noteEndUsers(store.db, [{ projectId: project.id, id: endUserId, label: undefined, at: new Date(nowMs) }])
  const erased = { projectId: project.id, id: uuidv7(nowMs) }
  await noteEndUsers(store.db, [{ ...erased, label: undefined, at: new Date(nowMs) }])
  await inTransaction(store.db, (tx) => deleteEndUser(tx, erased))
  const hold = async () => {
    const callId = uuidv7(nowMs)
    await ledger.hold({ ...asked, callId, endUserId, want: 60_000n, min: 60_000n, hasIdempotencyKey: false })
    return callId
  }
  for (let n = 0; n < PER_DAY.calls; n++) {
    const conversationId = n === 0 ? ENDLESS : undefined
    const callId = await hold()
    await ledger.settle(settlementOf(callId, project.id, 30_000n, { conversationId }))
    const sent = { projectId: project.id, callId, conversationId, endUserId, pairs: [{ key: 'plan', value: 'free' }] }
    await insertMetadata(store.db, [{ ...sent, retentionDays: TEXT_DAYS }])
  }
  await hold()
  await addBrowserSession(store.db, asked, { id: uuidv7(nowMs), endUserId })
  await countIgnoredFields(store.db, [{ projectId: project.id, name: 'top_k', times: 2, lastAt: new Date(nowMs) }])
  await addRefusedRequests(store.db, [refusalOf(asked, { lastAt: new Date(nowMs) })])
  const claim = { ...asked, callId: uuidv7(nowMs), gatewayId, conversationId: undefined }
  await claimKey(store.db, { ...claim, keyDigest: randomBytes(32), bodyDigest: randomBytes(32) }, HOUR_MS, DAY_MS)
  const odd = { call_id: claim.callId, project_id: project.id, model_id: modelId, provider: 'simulator' }
  await store.db
    .insertInto('usage_anomalies')
    .values({ ...odd, anomalies: ['zero'] })
    .execute()
}

async function talk({ store, project, day, nowMs }: DayOptions): Promise<void> {
  const say = (id: string, texts: string[]) =>
    recordTurn(store.db, {
      conversation: { projectId: project.id, id },
      callId: uuidv7(nowMs),
      messages: texts.map((text) => ({
        digest: createHash('md5').update(text).digest(),
        occurrence: 1,
        message: { role: 'user', content: text },
      })),
      retentionDays: TEXT_DAYS,
    })
  await say(ENDLESS, [`day ${day}`])
  const ids = Array.from({ length: PER_DAY.conversations }, (_, n) => `day-${day}-${n}`)
  for (const id of ids) await say(id, ['question', 'answer'])
  if (day % DELETED_EVERY_DAYS === 0) await deleteConversation(store.db, { projectId: project.id, id: `day-${day}-0` })
  await countTurns(store.db, [{ projectId: project.id, digest: randomBytes(32) }])
}

async function advertise({ store, project, feed, day, nowMs }: DayOptions): Promise<void> {
  const { db } = store
  const run = { id: uuidv7(nowMs), feedId: feed.id, format: 'csv' }
  await startFeedRun(db, run)
  const counts = { rows: 2, added: 2, changed: 0, unchanged: 0, rejected: 0, removed: 2, missing: 0 }
  await endFeedRun(db, { id: run.id, state: 'published', reason: null, counts, rejections: [] })
  // One that somebody has sent and forgotten.
  await sql`insert into feed_uploads (id, advertiser_id, campaign_id, feed, file_name, state, due_at)
    select ${uuidv7(nowMs)}, advertiser_id, campaign_id, name, 'shop.csv', 'checked', null from feeds where id = ${feed.id}`.execute(
    db,
  )
  await sql`update offers set removed_at = now()
    where removed_at is null and created_at < now() - ${OFFERED_DAYS * DAY_MS - HOUR_MS} * interval '1 ms'`.execute(db)
  for (let n = 0; n < PER_DAY.offers; n++) {
    const offer = { advertiser: feed.advertiser, domain: 'shop.example', headline: `Offer ${n} of day ${day}` }
    const { offerId, advertiserId, campaignId } = await addOffer(db, offer)
    const digest = createHash('sha256').update(offerId).digest()
    await insertVectors(db, 'model', [{ digest, vector: Buffer.alloc(384) }])
    const shown = { turn: 1, priceNanos: 10n, relevance: 1, label: 'Ad', conversation: undefined }
    const record = { id: uuidv7(nowMs), projectId: project.id, callId: uuidv7(nowMs), ...shown }
    await insertRecommendations(db, [{ ...record, advertiserId, campaignId, offerId }])
    await setRecommendationStates(db, [{ id: record.id, state: 'delivered' }])
    await findClickSalt(db, new Date(nowMs).toISOString().slice(0, 10))
    const click = { id: uuidv7(nowMs), feeId: uuidv7(nowMs), recommendationId: record.id, verdict: 'valid' as const }
    await applyClicks(db, [{ ...click, networkTag: randomBytes(16) }])
    const once = { open: 1n, fitted: 1n, contended: 1n, won: 1n }
    await addChances(db, [{ campaignId, ...once }])
    await reportRecommendation(db, { recommendationId: record.id, reason: null, networkTag: randomBytes(16) })
  }
  const hour = new Date(Math.floor(nowMs / HOUR_MS) * HOUR_MS)
  await addOutcomes(db, [{ projectId: project.id, hour, outcome: 'served', calls: 1 }])
  // One that is killed each night, as those of hosts that come and go.
  await beatMatcher(db, {
    id: uuidv7(nowMs),
    host: `host ${day}`,
    state: 'ready',
    problem: undefined,
    offers: 1,
    encoder: 'encoder',
  })
}

async function signIn({ store, secrets, project, day, nowMs }: DayOptions): Promise<void> {
  const { db } = store
  const session = { id: uuidv7(nowMs), user_id: project.owner.id, token: `token ${day}` }
  const after = (ms: number) => new Date(nowMs + ms)
  await db
    .insertInto('sessions')
    .values({ ...session, expires_at: after(7 * DAY_MS) })
    .execute()
  const proof = { id: uuidv7(nowMs), identifier: `proof ${day}`, value: '' }
  await db
    .insertInto('verifications')
    .values({ ...proof, expires_at: after(HOUR_MS) })
    .execute()
  await countAttempts(db, [randomBytes(32)], HOUR_MS)
  await upsertInvitation(db, {
    id: uuidv7(nowMs),
    team: { publisherId: project.publisherId },
    email: `guest-${day}@example.com`,
    role: 'viewer',
    invitedBy: 'Owner',
    inviterId: project.owner.id,
    expiresAt: after(7 * DAY_MS),
  })
  for (let n = 0; n < PER_DAY.mails; n++) {
    const id = uuidv7(nowMs)
    // Another secret's: it cannot be opened, is tried again and again, and never sent.
    const body = n === 0 ? secrets.seal(JSON.stringify(LOW), `mail/${id}`, 'mails') : 'lost'
    await insertMail(db, { id, recipient: 'owner@example.com', template: 'low_balance', sealedBody: body })
  }
}

/** An alert that is over by the evening, and an event for an endpoint that is there from the first day. */
async function tell({ store, project, day, nowMs }: DayOptions): Promise<void> {
  const { db } = store
  const endpoint = { project_id: project.id, url: 'https://hooks.example.com/', sealed_secret: 'lost' }
  if (day === 0)
    await db
      .insertInto('webhook_endpoints')
      .values({ ...endpoint, id: uuidv7(nowMs), event_types: ['key.created'] })
      .execute()
  const event = { id: uuidv7(nowMs), projectId: project.id, type: 'key.created', objectKey: `key:${day}`, body: '{}' }
  await addEvent(db, event)
  // As if it had been delivered: this endpoint would be switched off, and nothing recorded for it.
  await sql`update webhook_deliveries set state = 'delivered' where state = 'pending'`.execute(db)
  const alert = { id: uuidv7(nowMs), projectId: project.id, kind: 'error_rate', subject: '', facts: {} } as const
  await openAlert(db, alert)
  await closeAlert(db, project.id, alert.id)
}

const LOW = { project: 'Year', balance: '1', threshold: '2', link: 'http://console.test' }
