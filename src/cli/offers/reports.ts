import type { Command } from 'commander'
import { listReports } from '../../store/recommendations/reader-reports.ts'
import { rowsOf } from '../arguments.ts'
import { table, type Output } from '../print.ts'
import { addCommand, withStore, type Session } from '../session.ts'

const ROWS_SHOWN = 50

export function addOfferReportsCommand(offers: Command): void {
  addCommand(offers, 'reports', 'show undecided reports from readers, by project', 'parley offers reports')
    .option('--limit <rows>', `how many (default: ${ROWS_SHOWN})`, rowsOf)
    .action(withStore(reports))
}

async function reports({ db }: Session, { limit = ROWS_SHOWN }: { limit?: number }): Promise<Output> {
  const found = await listReports(db, limit)
  const rows = found.map(({ offer, project, advertiser, headline, reports: count, reasons, lastAt, isStopped }) => ({
    offer,
    advertiser,
    headline,
    project,
    reports: count,
    reasons: reasons.map((reason) => reason.replaceAll('_', ' ')).join(', '),
    last: lastAt,
    stopped: isStopped ? 'yes, in this project' : 'no',
  }))
  const shown = table(rows, 'There are no undecided reports.')
  const next =
    'Look at one with: parley offers show OFFER\nThen decide with: parley offers review approve OFFER, or reject'
  return {
    document: found.map(({ lastAt, isStopped, ...report }) =>
      Object.assign(report, { last_at: lastAt, is_stopped: isStopped }),
    ),
    text: rows.length === 0 ? shown : `${shown}\n\n${next}`,
  }
}
