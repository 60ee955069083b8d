/** How long an earned share is pending before it pays for calls: late invalid clicks are taken back until then. */
export const EARNINGS_PENDING_DAYS = 7
