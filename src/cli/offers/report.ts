import { Option, type Command } from 'commander'
import { DAY_MS } from '../../rules/durations.ts'
import { formatCredits } from '../../rules/money.ts'
import {
  labelOfClicks,
  REPORT_KEYS,
  SERVES_MIN,
  type ReportKey,
} from '../../rules/recommendations/advertiser-report.ts'
import { readAdvertiserReport, type NamedRow } from '../../store/offers/advertiser-report.ts'
import { readLimits } from '../../store/offers/campaign-limits.ts'
import { rowsOf, wholeNumber } from '../arguments.ts'
import { CliError } from '../failures.ts'
import { ago, table, type Output } from '../print.ts'
import { addCommand, withStore, type Session } from '../session.ts'
import { advertiserOf } from './advertisers.ts'
import { campaignOf, limitedBy } from './campaigns.ts'

const DAYS_DEFAULT = 30
const DAYS_MAX = 365
const ROWS_SHOWN = 50

/** Adds the report that an advertiser gets of its recommendations. */
export function addAdvertiserReportCommand(advertiser: Command): void {
  addCommand(
    advertiser,
    'report',
    'show recommendations, clicks and spend',
    'parley advertiser report "Acme Audio" --by hint --days 30',
  )
    .argument('<advertiser>', 'its name or id')
    .addOption(new Option('--by <what>', 'what each row is').choices(REPORT_KEYS).default('campaign'))
    .option('--days <days>', `how many days, today included (default: ${DAYS_DEFAULT})`, wholeNumber(1, DAYS_MAX))
    .option('--campaign <campaign>', 'only this one: its name or id')
    .option('--limit <rows>', `how many rows (default: ${ROWS_SHOWN})`, rowsOf)
    .action(withStore(report))
}

interface ReportOptions {
  by: ReportKey
  days?: number
  campaign?: string
  limit?: number
}

async function report({ db }: Session, which: string, options: ReportOptions): Promise<Output> {
  const { by, days = DAYS_DEFAULT, limit: most = ROWS_SHOWN } = options
  const advertiser = await advertiserOf(db, which)
  const campaign = options.campaign === undefined ? undefined : await campaignOf(db, options.campaign, advertiser.id)
  if (campaign && campaign.advertiser_id !== advertiser.id)
    throw new CliError(`This campaign does not belong to ${advertiser.name}. List campaigns with: parley campaign list`)
  const [from, to] = [days - 1, 0].map((before) => new Date(Date.now() - before * DAY_MS).toISOString().slice(0, 10))
  const asked = { advertiserId: advertiser.id, campaignId: campaign?.id, by, from: String(from), to: String(to), most }
  const { rows, through } = await readAdvertiserReport(db, asked)
  const ids = rows.flatMap(({ key }) => key ?? [])
  const limits = by === 'campaign' ? await readLimits(db, ids, Date.now()) : undefined
  const named = rows.map(({ key: id, ...row }) => {
    return Object.assign({ id }, row, limits && id !== null && { limitedBy: limitedBy(limits.get(id)) })
  })
  const counted =
    through === null ? 'Nothing has been counted yet: a worker does that.' : `Counted until ${ago(through)}.`
  return {
    document: { advertiser: advertiser.name, by, from, counted_through: through, rows: named },
    text: `${table(named.map(lineOf), 'Nothing was recommended in this time.')}\n\n${counted}`,
  }
}

function lineOf(row: Omit<NamedRow, 'key'> & { limitedBy?: string | undefined }) {
  const { name, serves, validClicks, otherClicks, conversions, spentNanos, averageNanos, limitedBy: limit } = row
  const others = Object.entries(otherClicks ?? {}).map(
    ([verdict, times]) => `${times} ${labelOfClicks(verdict).toLowerCase()}`,
  )
  return {
    name,
    serves: serves ?? `fewer than ${SERVES_MIN}`,
    clicks: validClicks,
    'not paid for': others.length === 0 ? null : others.join(', '),
    conversions,
    spent: formatCredits(spentNanos),
    'per click': averageNanos === null ? null : formatCredits(averageNanos),
    ...(limit !== undefined && { 'limited by': limit }),
  }
}
