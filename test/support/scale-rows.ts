/** Rows of what pages list beside calls, in numbers that go with very many calls: for `npm run bench:console`. */
import { sql } from 'kysely'
import { openStore, type Db } from '../../src/store/database.ts'

/** So many calls for each of these. */
const CALLS_PER = { refusal: 20, message: 50, endUser: 200, alert: 2_000, delivery: 500 }

export async function seedBesideCalls(url: string, projectId: string, calls: number): Promise<void> {
  const rows = (per: number) => Math.max(100, Math.floor(calls / per))
  const store = openStore({ url, applicationName: 'parley seed', statementTimeoutMs: 900_000, poolMax: 1 })
  try {
    const { db } = store
    await refuse(db, projectId, rows(CALLS_PER.refusal))
    await talk(db, projectId, rows(CALLS_PER.message))
    await callFor(db, projectId, rows(CALLS_PER.endUser))
    await alarm(db, projectId, rows(CALLS_PER.alert))
    await deliver(db, projectId, rows(CALLS_PER.delivery))
    await sql`vacuum analyze`.execute(db)
  } finally {
    await store.close()
  }
}

/** Adds refused requests of the last 13 days, as many of each code. */
async function refuse(db: Db, projectId: string, rows: number): Promise<void> {
  await sql`
    insert into refused_requests (id, project_id, key_pair_id, via_session, status, code, message, param, endpoint, model,
      times, last_at)
    select (lpad(to_hex((extract(epoch from at) * 1000)::int8), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8'
        || substr(md5(n::text), 4, 15))::uuid, ${projectId}, key_pair, false, case n % 3 when 0 then 401 when 1 then 422 else 403 end,
      (array['keys_invalid', 'model_not_found', 'credit_insufficient'])[1 + n % 3], 'Seeded.', null,
      'POST /v1/chat/completions', 'gpt-mini', 1 + n % 9, at
    from generate_series(1, ${rows}) as n, lateral (select now() - (n::float8 / ${rows}) * interval '13 days' as at) t,
      lateral (select id as key_pair from key_pairs where project_id = ${projectId} order by id offset n % 3 limit 1) k`.execute(
    db,
  )
}

/** Twenty messages each, so that a word is in one of hundreds, or in all of them. Their words are indexed by a trigger. */
async function talk(db: Db, projectId: string, rows: number): Promise<void> {
  await sql`
    insert into conversations (project_id, id, created_at, last_call_at, calls)
    select ${projectId}, 'talk-' || n, now() - n * interval '1 minute', now() - n * interval '1 minute', 10
    from generate_series(0, ${Math.floor(rows / 20)}) as n`.execute(db)
  await sql`
    insert into messages (project_id, conversation_id, digest, occurrence, role, content, call_id, content_expires_at)
    select ${projectId}, 'talk-' || n / 20, decode(md5(n::text), 'hex'), 1,
      case n % 2 when 0 then 'user' else 'assistant' end,
      to_json('How long does bread number ' || n % 977 || ' keep, and why does ' || md5((n % 20011)::text) || ' matter?'),
      gen_random_uuid(), now() + interval '30 days'
    from generate_series(0, ${rows - 1}) as n`.execute(db)
}

/** A uuid, as that of a keyed digest. */
const PERSON = sql`overlay(overlay(md5('person ' || n) placing '8' from 13) placing '8' from 17)::uuid`

async function callFor(db: Db, projectId: string, rows: number): Promise<void> {
  await sql`
    insert into end_users (project_id, id, label, first_seen_at, last_seen_at)
    select ${projectId}, ${PERSON}, 'Person ' || n, now() - interval '60 days', now() - n * interval '10 seconds'
    from generate_series(1, ${rows}) as n`.execute(db)
  await sql`
    insert into end_user_days (project_id, end_user_id, starts_at, calls, tokens, charged_nanos)
    select ${projectId}, ${PERSON}, date_trunc('day', now(), 'utc') - back * interval '1 day', 5, 9000, 20000000
    from generate_series(1, ${rows}) as n, generate_series(0, 9) as back`.execute(db)
}

async function alarm(db: Db, projectId: string, rows: number): Promise<void> {
  await sql`
    insert into alerts (id, project_id, kind, subject, facts, opened_at, closed_at)
    select (lpad(to_hex((extract(epoch from at) * 1000)::int8), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8'
        || substr(md5(n::text), 4, 15))::uuid, ${projectId}, 'error_rate', '', '{"calls": 100, "failures": 40, "percent": 40, "threshold": 20}', at, at + interval '5 minutes'
    from generate_series(1, ${rows}) as n, lateral (select now() - (n::float8 / ${rows}) * interval '89 days' as at) t`.execute(
    db,
  )
}

async function deliver(db: Db, projectId: string, rows: number): Promise<void> {
  await sql`
    with endpoint as (
      insert into webhook_endpoints (id, project_id, url, event_types, sealed_secret)
      values (gen_random_uuid(), ${projectId}, 'https://hooks.example.com/parley', '{key.created}', 'seeded') returning id
    ), events as (
      insert into webhook_events (id, project_id, type, body)
      select gen_random_uuid(), ${projectId}, 'key.created', '{}' from generate_series(1, ${rows}) returning id
    )
    insert into webhook_deliveries (id, event_id, endpoint_id, project_id, object_key, state, gives_up_at)
    select gen_random_uuid(), e.id, p.id, ${projectId}, 'key', 'delivered', now() from events e, endpoint p`.execute(db)
}
