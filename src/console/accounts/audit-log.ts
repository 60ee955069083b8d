import type { FastifyInstance } from 'fastify'
import { wrongFields } from '../../actions/refusals.ts'
import { actionOfWords, wordsOfAction } from '../../rules/accounts/audit-words.ts'
import { csvOf } from '../../rules/csv.ts'
import { listAuditLog, type AuditFilters } from '../../store/accounts/audit-log.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

const CSV_ROWS_MAX = 10_000
const CSV_HEADER = ['number', 'at', 'actor', 'actor id', 'action', 'subject', 'project', 'ip', 'user agent', 'details']

export function auditRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/publishers/:publisher/audit-log', async ({ db, publisher, query }) => {
    const filters = { ...filtersOf(query), before: cursorOf(query.after) }
    const rows = await listAuditLog(db, publisher.id, filters, query.limit + 1)
    const items = rows.slice(0, query.limit).map((row) => ({
      seq: row.seq,
      at: row.at,
      actorId: row.actor_id,
      actor: row.actor,
      action: row.action,
      title: wordsOfAction(row.action),
      subject: row.subject,
      projectId: row.project_id,
      ip: row.ip,
      userAgent: row.user_agent,
      details: row.details as Record<string, unknown>,
    }))
    return { items, next: rows.length > query.limit ? String(items.at(-1)?.seq) : null }
  })

  route(app, world, 'GET /api/publishers/:publisher/audit-log.csv', async ({ db, publisher, query }) => {
    const rows = await listAuditLog(db, publisher.id, filtersOf(query), CSV_ROWS_MAX)
    return csvOf(
      CSV_HEADER,
      rows.map((row) => [
        String(row.seq),
        row.at.toISOString(),
        row.actor,
        row.actor_id,
        row.action,
        row.subject,
        row.project_id,
        row.ip,
        row.user_agent,
        JSON.stringify(row.details),
      ]),
    )
  })
}

interface AuditQuery {
  action?: string
  actor?: string
  project?: string
  from?: string
  to?: string
}

function filtersOf({ action, actor, project, from, to }: AuditQuery): AuditFilters {
  return {
    action: action && actionOfWords(action),
    actorId: actor,
    projectId: project,
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : new Date(to),
  }
}

function cursorOf(after: string | undefined): bigint | undefined {
  if (after === undefined) return undefined
  if (!/^\d{1,18}$/.test(after))
    throw wrongFields([{ path: 'after', message: 'Use the value of next of an earlier page.' }])
  return BigInt(after)
}
