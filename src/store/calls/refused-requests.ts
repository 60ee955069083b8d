import { sql, type RawBuilder } from 'kysely'
import { FIRST_UUID } from '../../platform/uuid.ts'
import { REFUSED_ROWS_PER_HOUR, type RefusedRequest } from '../../rules/refused-requests.ts'
import type { Db } from '../database.ts'
import { goByIndexes } from '../planner.ts'

/**
 * Adds rows, or to rows that are there. A code of a key pair has so many rows in an hour: what is beyond is counted with the
 * newest of them, so that nobody fills the table, and nobody hides what another pair or another code was told.
 */
export async function addRefusedRequests(db: Db, refused: readonly RefusedRequest[]): Promise<void> {
  const rows = JSON.stringify(
    refused.map((row) => ({
      id: row.id,
      project_id: row.projectId,
      key_pair_id: row.keyPairId,
      via_session: row.viaSession,
      status: row.status,
      code: row.code,
      message: row.message,
      param: row.param,
      endpoint: row.endpoint,
      model: row.model,
      times: row.times,
      last_at: row.lastAt,
    })),
  )
  // In the order of ids: two gateways that add to the same rows wait for each other in one direction.
  await sql`
    with sent as (
      select s.*, exists (select from refused_requests r where r.id = s.id) as is_there
      from json_to_recordset(${rows}) as s (id uuid, project_id uuid, key_pair_id uuid, via_session boolean, status int2,
        code text, message text, param text, endpoint text, model text, times int8, last_at timestamptz)
    ), placed as (
      select s.*, row_number() over (
        partition by s.project_id, s.code, s.key_pair_id, s.via_session, s.is_there order by s.id) as place
      from sent s
    ), led as (
      select p.*, case when p.is_there or p.place + h.rows <= ${REFUSED_ROWS_PER_HOUR} then p.id
        else coalesce(h.newest, p.id) end as target
      from placed p cross join lateral (
        select count(*) as rows, (array_agg(r.id order by r.id desc))[1] as newest from (
          select r.id from refused_requests r
          where r.project_id = p.project_id and r.code = p.code and r.key_pair_id = p.key_pair_id
            and r.via_session = p.via_session and r.id >= first_id_of(now() - interval '1 hour')
          order by r.id desc limit ${REFUSED_ROWS_PER_HOUR}) r) h
    )
    insert into refused_requests as r
      (id, project_id, key_pair_id, via_session, status, code, message, param, endpoint, model, times, last_at)
    select distinct on (target) target, project_id, key_pair_id, via_session, status, code, message, param, endpoint, model,
      (sum(times) over whole)::int8, max(last_at) over whole
    from led window whole as (partition by target) order by target
    on conflict (id) do update set times = r.times + excluded.times, last_at = greatest(r.last_at, excluded.last_at)
      where r.project_id = excluded.project_id`.execute(db)
}

export interface RefusedRow {
  id: string
  firstAt: Date
  lastAt: Date
  keyPairId: string
  viaSession: boolean
  status: number
  code: string
  message: string
  param: string | null
  endpoint: string
  model: string | null
  times: bigint
}

export interface RefusedSearch {
  projectId: string
  /** Any of these. Undefined: all. */
  codes?: readonly string[] | undefined
  keyPairId?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
  /** Only rows before this one. */
  before?: string | undefined
  most: number
}

const COLUMNS = sql`r.id, time_of_id(r.id) as "firstAt", r.last_at as "lastAt", r.key_pair_id as "keyPairId",
  r.via_session as "viaSession", r.status, r.code, r.message, r.param, r.endpoint, r.model, r.times`

/**
 * Newest first. Each code is read on its own, by an index that ends in the id: so every choice of filters reads a page of rows
 * and no more, however many there are.
 */
export async function listRefusedRequests(
  tx: Db,
  search: RefusedSearch,
): Promise<{ rows: RefusedRow[]; next: string | undefined }> {
  await goByIndexes(tx)
  const { projectId, codes, most } = search
  const conditions = [sql`r.project_id = ${projectId}`, ...conditionsOf(search)]
  const read = (more: RawBuilder<unknown>[]) => sql`select r.* from refused_requests r
    where ${sql.join([...conditions, ...more], sql` and `)} order by r.id desc limit ${most + 1}`
  const found =
    codes === undefined
      ? sql`(${read([])}) r`
      : sql`unnest(${codes}::text[]) as c (code) cross join lateral (${read([sql`r.code = c.code`])}) r`
  const { rows } = await sql<RefusedRow>`
    select ${COLUMNS} from ${found} order by r.id desc limit ${most + 1}`.execute(tx)
  const page = rows.slice(0, most)
  return { rows: page, next: rows.length > most ? page.at(-1)?.id : undefined }
}

function conditionsOf({ keyPairId, from, to, before }: RefusedSearch): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = []
  if (keyPairId !== undefined) conditions.push(sql`r.key_pair_id = ${keyPairId}`)
  if (from !== undefined) conditions.push(sql`r.id >= first_id_of(${from})`)
  if (to !== undefined) conditions.push(sql`r.id < first_id_of(${to})`)
  if (before !== undefined) conditions.push(sql`r.id < ${before}::uuid`)
  return conditions
}

/** The row that stands for the request with this id, if it is the one that the row is named after. */
export async function findRefusedRequest(tx: Db, projectId: string, id: string): Promise<RefusedRow | undefined> {
  const { rows } = await sql<RefusedRow>`
    select ${COLUMNS} from refused_requests r where r.id = ${id}::uuid and r.project_id = ${projectId}`.execute(tx)
  return rows[0]
}

/** Returns how many were forgotten. */
export async function forgetRefusedRequests(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from refused_requests where id in (
      select id from refused_requests
      where id >= ${FIRST_UUID}::uuid and id < first_id_of(now() - ${keptMs} * interval '1 ms')
      order by id limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/**
 * Deletes the requests of deleted projects. A gateway that does not know of the deletion yet may add some later, so it is done
 * more than once.
 */
export async function forgetRefusedOfDeleted(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from refused_requests where id in (
      select r.id from projects p cross join lateral (
        select r.id from refused_requests r where r.project_id = p.id limit ${most}) r
      where p.archived_at > now() - ${keptMs} * interval '1 ms' limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
