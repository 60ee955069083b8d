import { PARLEY } from '../../actions/actor.ts'
import { recordPublishedFeed } from '../../actions/offers/feeds.ts'
import { importFeed, type ImportResult } from '../../recommend/feeds/import-feed.ts'
import type { Store } from '../../store/database.ts'

export interface FileToImport {
  advertiserId: string
  advertiser: string
  /** The advertiser's. */
  domain: string
  campaignId: string
  feed: { id?: string; name: string }
  currency: string | null
  bytes: AsyncIterable<Buffer>
  isDryRun?: boolean
  isRemovalConfirmed: boolean
  signal?: AbortSignal
}

/** Imports the file of an advertiser over connections of its own, whose statements may take long. */
export async function importFile(openImportStore: () => Store, file: FileToImport): Promise<ImportResult> {
  // Loads tables for a third of a second, which only those need who import.
  const { foreignLanguageOf } = await import('../../recommend/feeds/item-language.ts')
  const { advertiserId, advertiser, domain, campaignId, feed, currency, bytes, isDryRun, isRemovalConfirmed, signal } =
    file
  const store = openImportStore()
  try {
    return await importFeed({
      db: store.db,
      feed: { ...feed, advertiserId, campaignId },
      terms: { domain, languageOf: foreignLanguageOf, ...(currency !== null && { currency }) },
      bytes,
      isDryRun: isDryRun ?? false,
      isRemovalConfirmed,
      ...(signal && { signal }),
      async onPublished(tx, counts) {
        // Every hour the same again is nothing that anybody has done.
        if (counts.added + counts.changed + counts.removed === 0) return
        await recordPublishedFeed(tx, PARLEY, { advertiser: { name: advertiser }, feed: feed.name, counts })
      },
    })
  } finally {
    await store.close()
  }
}
