/** The most rows of lists that have no pages: more than a person reads, and few enough for one answer. */
export const LISTED_MAX = 1_000
