import { sql, type RawBuilder } from 'kysely'
import { GIVES_UP_AFTER_MS, WAITING_MAX, type DeliveryError } from '../../rules/webhooks.ts'
import type { Db } from '../database.ts'

/** The outbox of events: written in the transaction of what they tell of, and sent by a worker afterwards. */

export interface NewEvent {
  id: string
  projectId: string
  type: string
  /** The object that it is about. Events of one object reach an endpoint one after the other. */
  objectKey: string
  body: string
  /** To this one alone, whatever it has chosen. */
  onlyTo?: string
}

const QUEUE_FULL: DeliveryError = 'queue_full'

/** Counts no further than it has to. */
const isFull = (endpointId: RawBuilder<unknown>) => sql<boolean>`(
  select count(*) >= ${WAITING_MAX} from (select from webhook_deliveries q
    where q.endpoint_id = ${endpointId} and q.state = 'pending' limit ${WAITING_MAX}) waiting)`

/**
 * For each endpoint that is on and has chosen this type. Where there is none, nothing is written. Where too many wait already,
 * it has failed at once: whoever makes events without end fills neither the table nor what workers look through.
 */
export async function addEvent(tx: Db, event: NewEvent): Promise<void> {
  const { id, projectId, type, objectKey, body, onlyTo } = event
  const isWanted = onlyTo === undefined ? sql`${type} = any(e.event_types)` : sql`e.id = ${onlyTo}::uuid`
  await sql`
    with wanted as (
      select e.id, ${isFull(sql`e.id`)} as is_full from webhook_endpoints e where e.project_id = ${projectId} and e.enabled and ${isWanted}
    ), event as (
      insert into webhook_events (id, project_id, type, body)
      select ${id}::uuid, ${projectId}::uuid, ${type}, ${body} where exists (select from wanted)
    )
    insert into webhook_deliveries (id, event_id, endpoint_id, project_id, object_key, gives_up_at, state, last_error)
    select gen_random_uuid(), ${id}::uuid, w.id, ${projectId}::uuid, ${objectKey}, now() + ${GIVES_UP_AFTER_MS} * interval '1 ms',
      case when w.is_full then 'failed' else 'pending' end, case when w.is_full then ${QUEUE_FULL} end
    from wanted w`.execute(tx)
}

export interface ClaimOptions {
  most: number
  /** At once; of one that has been failing for a while: one. */
  perEndpoint: number
  /** At once, of all its projects. */
  perPublisher: number
  /** Longer than a try can take. */
  leaseMs: number
}

export interface ClaimedDelivery {
  id: string
  /** The number of this try: a worker that has lost the lease since then writes nothing. */
  attempts: number
  eventId: string
  endpointId: string
  body: string
  url: string
  sealedSecret: string
  /** Undefined when there is none that still signs. */
  oldSealedSecret: string | null
}

const CLAIMABLE = sql`d.state = 'pending' and d.next_attempt_at <= now() and (d.leased_until is null or d.leased_until < now())`

/**
 * Takes what is due, for as long as the lease. Of each object only the first that waits is ever taken, so that its events stay in
 * order; what fails holds back its own object and no other. Publishers take turns: the first of each comes before the second of
 * any, and what runs has the first places, so that nobody takes what the others need. Another worker that looks at the same
 * moment skips what is locked, and finds the lease when the lock is gone.
 */
export async function claimDeliveries(
  db: Db,
  { most, perEndpoint, perPublisher, leaseMs }: ClaimOptions,
): Promise<ClaimedDelivery[]> {
  const { rows } = await sql<ClaimedDelivery>`
    with heads as materialized (
      select distinct on (d.endpoint_id, d.object_key) d.id, d.endpoint_id, d.project_id, d.next_attempt_at,
        d.seq, coalesce(d.leased_until >= now(), false) as is_running
      from webhook_deliveries d where d.state = 'pending' order by d.endpoint_id, d.object_key, d.seq
    ), at_endpoint as (
      select h.*, p.publisher_id,
        case when n.failing_since < now() - interval '10 minutes' then 1 else ${perEndpoint}::int end as most,
        row_number() over (partition by h.endpoint_id order by h.is_running desc, h.next_attempt_at, h.seq) as place
      from heads h join webhook_endpoints n on n.id = h.endpoint_id join projects p on p.id = h.project_id
      where h.is_running or (n.enabled and h.next_attempt_at <= now())
    ), of_publisher as (
      select e.id, e.is_running, e.next_attempt_at,
        row_number() over (partition by e.publisher_id order by e.is_running desc, e.next_attempt_at, e.seq) as place
      from at_endpoint e where e.is_running or e.place <= e.most
    ), chosen as materialized (
      select o.id from of_publisher o where not o.is_running and o.place <= ${perPublisher}::int
      order by o.place, o.next_attempt_at limit ${most}
    ), locked as materialized (
      select d.id from webhook_deliveries d where d.id = any(array(select c.id from chosen c)) and ${CLAIMABLE}
      for update skip locked
    )
    update webhook_deliveries t set attempts = t.attempts + 1, last_attempt_at = now(),
      leased_until = now() + ${leaseMs} * interval '1 ms'
    from webhook_events v, webhook_endpoints e
    where t.id = any(array(select l.id from locked l)) and v.id = t.event_id and e.id = t.endpoint_id
    returning t.id, t.attempts, t.event_id as "eventId", t.endpoint_id as "endpointId", v.body, e.url,
      e.sealed_secret as "sealedSecret",
      case when e.old_secret_ends_at > now() then e.old_sealed_secret end as "oldSealedSecret"`.execute(db)
  return rows
}

type Claim = Pick<ClaimedDelivery, 'id' | 'attempts' | 'endpointId'>

export async function noteDelivered(db: Db, { id, attempts, endpointId }: Claim, status: number): Promise<void> {
  await sql`
    with done as (
      update webhook_deliveries set state = 'delivered', leased_until = null, last_status = ${status}, last_error = null
      where id = ${id} and attempts = ${attempts} and state = 'pending')
    update webhook_endpoints set failing_since = null where id = ${endpointId} and failing_since is not null`.execute(
    db,
  )
}

export interface Failure {
  error: DeliveryError
  status: number | null
  waitMs: number
}

/** Is tried again after the wait, unless that is too late. Returns whether it was given up. */
export async function noteFailed(
  db: Db,
  { id, attempts, endpointId }: Claim,
  { error, status, waitMs }: Failure,
): Promise<boolean> {
  const { rows } = await sql<{ state: string }>`
    with failing as (
      update webhook_endpoints set failing_since = now() where id = ${endpointId} and failing_since is null)
    update webhook_deliveries set leased_until = null, last_status = ${status}, last_error = ${error},
      next_attempt_at = now() + ${waitMs} * interval '1 ms',
      state = case when now() + ${waitMs} * interval '1 ms' > gives_up_at then 'failed' else 'pending' end
    where id = ${id} and attempts = ${attempts} and state = 'pending' returning state`.execute(db)
  return rows[0]?.state === 'failed'
}

/** Gives up deliveries that waited for too long at an endpoint that is off. Returns how many. */
export async function failOverdueDeliveries(db: Db, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    update webhook_deliveries set state = 'failed' where id in (
      select id from webhook_deliveries where state = 'pending' and gives_up_at < now()
        and (leased_until is null or leased_until < now()) limit ${most} for update skip locked)`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

export interface DeliveryRow {
  id: string
  seq: bigint
  eventId: string
  type: string
  body: string
  state: 'pending' | 'delivered' | 'failed'
  attempts: number
  createdAt: Date
  lastAttemptAt: Date | null
  /** While it waits. */
  nextAttemptAt: Date | null
  lastStatus: number | null
  lastError: string | null
}

/** Newest first; what was sent again is new. */
export async function listDeliveries(
  db: Db,
  endpointId: string,
  { projectId, before, most }: { projectId: string; before: bigint | undefined; most: number },
): Promise<DeliveryRow[]> {
  const { rows } = await sql<DeliveryRow>`
    select d.id, d.seq, d.event_id as "eventId", v.type, v.body, d.state, d.attempts, v.created_at as "createdAt",
      d.last_attempt_at as "lastAttemptAt", case when d.state = 'pending' then d.next_attempt_at end as "nextAttemptAt",
      d.last_status as "lastStatus", d.last_error as "lastError"
    from webhook_deliveries d join webhook_events v on v.id = d.event_id
    where d.endpoint_id = ${endpointId}::uuid and d.project_id = ${projectId}
      ${before === undefined ? sql`` : sql`and d.seq < ${before}`}
    order by d.seq desc limit ${most}`.execute(db)
  return rows
}

/** False when it waits to be sent anyway. It goes behind whatever of its object waits now. */
export async function replayDelivery(tx: Db, projectId: string, id: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update webhook_deliveries set state = 'pending', attempts = 0, next_attempt_at = now(), leased_until = null,
      gives_up_at = now() + ${GIVES_UP_AFTER_MS} * interval '1 ms', seq = default
    where id = ${id}::uuid and project_id = ${projectId} and state <> 'pending'`.execute(tx)
  return numAffectedRows === 1n
}

/** Whether no more may wait at this endpoint. */
export async function isQueueFull(tx: Db, endpointId: string): Promise<boolean> {
  const { rows } = await sql<{ isFull: boolean }>`select ${isFull(sql`${endpointId}::uuid`)} as "isFull"`.execute(tx)
  return rows[0]?.isFull === true
}

export async function findDelivery(tx: Db, projectId: string, id: string) {
  return tx
    .selectFrom('webhook_deliveries')
    .select(['id', 'event_id', 'endpoint_id', 'state'])
    .where('id', '=', id)
    .where('project_id', '=', projectId)
    .executeTakeFirst()
}

/** Events of long ago, with their deliveries. Returns how many events. */
export async function forgetEvents(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from webhook_events where id in (
      select id from webhook_events where id < first_id_of(now() - ${keptMs} * interval '1 ms') order by id limit ${most})`.execute(
    db,
  )
  return Number(numAffectedRows ?? 0n)
}
