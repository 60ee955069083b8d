import { sql } from 'kysely'
import { uuidv7 } from '../../../src/platform/uuid.ts'
import type { ClickVerdict } from '../../../src/rules/clicks/verdict.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/rules/durations.ts'
import type { Db } from '../../../src/store/database.ts'
import { applyClicks, releaseEarnings, reverseClick } from '../../../src/store/recommendations/clicks.ts'
import { insertRecommendations, setRecommendationStates } from '../../../src/store/recommendations/records.ts'
import type { AddedOffer } from '../../support/catalogue.ts'
import { clickOn } from '../../support/clicks.ts'

/** Two weeks of clicks: some are released by now, one was taken back, and many are no reader's. */

const DAYS = 14
/** Every so often, something else than a reader opens a link. */
const OTHERS: ClickVerdict[] = ['bot', 'previewer', 'too_fast', 'same_network', 'not_a_browser', 'prefetch']

export async function furnishEarnings(db: Db, projectId: string, offers: readonly AddedOffer[]): Promise<void> {
  for (let daysAgo = DAYS; daysAgo >= 1; daysAgo--) await oneDay(db, projectId, { daysAgo, offers })
  await clickOnLatest(db, projectId)
  await releaseEarnings(db, 10_000)
  const late = await db
    .selectFrom('clicks')
    .select('id')
    .where('state', '=', 'pending')
    .orderBy('id')
    .executeTakeFirst()
  if (late) await reverseClick(db, late.id, 'click farm')
}

async function oneDay(
  db: Db,
  projectId: string,
  { daysAgo, offers }: { daysAgo: number; offers: readonly AddedOffer[] },
): Promise<void> {
  const dayMs = Math.floor(Date.now() / DAY_MS) * DAY_MS - daysAgo * DAY_MS
  await makePartition(db, dayMs)
  const count = 14 + ((daysAgo * 5) % 9)
  const records = Array.from({ length: count }, (_, n) => ({
    id: uuidv7(dayMs + n * HOUR_MS),
    projectId,
    callId: uuidv7(dayMs),
    ...(offers[(n + daysAgo) % (offers.length - 1)] as AddedOffer),
    turn: 1 + (n % 4),
    priceNanos: BigInt(140_000_000 + ((n * 41_000_000) % 260_000_000)),
    relevance: 0.6,
    label: 'Sponsored',
    conversation: undefined,
  }))
  await insertRecommendations(db, records)
  await setRecommendationStates(
    db,
    records.map(({ id }) => ({ id, state: 'delivered' })),
  )
  const clicks = records.flatMap(({ id }, n) => {
    const at = (minutes: number) => uuidv7(dayMs + n * HOUR_MS + minutes * MINUTE_MS)
    const reader = n % 4 === 0 ? [clickOn(id, { id: at(3) })] : []
    const other =
      n % 4 === 1 ? [clickOn(id, { id: at(1), verdict: OTHERS[(n + daysAgo) % OTHERS.length] ?? 'bot' })] : []
    return [...reader, ...other]
  })
  await applyClicks(db, clicks)
}

/** On recommendations of calls that are there, in conversations that are there. */
async function clickOnLatest(db: Db, projectId: string): Promise<void> {
  const { rows } = await sql<{ id: string; shown_at: Date }>`
    select r.id, r.created_at as shown_at from recommendations r join calls c on c.id = r.call_id
    where r.project_id = ${projectId} and r.state = 'delivered' order by c.conversation_id is null, r.id desc limit 8`.execute(
    db,
  )
  await applyClicks(
    db,
    rows.map(({ id, shown_at: at }) => clickOn(id, { id: uuidv7(Math.min(at.getTime() + MINUTE_MS, Date.now())) })),
  )
}

async function makePartition(db: Db, dayMs: number): Promise<void> {
  const name = `recommendations_${new Date(dayMs).toISOString().slice(0, 10).replaceAll('-', '')}`
  const { rows } = await sql<{ lower: string; upper: string }>`
    select first_id_of(${new Date(dayMs)}) as lower, first_id_of(${new Date(dayMs + DAY_MS)}) as upper
    where to_regclass(${name}) is null`.execute(db)
  for (const { lower, upper } of rows)
    await sql`create table ${sql.table(name)} partition of recommendations
      for values from (${sql.lit(lower)}) to (${sql.lit(upper)})`.execute(db)
}
