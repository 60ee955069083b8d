import type { FeedFields } from '../../rules/feed-item.ts'

/** An item, or why it could not be read at all. */
export type FeedItem = { fields: FeedFields } | { problem: string }

/** Why a feed as a whole cannot be read, in a sentence that says what to do. Items have verdicts instead. */
export class FeedError extends Error {}
