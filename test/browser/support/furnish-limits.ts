import { DAY_MS, HOUR_MS } from '../../../src/rules/durations.ts'
import { endUserDigestOf, noteEndUsers } from '../../../src/store/calls/end-users.ts'
import type { Db } from '../../../src/store/database.ts'
import { must, type Person } from '../../support/console.ts'

/** Limits of every kind, some nearly used up, and the people whom a site about cooking calls for. */

const LABELS = ['Grace H.', null, 'Kitchen of the Linden school', 'Alan T.', null, 'Barbara L.', 'Test account', null]
const NONE = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrentCalls: null,
  dayNanos: null,
  weekNanos: null,
  monthNanos: null,
  totalNanos: null,
}

export async function furnishLimits(db: Db, person: Person, projectId: string): Promise<void> {
  await db
    .updateTable('projects')
    .set({ requests_per_minute: 600, concurrent_calls: 50 })
    .where('id', '=', projectId)
    .execute()
  const put = (path: string, limits: object) => must(person.send(`PUT /api/${path}`, { body: { ...NONE, ...limits } }))
  const project = `projects/${projectId}`
  await put(`publishers/${person.publisherId}/limits`, { monthNanos: '250000000000' })
  await put(`${project}/limits`, { dayNanos: '5000000000', monthNanos: '60000000000', tokensPerMinute: '200000' })
  await put(`${project}/end-user-limits`, { dayNanos: '250000000', requestsPerMinute: 20 })
  const pairs = await db.selectFrom('key_pairs').select('id').where('project_id', '=', projectId).execute()
  for (const [n, { id }] of pairs.slice(0, 3).entries())
    await put(`${project}/keys/${id}/limits`, n === 1 ? { monthNanos: '650000000' } : { monthNanos: '40000000000' })
  const ids = await addEndUsers(db, projectId)
  await put(`${project}/end-users/${ids[2]}/limits`, { dayNanos: '2000000000', monthNanos: '20000000000' })
}

async function addEndUsers(db: Db, projectId: string): Promise<string[]> {
  const now = Date.now()
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const ids = LABELS.map((_, n) => endUserDigestOf(Buffer.alloc(32), projectId, `customer-${n}`))
  await noteEndUsers(
    db,
    ids.map((id, n) => ({ projectId, id, label: LABELS[n] ?? undefined, at: new Date(now - n * n * HOUR_MS) })),
  )
  const days = ids.flatMap((id, n) =>
    Array.from({ length: 12 - n }, (_, ago) => ({
      project_id: projectId,
      end_user_id: id,
      starts_at: new Date(today - ago * DAY_MS),
      calls: BigInt(30 - n * 3),
      tokens: BigInt(41_000 - n * 2_700),
      charged_nanos: BigInt(93_000_000 - n * 9_100_000),
    })),
  )
  await db.insertInto('end_user_days').values(days).execute()
  const counts = ids.slice(0, 4).map((subject, n) => ({
    scope: 'end_user',
    subject,
    project_id: projectId,
    day_started_at: new Date(today),
    day_nanos: [93_000_000n, 250_000_000n, 310_000_000n, 214_000_000n][n] ?? 0n,
  }))
  await db.insertInto('limit_counts').values(counts).execute()
  return ids
}
