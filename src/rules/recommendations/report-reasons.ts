/** Why a reader reports an advertisement, if they say so, in the order in which they are asked. */
export const REPORT_REASONS = {
  misleading: 'It is misleading',
  out_of_place: 'It should not stand beside this conversation',
  offensive: 'It is offensive',
  scam: 'It looks like a scam',
  other: 'Another reason',
} as const

export type ReportReason = keyof typeof REPORT_REASONS

/** Null: none that we know. */
export function reportReasonOf(text: string | null): ReportReason | null {
  return text !== null && Object.hasOwn(REPORT_REASONS, text) ? (text as ReportReason) : null
}

/** So many stop an offer in a project, each of another recommendation and from another network: functions/recommendation_report.sql. */
export const REPORTS_TO_STOP = 3
