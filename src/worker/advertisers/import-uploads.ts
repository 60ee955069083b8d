import type { ImportResult } from '../../recommend/feeds/import-feed.ts'
import { MINUTE_MS, SECOND_MS } from '../../rules/durations.ts'
import { FeedBusy, FeedError } from '../../rules/offers/feed-error.ts'
import type { Db, Store } from '../../store/database.ts'
import {
  claimDueUploads,
  noteUpload,
  postponeUpload,
  type DueUpload,
  type UploadEnd,
} from '../../store/offers/feed-uploads.ts'
import type { Job } from '../job.ts'
import { importFile } from './import-file.ts'
import { createLongWork } from './long-work.ts'

/** Somebody looks at the page and waits. */
const LOOK_EVERY_MS = SECOND_MS
const AT_ONCE = 2
/** Longer than nearly all take, so that whoever waits for a worker that died waits no longer. A second one is kept out by a lock. */
const LEASE_MS = 2 * MINUTE_MS
/** A packed file may hold items that take hours. */
const WHOLE_MS = 10 * MINUTE_MS
const BUSY_WAIT_MS = 5 * SECOND_MS

export interface ImportUploadsOptions {
  db: Db
  /** As for feeds that are fetched: fetch-feeds.ts. */
  openImportStore: () => Store
  signal: AbortSignal
  /** For one file. */
  wholeMs?: number
}

/** Says what a file that a member has sent would change, and publishes it when they want it so. */
export function importUploadsJob(options: ImportUploadsOptions): Job {
  const importing = createLongWork(AT_ONCE)
  return {
    name: 'import uploaded feeds',
    everyMs: LOOK_EVERY_MS,
    async run() {
      if (importing.room() > 0) {
        const claiming = { most: importing.room(), leaseMs: LEASE_MS, busy: importing.busy() }
        for (const upload of await claimDueUploads(options.db, claiming))
          importing.begin(upload.advertiserId, () => importOne(options, upload))
      }
      await importing.watch()
    },
  }
}

async function importOne(options: ImportUploadsOptions, upload: DueUpload): Promise<void> {
  const { db, openImportStore, signal, wholeMs = WHOLE_MS } = options
  const { state, feed: name, file, ...about } = upload
  try {
    const isDryRun = state === 'to_check'
    const ending = AbortSignal.any([signal, AbortSignal.timeout(wholeMs)])
    const source = { ...about, feed: { name }, bytes: whole(file), signal: ending }
    const result = await importFile(openImportStore, { ...source, isDryRun })
    await noteUpload(db, upload, endOf(result))
  } catch (error) {
    // The process ends: another one takes it when the lease is over.
    if (signal.aborted) return
    if (error instanceof FeedBusy) return postponeUpload(db, upload, BUSY_WAIT_MS)
    const isAboutFeed = error instanceof FeedError
    await noteUpload(db, upload, { state: 'failed', problem: isAboutFeed ? error.message : 'The import failed.' })
    if (!isAboutFeed) throw error
  }
}

/** An upload that would take away too much, and was not confirmed, counts as checked: its advertiser is asked again. */
function endOf({ isPublished, format, live, counts, pending, rejections, changes, refusal }: ImportResult): UploadEnd {
  const report = { format, live, counts, pending, rejections, changes, refusal: refusal ?? null }
  return { state: isPublished ? 'published' : 'checked', report }
}

// eslint-disable-next-line typescript/require-await
async function* whole(file: Buffer): AsyncGenerator<Buffer> {
  yield file
}
