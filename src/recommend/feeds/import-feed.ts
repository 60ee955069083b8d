/**
 * Takes a feed in: reads it item by item, judges each, gathers them beside what is published, and publishes all of it at
 * once. Killed at any moment, it leaves the version that was published before.
 */
import { uuidv7 } from '../../platform/uuid.ts'
import { judgeItem, type FeedTerms } from '../../rules/offers/feed-item.ts'
import type { Db, Tx } from '../../store/database.ts'
import {
  createStaging,
  dropStaging,
  publishStaged,
  rejectRepeated,
  stageItems,
  type PublishResult,
  type StagedItem,
} from '../../store/offers/feed-staging.ts'
import {
  endFeedRun,
  ensureFeed,
  findFeed,
  startFeedRun,
  tryLockFeed,
  unlockFeed,
  type Feed,
  type RunCounts,
} from '../../store/offers/feeds.ts'
import type { FeedFormat } from './feed-format.ts'
import type { FeedItem } from './feed-item.ts'
import { FeedBusy, FeedError } from '../../rules/offers/feed-error.ts'
import { openFeed } from './feed-items.ts'
import { feedTextOf } from './feed-text.ts'

export const BATCH_ITEMS = 1_000
export const FRESH_FOR_DAYS = 30
export const REMOVED_SHARE_MAX = 0.3
export const REJECTIONS_KEPT = 100
/** For each kind of change, after a dry run. */
export const CHANGES_SHOWN = 50

export interface FeedImport {
  db: Db
  /** Without an id: that of its name, made if there is none. */
  feed: Omit<Feed, 'id'> & { id?: string }
  terms: FeedTerms
  bytes: AsyncIterable<Buffer>
  /** Found out when left out. */
  format?: FeedFormat
  isDryRun?: boolean
  isRemovalConfirmed?: boolean
  /** Ends it, with nothing published. */
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
  /** Joins the transaction that publishes. */
  onPublished?: (tx: Tx, counts: RunCounts) => Promise<void>
}

export interface Progress {
  rows: number
  rejected: number
}

export interface ImportResult extends PublishResult {
  runId: string | undefined
  format: FeedFormat
  /** Why nothing was published, in words, or would be: too much of the feed would be gone. */
  refusal: string | undefined
}

export async function importFeed(options: FeedImport): Promise<ImportResult> {
  const { db, feed: named, isDryRun = false } = options
  const id = named.id ?? (await idOf(db, named, isDryRun))
  const feed: Feed = { ...named, id: id ?? uuidv7() }
  // A new feed has no row yet in a dry run.
  const locked = id ?? `${named.advertiserId} ${named.name}`
  // The staged items are seen by one connection alone, which also holds the lock.
  return db.connection().execute(async (connection) => {
    if (!(await tryLockFeed(connection, locked))) {
      throw new FeedBusy(
        `Another import of the feed "${named.name}" is running. Wait until it has ended, then try again.`,
      )
    }
    try {
      return await importLocked(connection, feed, options)
    } finally {
      // A connection that broke has neither a lock nor a table any more, and its failure is told already.
      await dropStaging(connection).catch(() => {})
      await unlockFeed(connection, locked).catch(() => {})
    }
  })
}

async function idOf(db: Db, named: Omit<Feed, 'id'>, isDryRun: boolean): Promise<string | undefined> {
  return isDryRun ? (await findFeed(db, named.advertiserId, named.name))?.id : ensureFeed(db, named)
}

async function importLocked(connection: Db, feed: Feed, options: FeedImport): Promise<ImportResult> {
  const { isDryRun = false, isRemovalConfirmed = false } = options
  const { format, items } = await openFeed(feedTextOf(options.bytes), options.format)
  const runId = uuidv7()
  if (!isDryRun) await startFeedRun(connection, { id: runId, feedId: feed.id, format })
  const progress: Progress = { rows: 0, rejected: 0 }
  try {
    await createStaging(connection)
    for await (const batch of batched(judged(items, options, progress))) {
      await stageItems(connection, batch)
      options.onProgress?.({ ...progress })
    }
    await rejectRepeated(connection)
    const result = await publishStaged(connection, {
      feed,
      runId,
      freshForDays: FRESH_FOR_DAYS,
      removedShareMax: REMOVED_SHARE_MAX,
      rejectionsMax: REJECTIONS_KEPT,
      changesMax: CHANGES_SHOWN,
      isDryRun,
      isRemovalConfirmed,
      onPublished: options.onPublished,
    })
    const refusal = removalRefusalOf(result, isRemovalConfirmed)
    if (!result.isPublished && !isDryRun) {
      const { counts, rejections } = result
      await endFeedRun(connection, { id: runId, state: 'refused', reason: refusal ?? null, counts, rejections })
    }
    return { ...result, runId: isDryRun ? undefined : runId, format, refusal }
  } catch (error) {
    if (!isDryRun) await recordFailure(connection, runId, progress, error)
    throw error
  }
}

async function* judged(
  items: AsyncIterable<FeedItem>,
  { terms, signal }: FeedImport,
  progress: Progress,
): AsyncGenerator<StagedItem> {
  for await (const item of items) {
    // A small archive is fetched in a moment, and may hold items that take hours.
    if (signal?.aborted) throw new FeedError('It took too long to import.')
    const row = ++progress.rows
    const verdict =
      'problem' in item
        ? { verdict: 'rejected' as const, itemId: undefined, reason: item.problem }
        : judgeItem(item.fields, terms)
    if (verdict.verdict === 'rejected') progress.rejected++
    yield { row, ...verdict }
  }
}

async function* batched<T>(all: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const one of all) {
    batch.push(one)
    if (batch.length < BATCH_ITEMS) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

function removalRefusalOf({ counts, live }: PublishResult, isRemovalConfirmed: boolean): string | undefined {
  if (isRemovalConfirmed || counts.removed <= live * REMOVED_SHARE_MAX) return undefined
  const share = Math.round((counts.removed / live) * 100)
  return `This run would remove ${counts.removed} of ${live} offers (${share}%), so nothing was changed.`
}

const NOTHING: Omit<RunCounts, 'rows' | 'rejected'> = { added: 0, changed: 0, unchanged: 0, removed: 0, missing: 0 }

/** So that it is seen why a feed is old. A database that is gone cannot be told, and the first failure is the one that counts. */
async function recordFailure(connection: Db, runId: string, progress: Progress, error: unknown): Promise<void> {
  const reason = error instanceof FeedError ? error.message : 'The import failed.'
  const counts = { ...NOTHING, ...progress }
  await endFeedRun(connection, { id: runId, state: 'failed', reason, counts, rejections: [] }).catch(() => {})
}
