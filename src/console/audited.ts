import { appendAuditLog } from '../store/accounts/audit-log.ts'
import type { Db } from '../store/database.ts'
import { listMemberships } from '../store/accounts/members.ts'
import type { RequestFacts, User } from './console-request.ts'

export interface AuditedCall {
  /** The transaction of the change itself: there is never one without the other. */
  db: Db
  user: Pick<User, 'id' | 'name'>
  publisher: { id: string }
  project?: { id: string } | undefined
  request: RequestFacts
}

export interface AuditedChange {
  /** What was changed, in words: a name, an address. */
  subject?: string
  /** Before and after, counts, ids. Never a secret. */
  details?: Record<string, unknown>
}

/** Writes who did what into the publisher's log. Actions read like `key.created`. */
export async function audited(call: AuditedCall, action: string, change: AuditedChange = {}): Promise<void> {
  await appendAuditLog(call.db, {
    publisherId: call.publisher.id,
    actorId: call.user.id,
    actor: call.user.name,
    action,
    subject: change.subject ?? null,
    projectId: call.project?.id ?? null,
    ip: call.request.ip,
    userAgent: call.request.userAgent,
    details: change.details ?? {},
  })
}

/** What people do with their own account concerns every publisher that they can act for. */
export async function auditedEverywhere(
  db: Db,
  user: Pick<User, 'id' | 'name'>,
  request: RequestFacts,
  action: string,
): Promise<void> {
  for (const { publisherId } of await listMemberships(db, user.id))
    await audited({ db, user, publisher: { id: publisherId }, request }, action)
}
