import type { FastifyInstance } from 'fastify'
import { wrongFields } from '../../actions/refusals.ts'
import { DAY_MS } from '../../rules/durations.ts'
import { spanOf, type Span } from '../../rules/billing/usage-spans.ts'
import { CLICK_VERDICTS } from '../../rules/clicks/verdict.ts'
import { csvOf } from '../../rules/csv.ts'
import { formatAmount } from '../../rules/money.ts'
import { labelOfClicks, totalOf, type ReportKey } from '../../rules/recommendations/advertiser-report.ts'
import type { Db } from '../../store/database.ts'
import { readAdvertiserReport, type AdvertiserReport } from '../../store/offers/advertiser-report.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

/** More than anybody reads on a page; those beyond it are in the row of all others. Days are never so many. */
const ROWS_SHOWN = 100
/** Each costs names and clicks of its own: of 50,000 offers, three times as many took 0.4 s. */
const ROWS_IN_FILE = 1_000
const DAYS_SHOWN = 400

interface Asked {
  by: ReportKey
  campaign?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

export function advertiserReportRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/advertisers/:advertiser/report', async ({ db, advertiser, query }) => {
    const span = spanAsked(query)
    const { rows, through } = await read(db, advertiser.id, { ...query, span }, ROWS_SHOWN)
    return {
      by: query.by,
      from: span.from,
      to: span.to,
      countedUntil: through,
      total: totalOf(rows),
      rows: rows.map((row) => Object.assign(row, { otherClicks: row.otherClicks && labelled(row.otherClicks) })),
    }
  })

  route(app, world, 'GET /api/advertisers/:advertiser/report.csv', async ({ db, advertiser, query }) => {
    const { rows } = await read(db, advertiser.id, { ...query, span: spanAsked(query) }, ROWS_IN_FILE)
    return csvOfReport(query.by, rows)
  })
}

function spanAsked({ from, to }: Asked): Span {
  const span = spanOf({ from, to, every: 'day' }, new Date())
  if (typeof span === 'string') throw wrongFields([{ path: 'from', message: span }])
  return span
}

/** Another advertiser's campaign is one of which there is nothing. */
function read(
  db: Db,
  advertiserId: string,
  { by, campaign: campaignId, span }: Asked & { span: Span },
  most: number,
): Promise<AdvertiserReport> {
  const days = { from: dayOf(span.from), to: dayOf(new Date(span.to.getTime() - DAY_MS)) }
  return readAdvertiserReport(db, { advertiserId, campaignId, by, ...days, most: by === 'day' ? DAYS_SHOWN : most })
}

function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10)
}

function labelled(otherClicks: Record<string, bigint>) {
  return Object.entries(otherClicks).map(([verdict, clicks]) => ({ verdict, label: labelOfClicks(verdict), clicks }))
}

/** Verdicts that an advertiser is told of: what a publisher tries out is nothing to it. */
const VERDICTS_TOLD = [...CLICK_VERDICTS.filter((verdict) => verdict !== 'valid' && verdict !== 'test'), 'reversed']

function csvOfReport(by: ReportKey, rows: AdvertiserReport['rows']): string {
  const header = [by, 'id', 'recommendations', 'paid clicks']
    .concat(VERDICTS_TOLD.map((verdict) => `clicks: ${labelOfClicks(verdict)}`))
    .concat(['conversions', 'spent (USD)', 'per paid click (USD)'])
  const hasIds = by === 'campaign' || by === 'offer'
  const cells = rows.map((row) => {
    const counts = [row.serves, row.validClicks]
      .concat(VERDICTS_TOLD.map((verdict) => row.otherClicks && (row.otherClicks[verdict] ?? 0n)))
      .concat(row.conversions)
    return [row.name, hasIds ? row.key : null]
      .concat(counts.map((count) => (count === null ? null : String(count))))
      .concat([formatAmount(row.spentNanos), row.averageNanos === null ? null : formatAmount(row.averageNanos)])
  })
  return csvOf(header, cells)
}
