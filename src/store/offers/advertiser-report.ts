import { nameOfRow, reportRowsOf, SERVES_MIN, type ReportRow } from '../../rules/recommendations/advertiser-report.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import type { Db } from '../database.ts'
import { namesOf, readAdvertiserDaysThrough, sumAdvertiserDays, type ReportAsked } from './advertiser-days.ts'

export interface NamedRow extends ReportRow {
  name: string
}

export interface AdvertiserReport {
  rows: NamedRow[]
  /** Until when everything is in it; null: nothing yet. */
  through: Date | null
}

/** Reads the report that an advertiser asks for. The same in the console and at the command line. */
export async function readAdvertiserReport(db: Db, asked: Omit<ReportAsked, 'servesMin'>): Promise<AdvertiserReport> {
  const { by } = asked
  // A month is kept for as long as one of its days. Days that are forgotten are not told.
  const firstKept = new Date(Date.now() - KEPT_MS.advertiserDays).toISOString().slice(0, 10)
  const from = asked.from < firstKept ? firstKept : asked.from
  const rows = reportRowsOf(await sumAdvertiserDays(db, { ...asked, from, servesMin: SERVES_MIN }), by)
  const ids = rows.flatMap(({ key }) => key ?? [])
  const names = by === 'campaign' || by === 'offer' ? await namesOf(db, by, ids) : new Map<string, string>()
  return {
    rows: rows.map((row) => Object.assign(row, { name: nameOfRow(by, row.key, names) })),
    through: await readAdvertiserDaysThrough(db),
  }
}
