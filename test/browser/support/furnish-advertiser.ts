import { sql } from 'kysely'
import { uuidv7 } from '../../../src/platform/uuid.ts'
import { insertCampaign } from '../../../src/store/offers/campaigns.ts'
import type { Db } from '../../../src/store/database.ts'
import { fund } from '../../support/clicks.ts'
import { must, type Person } from '../../support/console.ts'
import { furnishFeeds } from './furnish-feeds.ts'

const NANOS = 1_000_000_000n

/** An advertiser that has spent something on most days of a month. */
export async function furnishAdvertiser(db: Db, person: Person) {
  const body = { name: 'Lamp Works', legalName: 'Lamp Works Ltd', domain: 'lamps.example.com' }
  const { id } = (await must(person.send('POST /api/me/advertisers', { body }))).body as { id: string }
  await db
    .updateTable('advertisers')
    .set({ status: 'active', domain_verified_at: new Date(), domain_proven_by: 'dns' })
    .where('id', '=', id)
    .execute()
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
  await furnishReport(db, id, campaign)
  const guest = { email: 'gil@lamps.example.com', role: 'viewer' }
  await must(person.send(`POST /api/advertisers/${id}/invitations`, { body: guest }))
  return { advertiserId: id, ...(await furnishFeeds(db, id, campaign)) }
}

/** A month of what a worker would have added up, by campaign and by hint; one hint had little of it. */
async function furnishReport(db: Db, advertiser: string, campaign: string): Promise<void> {
  await sql`
    insert into advertiser_days (advertiser_id, dimension, day, campaign_id, value, event, times, spent_nanos)
    select ${advertiser}, dimension, (now() at time zone 'utc')::date - n, ${campaign}, value, event,
      share * (case event when 'serve' then 900 + n * 31 % 400 when 'valid' then 5 + n * 7 % 23 else 1 + n % 3 end),
      share * (case event when 'valid' then (5 + n * 7 % 23) * 310000000::int8 else 0 end)
    from generate_series(0, 28) n,
      (values ('campaign', '', 3), ('hint', 'for people who read at night', 2), ('hint', '', 1)) d (dimension, value, share),
      unnest(array['serve', 'valid', 'bot', 'repeat', 'conversion']) event`.execute(db)
  await sql`insert into advertiser_days (advertiser_id, dimension, day, campaign_id, value, event, times)
    values (${advertiser}, 'hint', (now() at time zone 'utc')::date, ${campaign}, 'for small desks', 'serve', 4)`.execute(
    db,
  )
  await sql`update advertiser_days_progress set through = now() - interval '3 minutes'`.execute(db)
}
