import type { Metrics } from '../../metrics.ts'
import { WHOLE_MS, type FetchFeed, type FetchingFeed } from '../../actions/offers/fetch-feed.ts'
import { FRESH_FOR_DAYS, type ImportResult } from '../../recommend/feeds/import-feed.ts'
import { MINUTE_MS, SECOND_MS } from '../../rules/durations.ts'
import { FeedError } from '../../rules/offers/feed-error.ts'
import { fetchWaitMs } from '../../rules/offers/feed-schedule.ts'
import type { Db, Store } from '../../store/database.ts'
import { claimDueFeeds, noteFetch, type DueFeed, type FetchEnd } from '../../store/offers/feed-schedule.ts'
import type { Job } from '../job.ts'
import { importFile } from './import-file.ts'
import { createLongWork } from './long-work.ts'

const LOOK_EVERY_MS = 10 * SECOND_MS
/** Each may take as long as a stranger's server likes, and has a connection to the store meanwhile. */
const AT_ONCE = 4
/** Longer than any takes. Should one take longer all the same, the lock of its import keeps a second one out. */
const LEASE_MS = WHOLE_MS + 10 * MINUTE_MS

export interface FetchFeedsOptions {
  db: Db
  fetchFeed: FetchFeed
  /** A store for one import, whose statements may take as long as publishing a million offers does. */
  openImportStore: () => Store
  metrics: Pick<Metrics, 'feedFetches'>
  signal: AbortSignal
  /** For one import. Fetching its file has as long. */
  wholeMs?: number
}

/** Fetches feeds that are due from their addresses and imports them. Workers share them: who claims one has it. */
export function fetchFeedsJob(options: FetchFeedsOptions): Job {
  const fetching = createLongWork(AT_ONCE)
  return {
    name: 'fetch feeds',
    everyMs: LOOK_EVERY_MS,
    async run() {
      if (fetching.room() > 0) {
        const claiming = { most: fetching.room(), leaseMs: LEASE_MS, busy: fetching.busy() }
        for (const feed of await claimDueFeeds(options.db, claiming))
          fetching.begin(feed.advertiserId, () => fetchOne(options, feed))
      }
      await fetching.watch()
    },
  }
}

async function fetchOne(options: FetchFeedsOptions, feed: DueFeed): Promise<void> {
  const { db, fetchFeed, metrics, signal } = options
  const { sourceUrl: url, etag, lastModified } = feed
  const note = (end: FetchEnd) => {
    metrics.feedFetches.inc({ outcome: end.state })
    return noteFetch(db, feed, end, FRESH_FOR_DAYS)
  }
  const fetched = await fetchFeed({ url, etag, lastModified }, signal)
  // The answer may have been cut short, because this process is ending.
  if (signal.aborted) return
  if ('problem' in fetched) return note(failed(feed, fetched.problem))
  if ('isUnchanged' in fetched) return note({ ...ended(feed, 'unchanged', null), etag, lastModified })
  try {
    const result = await importFetched(options, feed, fetched)
    await note(endOf(feed, fetched, result))
  } catch (error) {
    if (signal.aborted) return
    const isAboutFeed = error instanceof FeedError
    await note(failed(feed, isAboutFeed ? error.message : 'The import failed.'))
    if (!isAboutFeed) throw error
  } finally {
    fetched.close()
  }
}

function importFetched(
  { openImportStore, signal, wholeMs = WHOLE_MS }: FetchFeedsOptions,
  { id, name, ...feed }: DueFeed,
  { bytes }: FetchingFeed,
): Promise<ImportResult> {
  const ending = AbortSignal.any([signal, AbortSignal.timeout(wholeMs)])
  return importFile(openImportStore, { ...feed, feed: { id, name }, bytes, signal: ending })
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
