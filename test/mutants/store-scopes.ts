import type { Mutant } from './mutant.ts'

/** Statements that forget whose rows they are about. */

const TEST = 'test/integration/store-scopes.test.ts'

export const STORE_SCOPES: Mutant[] = [
  {
    bug: 'listAuditLog reads what other sites have',
    file: 'src/store/accounts/audit-log.ts',
    from: `.where('publisher_id', '=', publisherId)`,
    to: '',
    test: TEST,
    title: 'listAuditLog reads nothing of another site',
  },
  {
    bug: 'firstBrokenEntry reads what other sites have',
    file: 'src/store/accounts/audit-log.ts',
    from: 'from audit_log l where l.publisher_id = ${publisherId}) checked',
    to: 'from audit_log l where true) checked',
    test: TEST,
    title: 'firstBrokenEntry reads nothing of another site',
  },
  {
    bug: 'findConversation reads what other sites have',
    file: 'src/store/calls/conversation-pages.ts',
    from: `sql\`select * from conversations where project_id = \${projectId} and id = \${id} and deleted_at is null\`,`,
    to: `sql\`select * from conversations where true and id = \${id} and deleted_at is null\`,`,
    test: TEST,
    title: 'findConversation reads nothing of another site',
  },
  {
    bug: 'listLatestConversations reads what other sites have',
    file: 'src/store/calls/conversation-pages.ts',
    from: `return sql\`select * from conversations where project_id = \${projectId} and deleted_at is null \${before}`,
    to: `return sql\`select * from conversations where true and deleted_at is null \${before}`,
    test: TEST,
    title: 'listLatestConversations reads nothing of another site',
  },
  {
    bug: 'listLatestConversations by the id reads what other sites have',
    file: 'src/store/calls/conversation-pages.ts',
    from: '(select * from conversations where project_id = ${projectId} and id = ${search} and deleted_at is null)',
    to: '(select * from conversations where true and id = ${search} and deleted_at is null)',
    test: TEST,
    title: 'listLatestConversations by the id reads nothing of another site',
  },
  {
    bug: 'findConversations reads what other sites have',
    file: 'src/store/calls/conversations.ts',
    from: 'left join conversations c on c.project_id = k.project_id and c.id = k.id',
    to: 'left join conversations c on true and c.id = k.id',
    test: TEST,
    title: 'findConversations reads nothing of another site',
  },
  {
    bug: 'deleteConversation deletes conversations of other sites',
    file: 'src/store/calls/conversations.ts',
    from: `      .set({ deleted_at: new Date(), calls: 0, opening_messages: null, opening_digest: null })
      .where('project_id', '=', key.projectId)`,
    to: '      .set({ deleted_at: new Date(), calls: 0, opening_messages: null, opening_digest: null })',
    test: TEST,
    title: 'deleteConversation changes nothing of another site',
  },
  {
    bug: 'deleteConversation deletes idempotency keys of other sites',
    file: 'src/store/calls/conversations.ts',
    from: `      .deleteFrom('idempotency_keys')
      .where('project_id', '=', key.projectId)`,
    to: `      .deleteFrom('idempotency_keys')`,
    test: TEST,
    title: 'deleteConversation changes nothing of another site',
  },
  {
    bug: 'findDomain reads what other sites have',
    file: 'src/store/projects/domains.ts',
    from: `const row = await db.selectFrom('domains').selectAll().where('project_id', '=', projectId).executeTakeFirst()`,
    to: `const row = await db.selectFrom('domains').selectAll().executeTakeFirst()`,
    test: TEST,
    title: 'findDomain reads nothing of another site',
  },
  {
    bug: 'lockDomain reads what other sites have',
    file: 'src/store/projects/domains.ts',
    from: `    .selectAll()
    .where('project_id', '=', projectId)`,
    to: '    .selectAll()',
    test: TEST,
    title: 'lockDomain reads nothing of another site',
  },
  {
    bug: 'setDomainVerified changes what other sites have',
    file: 'src/store/projects/domains.ts',
    from: `      next_check_at: null,
    })
    .where('project_id', '=', projectId)`,
    to: `      next_check_at: null,
    })`,
    test: TEST,
    title: 'setDomainVerified changes nothing of another site',
  },
  {
    bug: 'findFirstSteps reads what other sites have',
    file: 'src/store/projects/first-steps.ts',
    from: `from projects p left join domains d on d.project_id = p.id where p.id = \${projectId}\`.execute(tx)`,
    to: `from projects p left join domains d on true where p.id = \${projectId}\`.execute(tx)`,
    test: TEST,
    title: 'findFirstSteps reads nothing of another site',
  },
  {
    bug: 'dismissOnboarding changes what other sites have',
    file: 'src/store/projects/first-steps.ts',
    from: `.where('id', '=', projectId)`,
    to: '',
    test: TEST,
    title: 'dismissOnboarding changes nothing of another site',
  },
  {
    bug: 'claimKey reads what other sites have',
    file: 'src/store/calls/idempotency.ts',
    from: 'left join key_pairs k on k.project_id = p.id and k.id = ${claim.keyPairId}',
    to: 'left join key_pairs k on true and k.id = ${claim.keyPairId}',
    test: TEST,
    title: 'claimKey reads nothing of another site',
  },
  {
    bug: 'listInvitations reads what other sites have',
    file: 'src/store/accounts/invitations.ts',
    from: `export async function listInvitations(tx: Db, team: Team) {
  const [column, teamId] = idOf(team)
  return tx
    .selectFrom('invitations')
    .selectAll()
    .where(column, '=', teamId)`,
    to: `export async function listInvitations(tx: Db, _team: Team) {
  return tx
    .selectFrom('invitations')
    .selectAll()`,
    test: TEST,
    title: 'listInvitations reads nothing of another site',
  },
  {
    bug: 'findInvitation reads what other sites have',
    file: 'src/store/accounts/invitations.ts',
    from: `export async function findInvitation(tx: Db, team: Team, id: string) {
  const [column, teamId] = idOf(team)
  return tx.selectFrom('invitations').selectAll().where(column, '=', teamId)`,
    to: `export async function findInvitation(tx: Db, _team: Team, id: string) {
  return tx.selectFrom('invitations').selectAll()`,
    test: TEST,
    title: 'findInvitation reads nothing of another site',
  },
  {
    bug: 'findInvitationTo reads what other sites have',
    file: 'src/store/accounts/invitations.ts',
    from: `export async function findInvitationTo(tx: Db, team: Team, email: string) {
  const [column, teamId] = idOf(team)
  return tx
    .selectFrom('invitations')
    .selectAll()
    .where(column, '=', teamId)`,
    to: `export async function findInvitationTo(tx: Db, _team: Team, email: string) {
  return tx
    .selectFrom('invitations')
    .selectAll()`,
    test: TEST,
    title: 'findInvitationTo reads nothing of another site',
  },
  {
    bug: 'listManagedKeyPairs reads what other sites have',
    file: 'src/store/projects/key-pairs.ts',
    from: `.where('k.project_id', '=', projectId)`,
    to: '',
    test: TEST,
    title: 'listManagedKeyPairs reads nothing of another site',
  },
  {
    bug: 'countKeyPairs reads what other sites have',
    file: 'src/store/projects/key-pairs.ts',
    from: `    .select(({ fn }) => fn.countAll<bigint>().as('pairs'))
    .where('project_id', '=', projectId)`,
    to: `    .select(({ fn }) => fn.countAll<bigint>().as('pairs'))`,
    test: TEST,
    title: 'countKeyPairs reads nothing of another site',
  },
  {
    bug: 'lockKeyPair reads what other sites have',
    file: 'src/store/projects/key-pairs.ts',
    from: `    .select(COLUMNS)
    .where('project_id', '=', projectId)`,
    to: '    .select(COLUMNS)',
    test: TEST,
    title: 'lockKeyPair reads nothing of another site',
  },
  {
    bug: 'listKeyPairs reads what other sites have',
    file: 'src/store/projects/keys.ts',
    from: `.where('project_id', '=', projectId)`,
    to: '',
    test: TEST,
    title: 'listKeyPairs reads nothing of another site',
  },
  {
    bug: 'findMembership reads what other sites have',
    file: 'src/store/accounts/members.ts',
    from: `const row = await membershipRows(db, userId).where('m.publisher_id', '=', publisherId).executeTakeFirst()`,
    to: 'const row = await membershipRows(db, userId).executeTakeFirst()',
    test: TEST,
    title: 'findMembership reads nothing of another site',
  },
  {
    bug: 'listOwners reads what other sites have',
    file: 'src/store/accounts/members.ts',
    from: `    .select('user_id')
    .where('publisher_id', '=', publisherId)`,
    to: `    .select('user_id')`,
    test: TEST,
    title: 'listOwners reads nothing of another site',
  },
  {
    bug: 'holdRole reads what other sites have',
    file: 'src/store/accounts/members.ts',
    from: `    .select('role')
    .where('publisher_id', '=', publisherId)`,
    to: `    .select('role')`,
    test: TEST,
    title: 'holdRole reads nothing of another site',
  },
  {
    bug: 'findMonetization reads what other sites have',
    file: 'src/store/recommendations/monetization.ts',
    from: `const row = await db.selectFrom('monetization').selectAll().where('project_id', '=', projectId).executeTakeFirst()`,
    to: `const row = await db.selectFrom('monetization').selectAll().executeTakeFirst()`,
    test: TEST,
    title: 'findMonetization reads nothing of another site',
  },
  {
    bug: 'lockMonetization reads what other sites have',
    file: 'src/store/recommendations/monetization.ts',
    from: `    .selectAll()
    .where('project_id', '=', projectId)`,
    to: '    .selectAll()',
    test: TEST,
    title: 'lockMonetization reads nothing of another site',
  },
  {
    bug: 'listPayments reads what other sites have',
    file: 'src/store/billing/payments.ts',
    from: `    .selectAll()
    .where('project_id', '=', projectId)`,
    to: '    .selectAll()',
    test: TEST,
    title: 'listPayments reads nothing of another site',
  },
  {
    bug: 'findPayment reads what other sites have',
    file: 'src/store/billing/payments.ts',
    from: `    .select(['state', 'amount_nanos', 'paid_at'])
    .where('project_id', '=', projectId)`,
    to: `    .select(['state', 'amount_nanos', 'paid_at'])`,
    test: TEST,
    title: 'findPayment reads nothing of another site',
  },
  {
    bug: 'lockPlaygroundKey reads what other sites have',
    file: 'src/store/projects/playground-keys.ts',
    from: `.where('project_id', '=', projectId)`,
    to: '',
    test: TEST,
    title: 'lockPlaygroundKey reads nothing of another site',
  },
  {
    bug: 'updateProject changes what other sites have',
    file: 'src/store/projects/projects.ts',
    from: `const result = await db.updateTable('projects').set(settings).where('id', '=', id).executeTakeFirst()`,
    to: `const result = await db.updateTable('projects').set(settings).executeTakeFirst()`,
    test: TEST,
    title: 'updateProject changes nothing of another site',
  },
  {
    bug: 'archiveProject changes what other sites have',
    file: 'src/store/projects/projects.ts',
    from: `content_retention_days: 0 })
    .where('id', '=', id)`,
    to: 'content_retention_days: 0 })',
    test: TEST,
    title: 'archiveProject changes nothing of another site',
  },
  {
    bug: 'setPublisherActivated changes what other sites have',
    file: 'src/store/accounts/publishers.ts',
    from: `confirmation_awaited_from: null })
    .where('id', '=', id)
    .executeTakeFirst()`,
    to: `confirmation_awaited_from: null })
    .executeTakeFirst()`,
    test: TEST,
    title: 'setPublisherActivated changes nothing of another site',
  },
  {
    bug: 'setPublisherName changes what other sites have',
    file: 'src/store/accounts/publishers.ts',
    from: `await db.updateTable('publishers').set({ name }).where('id', '=', id).execute()`,
    to: `await db.updateTable('publishers').set({ name }).execute()`,
    test: TEST,
    title: 'setPublisherName changes nothing of another site',
  },
  {
    bug: 'listRecommendations reads what other sites have',
    file: 'src/store/recommendations/reports.ts',
    from: `select * from recommendations where project_id = \${projectId} and state <> 'aborted'`,
    to: `select * from recommendations where true and state <> 'aborted'`,
    test: TEST,
    title: 'listRecommendations reads nothing of another site',
  },
  {
    bug: 'findRecommendationsOfCalls reads what other sites have',
    file: 'src/store/recommendations/reports.ts',
    from: `select * from recommendations t where t.project_id = \${projectId} and t.call_id = c.id`,
    to: `select * from recommendations t where t.call_id = c.id`,
    test: TEST,
    title: 'findRecommendationsOfCalls reads nothing of another site',
  },
  {
    bug: 'sumOutcomes reads what other sites have',
    file: 'src/store/recommendations/reports.ts',
    from: `where project_id = \${projectId} and hour >= \${from} and hour <`,
    to: `where true and hour >= \${from} and hour <`,
    test: TEST,
    title: 'sumOutcomes reads nothing of another site',
  },
  {
    bug: 'withdrawCut changes what other sites have',
    file: 'src/store/calls/retention-cuts.ts',
    from: `await tx.deleteFrom('retention_cuts').where('project_id', '=', projectId).execute()`,
    to: `await tx.deleteFrom('retention_cuts').execute()`,
    test: TEST,
    title: 'withdrawCut changes nothing of another site',
  },
  {
    bug: 'cutSome changes what other sites have',
    file: 'src/store/calls/retention-cuts.ts',
    from: `const change = tx.updateTable('retention_cuts').where('project_id', '=', cut.project_id)`,
    to: `const change = tx.updateTable('retention_cuts')`,
    test: TEST,
    title: 'cutSome changes nothing of another site',
  },
  {
    bug: 'sumAnomalies reads what other sites have',
    file: 'src/store/billing/usage-anomalies.ts',
    from: 'and project_id = coalesce(${projectId ?? null}::uuid, project_id)',
    to: 'and true',
    test: TEST,
    title: 'sumAnomalies reads nothing of another site',
  },
  {
    bug: 'listAnomalies reads what other sites have',
    file: 'src/store/billing/usage-anomalies.ts',
    from: `.$if(projectId !== undefined, (query) => query.where('a.project_id', '=', projectId ?? ''))`,
    to: '.$if(projectId !== undefined, (query) => query)',
    test: TEST,
    title: 'listAnomalies reads nothing of another site',
  },
  {
    bug: 'listGroupNames of keys reads what other sites have',
    file: 'src/store/billing/usage.ts',
    from: `from key_pairs
      where project_id = any (\${projectIds}::uuid[]) order by created_at`,
    to: `from key_pairs
      where true order by created_at`,
    test: TEST,
    title: 'listGroupNames of keys reads nothing of another site',
  },
  {
    bug: 'listUsedModels reads what other sites have',
    file: 'src/store/billing/usage.ts',
    from: 'select model_id as model from usage_days where project_id = ${projectId} and starts_at >= ${since}',
    to: 'select model_id as model from usage_days where true and starts_at >= ${since}',
    test: TEST,
    title: 'listUsedModels reads nothing of another site',
  },
  {
    bug: 'setAlert changes what other sites have',
    file: 'src/store/billing/wallet-alerts.ts',
    from: 'from wallets w where w.project_id = ${projectId}',
    to: 'from wallets w where true',
    test: TEST,
    title: 'setAlert changes nothing of another site',
  },
  {
    bug: 'row security shows a tenant the rows of all projects',
    file: 'migrations/0020_database_logins.sql',
    from: 'alter policy tenant on %I using (project_id = (select tenant_project()))',
    to: 'alter policy tenant on %I using (true)',
    test: 'test/integration/store-scopes.test.ts',
    title: "row security shows a tenant its own rows and nobody else's, in every table, though all have some",
  },
]
