import type { FetchFeed } from '../../actions/offers/fetch-feed.ts'
import { FEED_FORMAT_WORDS } from '../../recommend/feeds/feed-format.ts'
import { openFeed } from '../../recommend/feeds/feed-items.ts'
import { feedTextOf } from '../../recommend/feeds/feed-text.ts'
import { FeedError } from '../../rules/offers/feed-error.ts'

export interface CheckedAddress {
  /** In words; null: a file of products is there. */
  problem: string | null
  format: string | null
}

/** Whether the beginning of a feed is at an address, which is fetched as workers do: nobody is led to a machine of ours. */
export async function checkFeedAddress(fetchFeed: FetchFeed, url: string): Promise<CheckedAddress> {
  const fetched = await fetchFeed({ url, etag: null, lastModified: null }, new AbortController().signal)
  if (!('bytes' in fetched)) return unusable('problem' in fetched ? fetched.problem : 'Its server sends no file.')
  try {
    const { format, items } = await openFeed(feedTextOf(fetched.bytes))
    for await (const _ of items) return { problem: null, format: FEED_FORMAT_WORDS[format] }
    return unusable('The file holds no products.')
  } catch (error) {
    if (!(error instanceof FeedError)) throw error
    return unusable(error.message)
  } finally {
    fetched.close()
  }
}

function unusable(problem: string): CheckedAddress {
  return { problem, format: null }
}
