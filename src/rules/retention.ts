import { DAY_MS } from './durations.ts'

/**
 * How long what grows is kept, where nobody chooses it: text of conversations is each project's choice. docs/operations.md
 * says of every table what bounds it.
 */
export const KEPT_MS = {
  /** The longest time over which attempts are counted. */
  throttles: DAY_MS,
  /** After their end: whoever wonders why a page stopped working still finds what its session came to. */
  browserSessions: DAY_MS,
  /** Far beyond any lease, so that whoever looks for a gateway that died today still finds it. */
  gateways: DAY_MS,
  /** People who ask for it again find that it has ended, and can be invited again. */
  invitations: 30 * DAY_MS,
  /** Providers bill by the month: whoever questions an invoice of the last quarter still finds what was odd. */
  usageAnomalies: 90 * DAY_MS,
  /** A quarter of imports to compare with. The newest run of each feed stays, however old. */
  feedRuns: 90 * DAY_MS,
  /** Long enough to look at what it would change, and to publish it. */
  feedUploads: DAY_MS,
  /**
   * Offers that return within a month keep their id, review and vector. A matcher that was away for longer builds its index
   * again.
   */
  removedOffers: 30 * DAY_MS,
  /** The version before finds its vectors when somebody goes back to it. */
  replacedEncoders: 7 * DAY_MS,
  /** The span that can be asked for by hour, and as much again to compare it with: src/rules/billing/usage-spans.ts. */
  usageHours: 105 * DAY_MS,
  /** The status page lists a week of incidents. */
  availabilitySlots: 8 * DAY_MS,
  /** The days that the status page shows, and today. */
  availabilityDays: 91 * DAY_MS,
  /** After an end user's last call, and of each day's sums: publishers see a month. One with limits of its own stays. */
  endUsers: 90 * DAY_MS,
  /** Longer than a worker lags behind with adding up calls, and a call may take. */
  erasures: 7 * DAY_MS,
  /** The console shows a month at most; a quarter can still be compared by hand. */
  recommendationOutcomes: 90 * DAY_MS,
  /** A quarter, as with outcomes: a report that nobody looked at in that time says little of the offer as it is now. */
  readerReports: 90 * DAY_MS,
  /** A year can be compared with the one before by whoever keeps its reports. */
  advertiserDays: 366 * DAY_MS,
  /** A month in which whoever wonders why an event does not count still finds it. */
  uncountedConversions: 30 * DAY_MS,
  /** Campaigns are told of a week of what limits them; a month can be looked at by hand. */
  campaignChances: 30 * DAY_MS,
  /** As long as the console shows them: a field that was not sent for a month is mended. */
  ignoredFields: 30 * DAY_MS,
  /** An integration is mended within days, and what is older says nothing of how it is now. */
  refusedRequests: 14 * DAY_MS,
  /** A month in which what an endpoint has missed can be sent again. */
  webhookEvents: 30 * DAY_MS,
  /** After they are over: a quarter to look back on. */
  alerts: 90 * DAY_MS,
  /**
   * For conversations that go on for years: messages this old have lost their text, which is kept for a year at most. A
   * caller that still sends one back then is taken to say it for the first time.
   */
  messages: 366 * DAY_MS,
} as const

/** Defaults of what operators choose, in days. */
export const KEPT_DAYS = {
  /** After its last call. Longer where its project keeps text for longer. */
  conversations: 90,
  /** The recipient and the time of a mail, for people who ask why none came. Its text is deleted when it is sent. */
  mails: 30,
} as const
