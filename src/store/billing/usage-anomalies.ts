import { sql } from 'kysely'
import type { Db } from '../database.ts'

/** Reports of usage that could not be right: one row per call, written by the statement that settles it. */

export interface AnomalySum {
  provider: string
  kind: string
  calls: number
  projects: number
  /** The one with the most of them, and its share of the calls. */
  project: string
  projectCalls: number
}

export interface AnomalySearch {
  sinceMs: number
  projectId?: string | undefined
  provider?: string | undefined
}

/** Sums what each provider did, and names the project to which most of it happened. */
export async function sumAnomalies(db: Db, { sinceMs, projectId, provider }: AnomalySearch): Promise<AnomalySum[]> {
  const { rows } = await sql<AnomalySum>`
    with by_project as (
      select provider, kind, project_id, count(*)::int as calls
      from usage_anomalies, unnest(anomalies) as kind
      where created_at > now() - ${sinceMs} * interval '1 ms'
        and project_id = coalesce(${projectId ?? null}::uuid, project_id)
        and provider = coalesce(${provider ?? null}::text, provider)
      group by provider, kind, project_id
    )
    select provider, kind, sum(calls)::int as calls, count(*)::int as projects,
      (array_agg(project_id::text order by calls desc, project_id))[1] as project, max(calls) as "projectCalls"
    from by_project group by provider, kind order by calls desc, provider, kind`.execute(db)
  return rows
}

/** The newest first. */
export async function listAnomalies(db: Db, { sinceMs, projectId, provider }: AnomalySearch, most: number) {
  return db
    .selectFrom('usage_anomalies as a')
    .leftJoin('calls as c', 'c.id', 'a.call_id')
    .selectAll('a')
    .select('c.endpoint')
    .where('a.created_at', '>', sql<Date>`now() - ${sinceMs} * interval '1 ms'`)
    .$if(projectId !== undefined, (query) => query.where('a.project_id', '=', projectId ?? ''))
    .$if(provider !== undefined, (query) => query.where('provider', '=', provider ?? ''))
    .orderBy('a.created_at', 'desc')
    .limit(most)
    .execute()
}

/** Returns how many were removed. */
export async function expireAnomalies(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from usage_anomalies where call_id in (
      select call_id from usage_anomalies where created_at < now() - ${keptMs} * interval '1 ms' limit ${most}
    )`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
