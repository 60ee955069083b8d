import { sql } from 'kysely'
import { uuidv7 } from '../../../src/platform/uuid.ts'
import { insertCampaign } from '../../../src/store/offers/campaigns.ts'
import type { Db } from '../../../src/store/database.ts'
import { fund } from '../../support/clicks.ts'
import { must, type Person } from '../../support/console.ts'

const NANOS = 1_000_000_000n

/** An advertiser that has spent something on most days of a month. Returns its id. */
export async function furnishAdvertiser(db: Db, person: Person): Promise<string> {
  const body = { name: 'Lamp Works', legalName: 'Lamp Works Ltd', domain: 'lamps.example.com' }
  const { id } = (await must(person.send('POST /api/me/advertisers', { body }))).body as { id: string }
  await db.updateTable('advertisers').set({ status: 'active' }).where('id', '=', id).execute()
  await fund(db, id, 215n * NANOS)
  const settings = { advertiser_id: id, bid_nanos: 410_000_000n, daily_budget_nanos: 21n * NANOS }
  const hints = { context_hints: ['for people who read at night', 'for small desks'], negative_hints: ['power cuts'] }
  const campaign = uuidv7()
  await insertCampaign(db, { ...settings, ...hints, id: campaign, name: 'Desk lamps' })
  await insertCampaign(db, { ...settings, id: uuidv7(), name: 'Floor lamps', pacing: 'asap' })
  await insertCampaign(db, { ...settings, id: uuidv7(), name: 'Clearance', status: 'paused' })
  await sql`insert into campaign_days (campaign_id, day, spent_nanos, clicks)
    select ${campaign}, (now() at time zone 'utc')::date - n, (5 + n * 7 % 23) * 310000000::int8, 5 + n * 7 % 23
    from generate_series(0, 28) n`.execute(db)
  await sql`insert into campaign_totals (campaign_id, spent_nanos)
    select campaign_id, sum(spent_nanos) from campaign_days where campaign_id = ${campaign} group by 1`.execute(db)
  return id
}
