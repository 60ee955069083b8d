import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { DEFAULT_SETTINGS } from '../../src/rules/recommendations/monetization.ts'
import * as auditLog from '../../src/store/accounts/audit-log.ts'
import * as calls from '../../src/store/calls/calls.ts'
import * as conversationPages from '../../src/store/calls/conversation-pages.ts'
import * as conversations from '../../src/store/calls/conversations.ts'
import * as endUserPages from '../../src/store/calls/end-user-pages.ts'
import * as endUsers from '../../src/store/calls/end-users.ts'
import * as ignoredFields from '../../src/store/calls/ignored-fields.ts'
import * as refusedRequests from '../../src/store/calls/refused-requests.ts'
import * as metadata from '../../src/store/calls/metadata.ts'
import { findCountedLimits } from '../../src/store/billing/limits.ts'
import type { Db, Store, Tx } from '../../src/store/database.ts'
import * as browserSessions from '../../src/store/projects/browser-session-pages.ts'
import { forgetSessions } from '../../src/store/projects/browser-sessions.ts'
import * as alerts from '../../src/store/projects/alerts.ts'
import * as deliveries from '../../src/store/projects/webhook-deliveries.ts'
import * as endpoints from '../../src/store/projects/webhook-endpoints.ts'
import * as domains from '../../src/store/projects/domains.ts'
import { countCallers } from '../../src/store/health.ts'
import { dismissOnboarding, findFirstSteps } from '../../src/store/projects/first-steps.ts'
import { claimKey } from '../../src/store/calls/idempotency.ts'
import * as invitations from '../../src/store/accounts/invitations.ts'
import * as keyPairs from '../../src/store/projects/key-pairs.ts'
import { insertKeyPair, listKeyPairs } from '../../src/store/projects/keys.ts'
import * as members from '../../src/store/accounts/members.ts'
import { insertPrice, upsertModel } from '../../src/store/catalogue/models.ts'
import * as clickPages from '../../src/store/recommendations/click-pages.ts'
import * as earnings from '../../src/store/recommendations/earnings.ts'
import * as monetization from '../../src/store/recommendations/monetization.ts'
import { findPaid, findPayment, listPayments, listTopUps, markPaid } from '../../src/store/billing/payments.ts'
import { lockPlaygroundKey, upsertPlaygroundKey } from '../../src/store/projects/playground-keys.ts'
import * as savedPrompts from '../../src/store/projects/saved-prompts.ts'
import * as projects from '../../src/store/projects/projects.ts'
import { closePublisher, setPublisherActivated, setPublisherName } from '../../src/store/accounts/publishers.ts'
import { countTurns, findRecommended, noteSensitive } from '../../src/store/recommendations/records.ts'
import * as readerReports from '../../src/store/recommendations/reader-reports.ts'
import { setLibraryPublic } from '../../src/store/recommendations/ad-library.ts'
import * as rehearsals from '../../src/store/recommendations/rehearsals.ts'
import * as recommendations from '../../src/store/recommendations/reports.ts'
import { cutSome, requestCut, withdrawCut } from '../../src/store/calls/retention-cuts.ts'
import { listAnomalies, sumAnomalies } from '../../src/store/billing/usage-anomalies.ts'
import * as usage from '../../src/store/billing/usage.ts'
import * as autoTopUps from '../../src/store/billing/top-ups/auto-top-ups.ts'
import * as cards from '../../src/store/billing/top-ups/wallet-cards.ts'
import * as walletAlerts from '../../src/store/billing/wallet-alerts.ts'
import { listLedger, sumChargedSince } from '../../src/store/billing/wallet-ledger.ts'
import * as wallets from '../../src/store/billing/wallets.ts'
import { rollUpUsage } from '../../src/worker/roll-up-usage.ts'
import { firstClickOf } from '../support/clicks.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { refusalOf } from '../support/refused-requests.ts'
import { addSavedPrompt } from '../support/saved-prompts.ts'
import { fillSite, newSite, rowsOfSite, SHARED, topUpIdOf, type Site } from '../support/sites.ts'
import { ownedTables, rowsAs } from '../support/tenancy.ts'
import { PRICE, until } from '../support/world.ts'

/**
 * Tenants have a second wall in the database, and command line, worker and gateway have none. So every statement is run
 * here as the owner, who sees everything: only what the statement itself says keeps the sites apart.
 */

let database: TestDatabase
let store: Store
const userId = uuidv7()
const mine = newSite('mine', userId, 1)
const theirs = newSite('theirs', userId, 2)
/** The answer of each read about the first site while it is the only one. */
const alone = new Map<string, unknown>()

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'scopes test' })
  const { db } = store
  await db.insertInto('users').values({ id: userId, name: 'Member', email: 'member@example.com' }).execute()
  for (const { name } of [mine, theirs]) {
    await upsertModel(db, {
      id: `model-of-${name}`,
      ownedBy: name,
      contextWindow: 1_000,
      maxOutputTokens: 100,
      figures: undefined,
    })
    await insertPrice(db, { modelId: `model-of-${name}`, ...PRICE, effectiveFrom: new Date() })
  }
  await fillSite(db, mine)
  await rollUpAll()
  for (const [name, read] of Object.entries(READS)) alone.set(name, await answerOf(read, mine, theirs))
  await fillSite(db, theirs)
  await rollUpAll()
  // An entry that was altered, as by an attacker with the owner's rights.
  await sql`alter table audit_log disable trigger audit_log_append_only`.execute(db)
  await sql`update audit_log set actor = 'x' where publisher_id = ${theirs.publisherId} and seq = 1`.execute(db)
})
after(async () => {
  await store.close()
  await database.drop()
})

test("row security shows a tenant its own rows and nobody else's, in every table, though all have some", async () => {
  const tenantUrl = loginUrl(database.url, 'tenant')
  const walled = openTestStore({ url: database.url, tenantUrl, applicationName: 'scopes test' })
  const has = (rows: unknown, { projectId, publisherId }: Site) =>
    [projectId, publisherId].some((id) => JSON.stringify(rows).includes(id))
  const readable = (await ownedTables(store.db)).filter(({ isReadable }) => isReadable)
  const seen: Record<string, object> = {}
  for (const { name } of readable) {
    const { rows: all } = await sql`select to_json(t)::text from ${sql.table(name)} t`.execute(store.db)
    const shown = await rowsAs(walled.tenants, { publisherId: mine.publisherId, projectId: mine.projectId }, name)
    seen[name] = { othersHaveSome: has(all, theirs), showsOthers: has(shown, theirs), showsOwn: has(shown, mine) }
  }
  await walled.close()
  const expected = { othersHaveSome: true, showsOthers: false, showsOwn: true }
  assert.deepEqual(seen, Object.fromEntries(readable.map(({ name }) => [name, expected])))
})

async function rollUpAll(): Promise<void> {
  const nowMs = Date.now()
  await until(async () => {
    await rollUpUsage({ db: store.db, signal: new AbortController().signal, marginMs: 0 })
    const { through } = await store.db.selectFrom('usage_progress').select('through').executeTakeFirstOrThrow()
    return through !== null && through.getTime() > nowMs
  })
}

class Undo extends Error {}

/** Nothing of it stays. */
async function undone<T>(work: (tx: Db) => Promise<T>): Promise<T> {
  let result!: T
  const undo = new Undo()
  await store.db
    .transaction()
    .execute(async (tx) => {
      result = await work(tx)
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
  return result
}

type Read = (db: Db, its: Site, other: Site) => Promise<unknown>

/** A read that fails is an answer too: the test that asks for it says so, and not all of them. */
async function answerOf(read: Read, its: Site, other: Site): Promise<unknown> {
  return undone((tx) => read(tx, its, other)).catch((error: unknown) => error)
}

const EVER = new Date(0)
const DAYS = { from: EVER, to: new Date('2100-01-01') }
const span = (site: Site, every: 'hour' | 'day') => {
  return { projectIds: [site.projectId], from: EVER, to: new Date('2100-01-01'), every }
}
const conversation = ({ projectId }: Site) => ({ projectId, id: SHARED.conversation })
const search = (site: Site) => ({ projectId: site.projectId, most: 10 })

/** Each is asked for one site, and with ids of both where it takes ids. */
const READS: Record<string, Read> = {
  listAuditLog: (db, { publisherId }) => auditLog.listAuditLog(db, publisherId, {}, 10),
  firstBrokenEntry: (db, { publisherId }) => auditLog.firstBrokenEntry(db, publisherId),
  listCalls: (db, its) => calls.listCalls(db, { ...search(its), filters: {} }),
  // Rows of others that are read and thrown away use up what a statement may read.
  'listCalls with little to read': (db, its) =>
    calls.listCalls(db, { ...search(its), filters: {}, budget: { rowsPerStatement: its.count, ms: 1_000 } }),
  'listCalls by cost': (db, its) => calls.listCalls(db, { ...search(its), filters: { minCharged: 1n } }),
  'listCalls of a conversation': (db, its) =>
    calls.listCalls(db, { ...search(its), filters: { conversationId: SHARED.conversation } }),
  'listCalls by metadata': (db, its) => calls.listCalls(db, { ...search(its), filters: { metadata: SHARED.metadata } }),
  findMetadata: (db, its, other) => metadata.findMetadata(db, its.projectId, [its.callId, other.callId]),
  listIgnoredFields: (db, { projectId }) =>
    ignoredFields.listIgnoredFields(db, projectId, { keptMs: 86_400_000, most: 10 }),
  listRefusedRequests: (db, its) => refusedRequests.listRefusedRequests(db, search(its)),
  'listRefusedRequests of a code': (db, its) =>
    refusedRequests.listRefusedRequests(db, { ...search(its), codes: ['invalid_value', 'keys_invalid'] }),
  'listRefusedRequests of a key': (db, its, other) =>
    both(its, other, ({ keyPairId }) => refusedRequests.listRefusedRequests(db, { ...search(its), keyPairId })),
  'listRefusedRequests of a code and a key': (db, its, other) =>
    both(its, other, ({ keyPairId }) =>
      refusedRequests.listRefusedRequests(db, { ...search(its), codes: ['invalid_value'], keyPairId }),
    ),
  findRefusedRequest: (db, its, other) =>
    both(its, other, ({ refusedId }) => refusedRequests.findRefusedRequest(db, its.projectId, refusedId)),
  'findCallsById by request': (db, { projectId }) =>
    calls.findCallsById(db, projectId, { requestId: SHARED.requestId }),
  findEndpoints: (db, its, other) => both(its, other, ({ callId }) => calls.findEndpoints(db, its.projectId, [callId])),
  'findCallsById by call': (db, its, other) =>
    both(its, other, ({ callId }) => calls.findCallsById(db, its.projectId, { callId, requestId: 'none' })),
  listLatestConversations: (db, { projectId }) =>
    conversationPages.listLatestConversations(db, projectId, { most: 10 }),
  'listLatestConversations by a part of the id': (db, { projectId }) =>
    conversationPages.listLatestConversations(db, projectId, { search: 'share', most: 10 }),
  'listLatestConversations by the id': (db, { projectId }) =>
    conversationPages.listLatestConversations(db, projectId, { search: SHARED.conversation, most: 10 }),
  findConversation: (db, its) => conversationPages.findConversation(db, conversation(its)),
  listMessagesAfter: (db, its) => conversationPages.listMessagesAfter(db, conversation(its), 0n, 10),
  listCallsOfMessages: (db, its, other) =>
    conversationPages.listCallsOfMessages(db, its.projectId, [its.callId, other.callId]),
  findConversations: (db, { projectId }) => conversations.findConversations(db, [{ projectId, id: SHARED.goneInSome }]),
  listConversations: (db, { projectId }) => conversations.listConversations(db, projectId, 10),
  listMessages: (db, its) => conversations.listMessages(db, conversation(its), 10),
  listEndUsers: (db, { projectId }) => endUserPages.listEndUsers(db, projectId, { since: EVER, most: 10 }),
  searchEndUsers: (db, its, other) =>
    endUserPages.searchEndUsers(db, its.projectId, { since: EVER, ids: [its.endUserId, other.endUserId], most: 10 }),
  findEndUser: (db, its, other) =>
    both(its, other, ({ endUserId: id }) => endUsers.findEndUser(db, { projectId: its.projectId, id })),
  findCountedLimits: (db, { projectId, endUserId: subject }) =>
    findCountedLimits(db, projectId, [{ scope: 'end_user', subject }]),
  findDomain: (db, { projectId }) => domains.findDomain(db, projectId),
  lockDomain: (db, { projectId }) => domains.lockDomain(db, projectId),
  findFirstSteps: (db, { projectId }) => findFirstSteps(db, projectId),
  claimKey: async (db, its, other) => [its.name, await claimWith(db, its, other.keyPairId)],
  listInvitations: (db, { publisherId }) => invitations.listInvitations(db, { publisherId }),
  findInvitation: (db, its, other) =>
    both(its, other, (site) => invitations.findInvitation(db, its, site.invitationId)),
  findInvitationTo: (db, { publisherId }) => invitations.findInvitationTo(db, { publisherId }, SHARED.email),
  listManagedKeyPairs: (db, { projectId }) => keyPairs.listManagedKeyPairs(db, projectId, EVER),
  countKeyPairs: (db, { projectId }) => keyPairs.countKeyPairs(db, projectId),
  lockKeyPair: (db, its, other) =>
    both(its, other, ({ keyPairId }) => keyPairs.lockKeyPair(db, its.projectId, keyPairId)),
  listKeyPairs: (db, { projectId }) => listKeyPairs(db, projectId),
  listBrowserSessions: (db, { projectId }) => browserSessions.listBrowserSessions(db, projectId, { most: 10 }),
  listBrowserSessionsOfPair: (db, its, other) =>
    both(its, other, ({ keyPairId }) =>
      browserSessions.listBrowserSessions(db, its.projectId, { keyPairId, most: 10 }),
    ),
  findBrowserSession: (db, its, other) =>
    both(its, other, ({ browserSessionId: id }) =>
      browserSessions.findBrowserSession(db, { projectId: its.projectId, id }),
    ),
  findMembership: (db, { publisherId }) => members.findMembership(db, userId, publisherId),
  findMembershipOfProject: (db, { projectId }) => members.findMembershipOfProject(db, userId, projectId),
  listOwners: (db, { publisherId }) => members.listOwners(db, publisherId),
  holdRole: (db, { publisherId }) => members.holdRole(db, publisherId, userId),
  countMembers: (db, { publisherId }) => members.countMembers(db, publisherId),
  listAlertRules: (db, { projectId }) => alerts.listAlertRules(db, projectId),
  listOpenAlerts: (db, { projectId }) => alerts.listOpenAlerts(db, projectId),
  listClosedAlerts: (db, { projectId }) => alerts.listClosedAlerts(db, projectId, { before: undefined, most: 10 }),
  listEndpoints: (db, { projectId }) => endpoints.listEndpoints(db, projectId),
  lockEndpoint: (db, its, other) =>
    both(its, other, ({ endpointId }) => endpoints.lockEndpoint(db, its.projectId, endpointId)),
  listDeliveries: (db, its, other) =>
    both(its, other, ({ endpointId }) =>
      deliveries.listDeliveries(db, endpointId, { projectId: its.projectId, before: undefined, most: 10 }),
    ),
  findMonetization: (db, { projectId }) => monetization.findMonetization(db, projectId),
  countConversationsSince: (db, { projectId }) => rehearsals.countConversationsSince(db, projectId, EVER, 10),
  listKeptConversations: (db, { projectId }) =>
    rehearsals.listKeptConversations(db, projectId, {
      since: EVER,
      conversationsMax: 10,
      messagesMax: 10,
      bytesMax: 1_000,
    }),
  lockMonetization: (db, { projectId }) => monetization.lockMonetization(db, projectId),
  listPayments: (db, { projectId }) => listPayments(db, projectId, 10),
  findCard: (db, { projectId }) => cards.findCard(db, projectId),
  findAutoTopUp: (db, { projectId }) => autoTopUps.findAutoTopUp(db, projectId),
  findLastTopUp: (db, { projectId }) => autoTopUps.findLastTopUp(db, projectId),
  sumThisMonth: (db, { projectId }) => autoTopUps.sumThisMonth(db, projectId),
  listTopUps: (db, { projectId }) => listTopUps(db, projectId, { after: undefined, most: 10 }),
  // The place of another's payment is no place in this list.
  'listTopUps after one': (db, its, other) =>
    both(its, other, ({ name }) => listTopUps(db, its.projectId, { after: topUpIdOf(name), most: 10 })),
  findPaid: async (db, its, other) => {
    for (const { sessionId } of [its, other]) await markPaid(db, sessionId, `pi-${sessionId}`, 0n)
    return both(its, other, ({ sessionId }) => findPaid(db, its.projectId, sessionId))
  },
  findPayment: (db, its, other) => both(its, other, ({ sessionId }) => findPayment(db, its.projectId, sessionId)),
  listSavedPrompts: (db, { projectId }) => savedPrompts.listSavedPrompts(db, projectId, 10),
  findSavedPrompt: (db, its, other) =>
    both(its, other, ({ savedPromptId }) => savedPrompts.findSavedPrompt(db, its.projectId, savedPromptId)),
  countSavedPrompts: (db, { projectId }) => savedPrompts.countSavedPrompts(db, projectId),
  lockPlaygroundKey: (db, { projectId }) => lockPlaygroundKey(db, projectId),
  listProjects: (db, { publisherId }) => projects.listProjects(db, publisherId),
  findProject: (db, { projectId }) => projects.findProject(db, projectId),
  countTurns: (db, { projectId }) => countTurns(db, [{ projectId, digest: SHARED.digest }]),
  findRecommended: (db, its, other) =>
    findRecommended(db, its.projectId, [its.recommendationId, other.recommendationId]),
  listRecommendations: (db, { projectId }) => recommendations.listRecommendations(db, projectId, { most: 10 }),
  findRecommendationsOfCalls: (db, its, other) =>
    recommendations.findRecommendationsOfCalls(db, its.projectId, [its.callId, other.callId]),
  listClicks: (db, { projectId }) => clickPages.listClicks(db, projectId, { filters: {}, most: 10 }),
  findClick: (db, its, other) =>
    both(its, other, async (of) => clickPages.findClick(db, its.projectId, await firstClickOf(db, of.projectId))),
  findClicksOn: (db, its, other) =>
    clickPages.findClicksOn(db, its.projectId, [its.recommendationId, other.recommendationId]),
  findEarnings: (db, { projectId }) => earnings.findEarnings(db, projectId),
  sumPending: (db, { publisherId }) => earnings.sumPending(db, publisherId),
  findDueEarnings: (db, { projectId }) => earnings.findDueEarnings(db, projectId),
  sumClicksByVerdict: (db, { projectId }) => earnings.sumClicksByVerdict(db, { projectId, ...DAYS }),
  sumEarnedByDay: (db, { projectId }) => earnings.sumEarnedByDay(db, { projectId, ...DAYS }),
  listTopAdvertisers: (db, { projectId }) => earnings.listTopAdvertisers(db, { projectId, ...DAYS }, 10),
  listEarningCategories: (db, { projectId }) => earnings.listEarningCategories(db, { projectId, ...DAYS }, 10),
  listReportedOffers: (db, { projectId }) => readerReports.listReportedOffers(db, projectId, 10),
  sumOutcomes: (db, { projectId }) => recommendations.sumOutcomes(db, projectId, EVER),
  listLatestReplies: (db, { projectId }) => recommendations.listLatestReplies(db, projectId, 1_000),
  sumAnomalies: (db, { projectId }) => sumAnomalies(db, { sinceMs: 3_600_000, projectId }),
  listAnomalies: (db, { projectId }) => listAnomalies(db, { sinceMs: 3_600_000, projectId }, 10),
  'sumUsage by the hour': (db, its) => usage.sumUsage(db, span(its, 'hour')),
  'sumUsage by the day': (db, its) => usage.sumUsage(db, span(its, 'day')),
  sumUsageBriefly: (db, its) => usage.sumUsageBriefly(db, span(its, 'day')),
  sumUsageByGroup: (db, its) => usage.sumUsageByGroup(db, span(its, 'day'), 'project'),
  sumUsageBothWays: (db, its) => usage.sumUsageBothWays(db, span(its, 'day'), 'project'),
  sumUsageByTimeAndGroup: (db, its) => usage.sumUsageByTimeAndGroup(db, span(its, 'day'), 'key'),
  sumBilled: (db, its) => usage.sumBilled(db, span(its, 'day')),
  'listGroupNames of keys': (db, { projectId }) => usage.listGroupNames(db, 'key', [projectId]),
  'listGroupNames of projects': (db, { projectId }) => usage.listGroupNames(db, 'project', [projectId]),
  listUsedModels: (db, { projectId }) => usage.listUsedModels(db, projectId, EVER),
  listLedger: (db, its) => listLedger(db, search(its)),
  'listLedger up to a day': (db, its) => listLedger(db, { ...search(its), to: new Date(Date.now() - 1) }),
  sumChargedSince: (db, { projectId }) => sumChargedSince(db, projectId, EVER),
  findWallet: (db, { projectId }) => wallets.findWallet(db, projectId),
  sumOwed: (db, { publisherId }) => wallets.sumOwed(db, publisherId),
  effectOf: (db, its, other) => both(its, other, ({ callId }) => wallets.effectOf(db, its.projectId, callId)),
  listEntries: (db, { projectId }) => wallets.listEntries(db, projectId, 10),
}

/** Reads with the ids of its own site, and with those of the other. */
async function both<T>(its: Site, other: Site, read: (site: Site) => Promise<T>): Promise<T[]> {
  return [await read(its), await read(other)]
}

async function claimWith(db: Db, { projectId }: Site, keyPairId: string): Promise<string> {
  const digests = { keyDigest: randomBytes(32), bodyDigest: randomBytes(32) }
  const ids = { projectId, keyPairId, callId: uuidv7(), gatewayId: uuidv7(), conversationId: undefined }
  return (await claimKey(db, { ...ids, ...digests }, 60_000, 3_600_000)).state
}

for (const [name, read] of Object.entries(READS))
  test(`${name} reads nothing of another site`, async () => {
    const answer = await answerOf(read, mine, theirs)
    assert.ok(!(answer instanceof Error), String(answer))
    assert.deepEqual(answer, alone.get(name))
    assert.notDeepEqual(await answerOf(read, theirs, mine), answer, 'the other site has something else to say')
  })

const newPair = ({ projectId }: Site) => {
  const secret = { secretDigest: randomBytes(32), secretVersion: 1, secretLast4: 'wxyz' }
  return { id: uuidv7(), projectId, name: 'new', publishableKey: `pk_${uuidv7()}`, ...secret }
}

/** Each is told to change one site, and with ids of both where it takes ids. */
const WRITES: Record<string, Read> = {
  deleteConversation: (db, its) => conversations.deleteConversation(db, conversation(its)),
  recordTurn: (db, its) =>
    conversations.recordTurn(db, { conversation: conversation(its), callId: uuidv7(), messages: [], retentionDays: 1 }),
  deleteEndUser: (db, its, other) =>
    both(its, other, ({ endUserId: id }) => endUsers.deleteEndUser(db as Tx, { projectId: its.projectId, id })),
  deleteMetadataOfConversation: (db, its) => metadata.deleteMetadataOfConversation(db as Tx, conversation(its)),
  deleteMetadataOfEndUser: (db, its, other) =>
    both(its, other, ({ endUserId: id }) =>
      metadata.deleteMetadataOfEndUser(db as Tx, { projectId: its.projectId, id }),
    ),
  cutMetadata: async (db, { projectId }) => {
    await projects.updateProject(db, projectId, { content_retention_days: 0 })
    await metadata.cutMetadata(db, 10)
  },
  countIgnoredFields: (db, { projectId }) =>
    ignoredFields.countIgnoredFields(db, [
      { projectId, name: SHARED.ignoredField, times: 9, lastAt: new Date() },
      { projectId, name: 'new', times: 9, lastAt: new Date() },
    ]),
  addRefusedRequests: (db, its, other) =>
    refusedRequests.addRefusedRequests(db, [
      refusalOf(its, { times: 9 }),
      refusalOf(its, { id: its.refusedId, times: 9 }),
      // One that says another's id adds nothing to it.
      refusalOf(its, { id: other.refusedId, times: 9 }),
    ]),
  setDomainVerified: (db, { projectId }) => domains.setDomainVerified(db, projectId, null),
  setDomainName: (db, { projectId }) => domains.setDomainName(db, projectId, 'new.example.com', 'new'),
  saveCheck: async (db, { projectId }) => {
    const standing = await domains.findDomain(db, projectId)
    const dns = { outcome: 'absent' as const, values: [], misplacedAt: null }
    const file = { outcome: 'absent' as const, reason: null, status: null }
    await domains.saveCheck(db, projectId, standing!, { dns, file })
  },
  insertSavedPrompt: (db, { projectId }) => addSavedPrompt(db, projectId),
  updateSavedPrompt: (db, its, other) =>
    both(its, other, ({ savedPromptId: id }) =>
      savedPrompts.updateSavedPrompt(db, its.projectId, { id, name: 'new' }, null),
    ),
  deleteSavedPrompt: (db, its, other) =>
    both(its, other, ({ savedPromptId }) => savedPrompts.deleteSavedPrompt(db, its.projectId, savedPromptId)),
  eraseSavedPrompts: (db, { projectId }) => savedPrompts.eraseSavedPrompts(db, projectId),
  dismissOnboarding: (db, { projectId }) => dismissOnboarding(db, projectId),
  upsertInvitation: (db, { publisherId }) =>
    invitations.upsertInvitation(db, {
      id: uuidv7(),
      team: { publisherId },
      email: SHARED.email,
      role: 'admin',
      invitedBy: 'new',
      inviterId: userId,
      expiresAt: new Date(),
    }),
  deleteInvitationsBy: (db, { publisherId }) => invitations.deleteInvitationsBy(db, { publisherId }, userId, []),
  'deleteInvitationsBy except some': (db, { publisherId }) =>
    invitations.deleteInvitationsBy(db, { publisherId }, userId, ['owner']),
  deleteInvitation: (db, its, other) =>
    both(its, other, (site) => invitations.deleteInvitation(db, its, site.invitationId)),
  rollKeyPair: async (db, its, other) => {
    await keyPairs.rollKeyPair(db, its.keyPairId, newPair(its), 60)
    await assert.rejects(keyPairs.rollKeyPair(db, other.keyPairId, newPair(its), 60))
  },
  endKeyPair: (db, its, other) =>
    both(its, other, ({ keyPairId }) => keyPairs.endKeyPair(db, its.projectId, keyPairId)),
  switchKeyPair: (db, its, other) =>
    both(its, other, ({ keyPairId }) => keyPairs.switchKeyPair(db, its.projectId, keyPairId, false)),
  deleteKeyPair: (db, its, other) =>
    both(its, other, ({ keyPairId }) => keyPairs.deleteKeyPair(db, its.projectId, keyPairId)),
  endBrowserSession: (db, its, other) =>
    both(its, other, ({ browserSessionId: id }) => browserSessions.endBrowserSessions(db, its.projectId, { id })),
  endBrowserSessionsOfPair: (db, its, other) =>
    both(its, other, ({ keyPairId }) => browserSessions.endBrowserSessions(db, its.projectId, { keyPairId })),
  // As if an hour had passed.
  forgetSessions: (db, { projectId }) => forgetSessions(db, projectId, -3_600_000, 10),
  upsertPlaygroundKey: (db, its) => upsertPlaygroundKey(db, newPair(its)),
  setMemberRole: (db, { publisherId }) => members.setMemberRole(db, publisherId, userId, 'viewer'),
  deleteMembership: (db, { publisherId }) => members.deleteMembership(db, publisherId, userId),
  setLibraryPublic: (db, { projectId }) => setLibraryPublic(db, projectId, true),
  updateMonetization: (db, { projectId }) => monetization.updateMonetization(db, projectId, { mode: 'test' }),
  updateProject: (db, { projectId }) => projects.updateProject(db, projectId, { name: 'new' }),
  archiveProject: (db, { projectId }) => projects.archiveProject(db, projectId),
  setPublisherActivated: (db, { publisherId }) => setPublisherActivated(db, publisherId, null),
  setPublisherName: (db, { publisherId }) => setPublisherName(db, publisherId, 'new'),
  closePublisher: (db, { publisherId }) => closePublisher(db, publisherId),
  noteSensitive: (db, { projectId }) => noteSensitive(db, [{ projectId, digest: SHARED.digest }]),
  requestCut: (db, { projectId }) => requestCut(db, projectId, 9),
  withdrawCut: (db, { projectId }) => withdrawCut(db, projectId),
  cutSome: async (db, { projectId }) => {
    await requestCut(db, projectId, 9)
    while (await cutSome(db, 1_000));
  },
  setAutoTopUp: (db, { projectId }) =>
    autoTopUps.setAutoTopUp(db, projectId, { threshold: 9n, amount: 20_000_000n, monthMax: 20_000_000n }),
  deleteAutoTopUp: (db, { projectId }) => autoTopUps.deleteAutoTopUp(db, projectId),
  setStanding: (db, { projectId }) =>
    autoTopUps.setStanding(db, projectId, { declines: 1, nextTryAt: new Date(), pausedAt: null }),
  takeUntold: async (db, its, other) => {
    await sql`update auto_top_ups set untold_failure = 'declined' where project_id = ${its.projectId}`.execute(db)
    assert.equal(await autoTopUps.takeUntold(db, other.projectId), undefined)
    assert.equal((await autoTopUps.takeUntold(db, its.projectId))?.failure, 'declined')
    await autoTopUps.setUntold(db, its.projectId, 'declined again')
  },
  markTopUpFailed: (db, { name }) => autoTopUps.markFailed(db, topUpIdOf(name), 'declined'),
  setTax: (db, { name }) => autoTopUps.setTax(db, topUpIdOf(name), 9n),
  removeCard: (db, { projectId }) => cards.removeCard(db, projectId),
  forgetCard: (db, { name }) => cards.forgetCard(db, `pm-${name}`),
  setAlertRule: (db, { projectId }) =>
    alerts.setAlertRule(db, projectId, { kind: 'error_rate', enabled: false, threshold: null }),
  closeAlert: (db, its, other) => both(its, other, ({ alertId }) => alerts.closeAlert(db, its.projectId, alertId)),
  takeMailOfDay: (db, its, other) =>
    both(its, other, ({ alertId }) => alerts.takeMailOfDay(db, its.projectId, alertId, 20)),
  deleteAlerts: (db, { projectId }) => alerts.deleteAlerts(db, projectId),
  changeEndpoint: (db, its, other) =>
    both(its, other, ({ endpointId }) =>
      endpoints.changeEndpoint(db, its.projectId, endpointId, {
        url: 'https://new.example.com/',
        eventTypes: ['key.created'],
        offBecause: null,
        isNew: true,
      }),
    ),
  replaceEndpointSecret: async (db, its, other) => {
    await endpoints.replaceEndpointSecret(db, its.projectId, its.endpointId, 'new')
    await assert.rejects(endpoints.replaceEndpointSecret(db, its.projectId, other.endpointId, 'new'))
  },
  deleteEndpoint: (db, its, other) =>
    both(its, other, ({ endpointId }) => endpoints.deleteEndpoint(db, its.projectId, endpointId)),
  deleteWebhooks: (db, { projectId }) => endpoints.deleteWebhooks(db, projectId),
  addEvent: (db, { projectId }) =>
    deliveries.addEvent(db, { id: uuidv7(), projectId, type: 'key.created', objectKey: 'key', body: 'new' }),
  setAlert: (db, { projectId }) => walletAlerts.setAlert(db, projectId, 9n),
  deleteAlert: (db, { projectId }) => walletAlerts.deleteAlert(db, projectId),
  markTold: (db, { name, ...site }) =>
    walletAlerts.markTold(db, { ...site, project: name, balance: 0n, threshold: SHARED.threshold }),
}

for (const [name, write] of Object.entries(WRITES))
  test(`${name} changes nothing of another site`, () =>
    undone(async (tx) => {
      const before = [await rowsOfSite(tx, mine), await rowsOfSite(tx, theirs)]
      await write(tx, mine, theirs)
      assert.notDeepEqual(await rowsOfSite(tx, mine), before[0])
      assert.deepEqual(await rowsOfSite(tx, theirs), before[1])
    }))

test('what is found, changed or deleted by its id is that and nothing beside it', async () => {
  const { publisherId, projectId, invitationId, keyPairId, browserSessionId, savedPromptId: id } = theirs
  assert.equal(await invitations.findInvitation(store.db, { publisherId }, uuidv7()), undefined)
  assert.equal(await keyPairs.lockKeyPair(store.db, projectId, uuidv7()), undefined)
  const changes: Record<string, (tx: Db) => Promise<unknown>> = {
    deleteInvitation: (tx) => invitations.deleteInvitation(tx, { publisherId }, invitationId),
    rollKeyPair: (tx) => keyPairs.rollKeyPair(tx, keyPairId, newPair(theirs), 60),
    endKeyPair: (tx) => keyPairs.endKeyPair(tx, projectId, keyPairId),
    switchKeyPair: (tx) => keyPairs.switchKeyPair(tx, projectId, keyPairId, false),
    deleteKeyPair: (tx) => keyPairs.deleteKeyPair(tx, projectId, keyPairId),
    updateSavedPrompt: (tx) => savedPrompts.updateSavedPrompt(tx, projectId, { id, name: 'new' }, null),
    deleteSavedPrompt: (tx) => savedPrompts.deleteSavedPrompt(tx, projectId, id),
    endBrowserSession: (tx) => browserSessions.endBrowserSessions(tx, projectId, { id: browserSessionId }),
  }
  for (const [name, change] of Object.entries(changes))
    await undone(async (tx) => {
      const before = await rowsOfSite(tx, theirs)
      await change(tx)
      const after = new Set(await rowsOfSite(tx, theirs))
      assert.equal(before.filter((row) => !after.has(row)).length, 1, name)
    })
})

test('the balance beside the newest movement is that of its own wallet', async () => {
  for (const site of [mine, theirs]) {
    const { rows } = await listLedger(store.db, search(site))
    assert.equal(rows[0]?.balanceAfter, (await wallets.findWallet(store.db, site.projectId))?.balance_nanos)
  }
})

test('a project that has nothing yet has nothing of the others', () =>
  undone(async (tx) => {
    const empty = { ...mine, projectId: uuidv7() }
    const { projectId: id, publisherId } = empty
    const domain = { domain: 'empty.example.com', verificationToken: 'empty', domainVerifiedAt: null }
    await projects.insertProject(tx, { id, publisherId, name: 'empty', ...domain })
    const steps = { domainVerifiedAt: null, dismissedAt: null, hasKeyPair: false, hasCredit: false, isSandbox: false }
    assert.deepEqual(await findFirstSteps(tx, id), steps)
    assert.equal(await walletAlerts.findAlert(tx, id), undefined)
    assert.deepEqual(await monetization.findMonetization(tx, id), DEFAULT_SETTINGS)
    const callers = { projects: 3n, activated: 3n, verified: 2n, with_keys: 2n, with_credit: 2n }
    assert.deepEqual(await countCallers(tx), callers)
    await domains.setDomainVerified(tx, id, new Date())
    assert.deepEqual(await countCallers(tx), { ...callers, verified: 3n })
    const pair = newPair(empty)
    await insertKeyPair(tx, pair)
    assert.deepEqual(await countCallers(tx), { ...callers, verified: 3n, with_keys: 3n })
    await domains.setDomainVerified(tx, id, null)
    assert.equal(await claimWith(tx, empty, pair.id), 'domain_not_verified')
  }))

test('a project that was deleted is found for no member', () =>
  undone(async (tx) => {
    await projects.archiveProject(tx, mine.projectId)
    assert.equal(await members.findMembershipOfProject(tx, userId, mine.projectId), undefined)
    assert.deepEqual(await projects.listProjects(tx, mine.publisherId), [])
  }))

test('a deleted conversation is found neither by its id nor in a list', async () => {
  const { projectId } = theirs
  const gone = { projectId, id: SHARED.goneInSome }
  assert.equal(await conversationPages.findConversation(store.db, gone), undefined)
  const lists = [
    await conversations.listConversations(store.db, projectId, 10),
    await conversationPages.listLatestConversations(store.db, projectId, { most: 10 }),
    await conversationPages.listLatestConversations(store.db, projectId, { search: gone.id, most: 10 }),
    await conversationPages.listLatestConversations(store.db, projectId, { search: 'e', most: 10 }),
  ]
  assert.deepEqual(
    lists.map((list) => list.map(({ id }) => id)),
    [[SHARED.conversation], [SHARED.conversation], [], [SHARED.conversation]],
  )
})

test('the key pair of the playground is not among those that people manage', async () => {
  const { projectId, keyPairId } = mine
  const playground = await lockPlaygroundKey(store.db, projectId)
  assert.equal(await keyPairs.lockKeyPair(store.db, projectId, String(playground?.id)), undefined)
  const listed = await keyPairs.listManagedKeyPairs(store.db, projectId, EVER)
  assert.deepEqual(
    listed.map(({ id }) => id),
    [keyPairId],
  )
})

test('the log of a publisher can be read for one project', async () => {
  const { publisherId, projectId } = mine
  const entries = await auditLog.listAuditLog(store.db, publisherId, { projectId }, 10)
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['project.renamed'],
  )
})

test('a site has rows in every table that belongs to publishers or projects', async () => {
  const { rows } = await sql<{ name: string }>`
    select distinct c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
      and a.attname in ('project_id', 'publisher_id') and c.relname <> 'holds'`.execute(store.db)
  const filled = new Set((await rowsOfSite(store.db, mine)).map((row) => row.split(' ', 1)[0]))
  assert.deepEqual(
    rows.map(({ name }) => name).filter((name) => !filled.has(name)),
    [],
  )
})
