/**
 * An import gathers its items in a table that only its own connection sees, and publishes them in one short transaction:
 * readers see the old version of a feed or the new one. No transaction is open while the file is read, because matchers
 * read again what changed since the oldest open one.
 */
import { sql, type RawBuilder } from 'kysely'
import { uuidv7 } from '../../platform/uuid.ts'
import { contentHashOf, textHashOf, type FeedOffer } from '../../rules/offers/search-text.ts'
import type { Db, Tx } from '../database.ts'
import { endFeedRun, type Feed, type Rejection, type RunCounts } from './feeds.ts'

export type StagedItem = { row: number } & (
  | { verdict: 'accepted'; offer: FeedOffer }
  | { verdict: 'rejected'; itemId: string | undefined; reason: string }
)

/** The columns that come from the feed, in one order for all statements, and whether they are words that a person may have reviewed. */
const COLUMNS = {
  item_group_id: { type: 'text', isWords: false },
  title: { type: 'text', isWords: true },
  description: { type: 'text', isWords: true },
  brand: { type: 'text', isWords: true },
  link: { type: 'text', isWords: false },
  image_link: { type: 'text', isWords: false },
  price: { type: 'numeric', isWords: false },
  currency: { type: 'text', isWords: false },
  availability: { type: 'text', isWords: false },
  condition: { type: 'text', isWords: false },
  gtin: { type: 'text', isWords: false },
  category: { type: 'text', isWords: true },
  language: { type: 'text', isWords: false },
  headline: { type: 'text', isWords: true },
  benefit: { type: 'text', isWords: true },
  content_hash: { type: 'bytea', isWords: false },
  text_hash: { type: 'bytea', isWords: false },
}
const NAMES = Object.keys(COLUMNS)
const WORDS = Object.entries(COLUMNS).flatMap(([name, { isWords }]) => (isWords ? [name] : []))

const columns = (names: readonly string[], prefix = ''): RawBuilder<unknown> =>
  sql.raw(names.map((name) => `${prefix}${name}`).join(', '))

export async function createStaging(connection: Db): Promise<void> {
  await dropStaging(connection)
  const typed = Object.entries(COLUMNS).map(([name, { type }]) => `${name} ${type}`)
  await sql`create temp table staged_offers (row int8 not null, id uuid not null, item_id text, verdict text not null,
    reason text, review text, review_reason text, ${sql.raw(typed.join(', '))})`.execute(connection)
}

export async function dropStaging(connection: Db): Promise<void> {
  await sql`drop table if exists pg_temp.staged_offers`.execute(connection)
}

/** One statement for a batch, however large. */
export async function stageItems(connection: Db, items: readonly StagedItem[]): Promise<void> {
  const typed = Object.entries(COLUMNS).map(([name, { type }]) => `${name} ${type === 'bytea' ? 'text' : type}`)
  const taken = NAMES.map((name) => (name.endsWith('_hash') ? `decode(${name}, 'hex')` : name))
  await sql`insert into staged_offers (row, id, item_id, verdict, reason, review, review_reason, ${columns(NAMES)})
    select row, id, item_id, verdict, reason, review, review_reason, ${sql.raw(taken.join(', '))}
    from json_to_recordset(${JSON.stringify(items.map(stagedRow))}::json) as r (row int8, id uuid, item_id text,
      verdict text, reason text, review text, review_reason text, ${sql.raw(typed.join(', '))})`.execute(connection)
}

function stagedRow(item: StagedItem): Record<string, unknown> {
  const { row, verdict } = item
  if (item.verdict === 'rejected') {
    return { row, id: uuidv7(), verdict, item_id: item.itemId, reason: item.reason.slice(0, 500) }
  }
  const { offer } = item
  return {
    row,
    id: uuidv7(),
    verdict,
    item_id: offer.itemId,
    item_group_id: offer.itemGroupId,
    title: offer.title,
    description: offer.description,
    brand: offer.brand,
    link: offer.link,
    image_link: offer.imageLink,
    price: offer.price,
    currency: offer.currency,
    availability: offer.availability,
    condition: offer.condition,
    gtin: offer.gtin,
    category: offer.category,
    language: offer.language,
    headline: offer.headline,
    benefit: offer.benefit,
    review: offer.review,
    review_reason: offer.reviewReason,
    content_hash: contentHashOf(offer).toString('hex'),
    text_hash: textHashOf(offer).toString('hex'),
  }
}

/** An id counts once in a feed: the first acceptable item has it. */
export async function rejectRepeated(connection: Db): Promise<void> {
  await sql`create index on staged_offers (item_id)`.execute(connection)
  await sql`analyze staged_offers`.execute(connection)
  await sql`update staged_offers s set verdict = 'rejected', reason = 'id was used before, in row ' || d.first
    from (select row, min(row) over (partition by item_id) as first from staged_offers where verdict = 'accepted') d
    where s.row = d.row and d.row > d.first`.execute(connection)
}

export interface Publishing {
  feed: Feed
  runId: string
  freshForDays: number
  /** The share of a feed's offers that a run may take away without being asked. */
  removedShareMax: number
  rejectionsMax: number
  /** For each kind, after a dry run. */
  changesMax: number
  isDryRun: boolean
  isRemovalConfirmed: boolean
  /** Joins the transaction that publishes. */
  onPublished?: ((tx: Tx, counts: RunCounts) => Promise<void>) | undefined
}

export interface PublishResult {
  isPublished: boolean
  /** Offers that the feed had. */
  live: number
  counts: RunCounts
  /** The number of offers that would be recommended, but that a person has to look at first. */
  pending: number
  rejections: Rejection[]
  /** The first of each kind, after a dry run; otherwise none. */
  changes: StagedChange[]
}

/** The change that a run would make to one offer. */
export interface StagedChange {
  kind: 'added' | 'changed' | 'removed'
  /** The row in the file; null for an offer that is not in it. */
  row: number | null
  item: string
  title: string
  /** The fields that differ, of one that was there before. */
  fields: string[]
}

/** Everything or nothing. What is not published is only counted. */
export async function publishStaged(connection: Db, options: Publishing): Promise<PublishResult> {
  const { feed } = options
  return connection.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = '60s'`.execute(tx)
    // Two feeds of one advertiser may hold the same item: the second to publish must see what the first one did.
    await sql`select pg_advisory_xact_lock(hashtextextended('advertiser ' || ${feed.advertiserId}, 0))`.execute(tx)
    await rejectOthers(tx, feed)
    const counted = await countStaged(tx, feed)
    const rejections = await listRejections(tx, options.rejectionsMax)
    const changes = options.isDryRun ? await listChanges(tx, feed, options.changesMax) : []
    const { counts, live } = counted
    const isTooMuch = counts.removed > live * options.removedShareMax && !options.isRemovalConfirmed
    const isPublished = !isTooMuch && !options.isDryRun
    if (isPublished) {
      await applyStaged(tx, feed)
      // The server's headers for another file are forgotten: a worker that fetches this one writes its headers down.
      await sql`update feeds set campaign_id = ${feed.campaignId}, expires_at = now() + ${options.freshForDays} * interval '1 day',
          etag = null, last_modified = null
        where id = ${feed.id}`.execute(tx)
      await endFeedRun(tx, { id: options.runId, state: 'published', reason: null, counts, rejections })
      await options.onPublished?.(tx, counts)
    }
    return { isPublished, ...counted, rejections, changes }
  })
}

/** An item belongs to the feed that brought it first, until that one has it no more: or two feeds would fight for it. */
async function rejectOthers(tx: Db, feed: Feed): Promise<void> {
  await sql`update staged_offers s set verdict = 'rejected', reason = 'id is an item of the feed "' || f.name || '" of this advertiser'
    from offers o join feeds f on f.id = o.feed_id
    where s.verdict = 'accepted' and o.advertiser_id = ${feed.advertiserId} and o.item_id = s.item_id
      and o.feed_id <> ${feed.id} and o.removed_at is null`.execute(tx)
}

async function listRejections(tx: Db, limit: number): Promise<Rejection[]> {
  const { rows } = await sql<{ row: bigint; item: string | null; reason: string }>`
    select row, item_id as item, reason from staged_offers where verdict = 'rejected' order by row limit ${limit}`.execute(
    tx,
  )
  return rows.map(({ row, item, reason }) => ({ row: Number(row), item, reason }))
}

/** Whether an accepted item differs from the offer that it was, so that there is something to write. */
const isDifferent = (feed: Feed) => sql`(o.content_hash <> s.content_hash or o.campaign_id <> ${feed.campaignId}
  or o.feed_id <> ${feed.id} or o.removed_at is not null)`

/** Offers of the feed that no accepted item speaks of: refused ones go at once, the others at the second run. */
const gone = (feed: Feed) => sql`
  select o.id, (o.missing_runs >= 1 or exists (select from staged_offers r where r.item_id = o.item_id)) as is_removed
  from offers o
  where o.feed_id = ${feed.id} and o.removed_at is null
    and not exists (select from staged_offers s where s.item_id = o.item_id and s.verdict = 'accepted')`

async function countStaged(tx: Db, feed: Feed): Promise<{ live: number; counts: RunCounts; pending: number }> {
  const { rows } = await sql<Record<keyof RunCounts | 'live' | 'pending', bigint>>`
    select s.*, g.*, (select count(*) from offers where feed_id = ${feed.id} and removed_at is null) as live
    from (select count(*) as rows,
        count(*) filter (where s.verdict = 'rejected') as rejected,
        count(*) filter (where s.verdict = 'accepted' and (o.id is null or o.removed_at is not null)) as added,
        count(*) filter (where s.verdict = 'accepted' and o.removed_at is null and ${isDifferent(feed)}) as changed,
        count(*) filter (where s.verdict = 'accepted' and not ${isDifferent(feed)}) as unchanged,
        count(*) filter (where s.verdict = 'accepted' and coalesce(case when not ${isDifferent(feed)} then o.review end, s.review) = 'pending') as pending
      from staged_offers s
      left join offers o on o.advertiser_id = ${feed.advertiserId} and o.item_id = s.item_id) s,
      (select count(*) filter (where is_removed) as removed, count(*) filter (where not is_removed) as missing
        from (${gone(feed)}) x) g`.execute(tx)
  const counted = rows[0]
  if (!counted) throw new Error('a count has one row')
  const { live, pending, ...counts } = Object.fromEntries(
    Object.entries(counted).map(([name, count]) => [name, Number(count)]),
  ) as Record<keyof RunCounts | 'live' | 'pending', number>
  return { live, pending, counts }
}

async function listChanges(tx: Db, feed: Feed, limit: number): Promise<StagedChange[]> {
  const differing = NAMES.filter((name) => !name.endsWith('_hash')).map(
    (name) => `case when o.${name} is distinct from s.${name} then '${name}' end`,
  )
  const { rows } = await sql<Omit<StagedChange, 'row'> & { row: bigint | null }>`
    (select 'added' as kind, s.row, s.item_id as item, s.title, '{}'::text[] as fields
      from staged_offers s left join offers o on o.advertiser_id = ${feed.advertiserId} and o.item_id = s.item_id
      where s.verdict = 'accepted' and (o.id is null or o.removed_at is not null) order by s.row limit ${limit})
    union all
    (select 'changed', s.row, s.item_id, s.title, array_remove(array[${sql.raw(differing.join(', '))}], null)
      from staged_offers s join offers o on o.advertiser_id = ${feed.advertiserId} and o.item_id = s.item_id
      where s.verdict = 'accepted' and o.removed_at is null and ${isDifferent(feed)} order by s.row limit ${limit})
    union all
    (select 'removed', null, o.item_id, o.title, '{}' from offers o join (${gone(feed)}) g on g.id = o.id
      where g.is_removed order by o.item_id limit ${limit})`.execute(tx)
  return rows.map(({ kind, row, item, title, fields }) => {
    return { kind, row: row === null ? null : Number(row), item, title, fields }
  })
}

/** Writes what was staged. A person's decision stays until the words change. */
async function applyStaged(tx: Db, feed: Feed): Promise<void> {
  const isReviewed = sql`(o.reviewed_at is not null
    and (${columns(WORDS, 'o.')}) is not distinct from (${columns(WORDS, 's.')}))`
  await sql`update offers o set (${columns(NAMES)}) = row (${columns(NAMES, 's.')}),
      review = case when ${isReviewed} then o.review else s.review end,
      review_reason = case when ${isReviewed} then o.review_reason else s.review_reason end,
      reviewed_at = case when ${isReviewed} then o.reviewed_at end,
      campaign_id = ${feed.campaignId}, feed_id = ${feed.id}, missing_runs = 0, removed_at = null
    from staged_offers s
    where s.verdict = 'accepted' and o.advertiser_id = ${feed.advertiserId} and o.item_id = s.item_id
      and ${isDifferent(feed)}`.execute(tx)
  await sql`update offers o set missing_runs = 0 from staged_offers s
    where s.verdict = 'accepted' and o.feed_id = ${feed.id} and o.item_id = s.item_id and o.missing_runs > 0`.execute(
    tx,
  )
  await sql`update offers o set missing_runs = least(o.missing_runs + 1, 2),
      removed_at = case when g.is_removed then now() end
    from (${gone(feed)}) g where o.id = g.id`.execute(tx)
  await sql`insert into offers (id, advertiser_id, campaign_id, feed_id, item_id, review, review_reason, ${columns(NAMES)})
    select s.id, ${feed.advertiserId}::uuid, ${feed.campaignId}::uuid, ${feed.id}::uuid, s.item_id, s.review, s.review_reason, ${columns(NAMES, 's.')}
    from staged_offers s
    where s.verdict = 'accepted'
      and not exists (select from offers o where o.advertiser_id = ${feed.advertiserId} and o.item_id = s.item_id)
    order by s.row`.execute(tx)
}
