/** Why a feed as a whole cannot be read, in a sentence that says what to do. Items have verdicts instead. */
export class FeedError extends Error {}

/** Somebody else imports this feed now: the same file can be taken in when they have ended. */
export class FeedBusy extends FeedError {}
