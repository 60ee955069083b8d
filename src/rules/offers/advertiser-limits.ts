/** How much of what an advertiser may have and send. Operators give feeds without these. */

/** Matchers compare all hints there are, and have room for so many: nobody takes it from the others. */
export const CAMPAIGNS_MAX = 100
export const FEEDS_MAX = 20
/** As it is sent; browsers pack it first, so that it is about ten times as much. Larger ones are fetched from an address. */
export const UPLOAD_BYTES_MAX = 10 * 1024 * 1024
/** For files that are being published: each is kept whole until a worker has read it. */
export const UPLOADS_PUBLISHING_MAX = 3
