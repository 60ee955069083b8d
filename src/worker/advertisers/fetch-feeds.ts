import { setTimeout as sleep } from 'node:timers/promises'
import { PARLEY } from '../../actions/actor.ts'
import { recordPublishedFeed } from '../../actions/offers/feeds.ts'
import { FeedError } from '../../recommend/feeds/feed-item.ts'
import { FRESH_FOR_DAYS, importFeed, type ImportResult } from '../../recommend/feeds/import-feed.ts'
import { MINUTE_MS, SECOND_MS } from '../../rules/durations.ts'
import { fetchWaitMs } from '../../rules/offers/feed-schedule.ts'
import type { Db, Store } from '../../store/database.ts'
import { claimDueFeeds, noteFetch, type DueFeed, type FetchEnd } from '../../store/offers/feed-schedule.ts'
import type { Job } from '../job.ts'
import { WHOLE_MS, type FetchFeed, type FetchingFeed } from './fetch-feed.ts'

const LOOK_EVERY_MS = 10 * SECOND_MS
/** Each may take as long as a stranger's server likes, and has a connection to the store meanwhile. */
const AT_ONCE = 4
/** Longer than any takes. Should one take longer all the same, the lock of its import keeps a second one out. */
const LEASE_MS = WHOLE_MS + 10 * MINUTE_MS
/** Short ones are done by then; the job goes on beside the others, and says that it is well. */
const WAIT_MS = 5 * SECOND_MS

export interface FetchFeedsOptions {
  db: Db
  fetchFeed: FetchFeed
  /** A store for one import, whose statements may take as long as publishing a million offers does. */
  openImportStore: () => Store
  signal: AbortSignal
}

/** Fetches feeds that are due from their addresses and imports them. Workers share them: who claims one has it. */
export function fetchFeedsJob(options: FetchFeedsOptions): Job {
  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  return {
    name: 'fetch feeds',
    everyMs: LOOK_EVERY_MS,
    async run() {
      const due = running.size < AT_ONCE ? await claimDueFeeds(options.db, AT_ONCE - running.size, LEASE_MS) : []
      for (const feed of due) {
        const one = fetchOne(options, feed)
          .catch((error: unknown) => void failures.push(error))
          .finally(() => running.delete(one))
        running.add(one)
      }
      const waiting = new AbortController()
      const shortly = sleep(WAIT_MS, undefined, { signal: waiting.signal }).catch(() => {})
      await Promise.race([Promise.all(running), shortly])
      waiting.abort()
      const told = failures.splice(0)
      if (told.length > 0) throw told[0]
    },
  }
}

async function fetchOne(options: FetchFeedsOptions, feed: DueFeed): Promise<void> {
  const { db, fetchFeed, signal } = options
  const { sourceUrl: url, etag, lastModified } = feed
  const fetched = await fetchFeed({ url, etag, lastModified }, signal)
  // What was asked for a process that ends may have been cut short.
  if (signal.aborted) return
  if ('problem' in fetched) return noteFetch(db, feed, failed(feed, fetched.problem), FRESH_FOR_DAYS)
  if ('isUnchanged' in fetched) {
    const end = { ...ended(feed, 'unchanged', null), etag, lastModified }
    return noteFetch(db, feed, end, FRESH_FOR_DAYS)
  }
  try {
    const result = await importFetched(options, feed, fetched)
    await noteFetch(db, feed, endOf(feed, fetched, result), FRESH_FOR_DAYS)
  } catch (error) {
    if (signal.aborted) return
    const isAboutFeed = error instanceof FeedError
    await noteFetch(db, feed, failed(feed, isAboutFeed ? error.message : 'The import failed.'), FRESH_FOR_DAYS)
    if (!isAboutFeed) throw error
  } finally {
    fetched.close()
  }
}

async function importFetched(
  { openImportStore }: FetchFeedsOptions,
  feed: DueFeed,
  { bytes }: FetchingFeed,
): Promise<ImportResult> {
  // Loads tables for a third of a second, which only those need who import.
  const { foreignLanguageOf } = await import('../../recommend/feeds/item-language.ts')
  const { id, advertiserId, campaignId, name, domain, currency } = feed
  const store = openImportStore()
  try {
    return await importFeed({
      db: store.db,
      feed: { id, advertiserId, campaignId, name },
      terms: { domain, languageOf: foreignLanguageOf, ...(currency !== null && { currency }) },
      bytes,
      async onPublished(tx, counts) {
        // Every hour the same again is nothing that anybody has done.
        if (counts.added + counts.changed + counts.removed === 0) return
        await recordPublishedFeed(tx, PARLEY, { advertiser: { name: feed.advertiser }, feed: name, counts })
      },
    })
  } finally {
    await store.close()
  }
}

function ended({ interval }: DueFeed, state: FetchEnd['state'], error: string | null): FetchEnd {
  return { state, error, waitMs: fetchWaitMs(interval, 0), failures: 0, etag: null, lastModified: null }
}

function failed(feed: DueFeed, error: string): FetchEnd {
  const failures = feed.failures + 1
  return { ...ended(feed, 'failed', error), waitMs: fetchWaitMs(feed.interval, failures), failures }
}

function endOf(feed: DueFeed, { etag, lastModified }: FetchingFeed, result: ImportResult): FetchEnd {
  if (!result.isPublished) return ended(feed, 'refused', result.refusal ?? null)
  const end = ended(feed, 'published', null)
  // An item that is missing is removed by the second run that lacks it: that one must see the file again.
  return result.counts.missing > 0 ? end : { ...end, etag, lastModified }
}
