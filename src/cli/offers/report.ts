import { Option, type Command } from 'commander'
import { DAY_MS } from '../../rules/durations.ts'
import { formatCredits } from '../../rules/money.ts'
import { reportRowsOf, SERVES_MIN, type ReportRow } from '../../rules/recommendations/advertiser-report.ts'
import {
  namesOf,
  readAdvertiserDaysThrough,
  REPORT_KEYS,
  sumAdvertiserDays,
  type ReportKey,
} from '../../store/offers/advertiser-days.ts'
import { readFunds } from '../../store/offers/campaign-funds.ts'
import type { Db } from '../../store/database.ts'
import { rowsOf, wholeNumber } from '../arguments.ts'
import { CliError } from '../failures.ts'
import { ago, table, type Output } from '../print.ts'
import { addCommand, withStore, type Session } from '../session.ts'
import { advertiserOf } from './advertisers.ts'
import { campaignOf, limitedBy } from './campaigns.ts'

const DAYS_DEFAULT = 30
const DAYS_MAX = 365
const ROWS_SHOWN = 50

/** What an advertiser is told of its recommendations. */
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
    throw new CliError(`This campaign is not one of ${advertiser.name}. List them with: parley campaign list`)
  const from = new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10)
  const asked = { advertiserId: advertiser.id, campaignId: campaign?.id, by, from, servesMin: SERVES_MIN, most }
  const sums = await sumAdvertiserDays(db, asked)
  const through = await readAdvertiserDaysThrough(db)
  const rows = await namedRows(db, by, reportRowsOf(sums))
  const counted = through === null ? 'Nothing was added up yet: a worker does it.' : `Counted until ${ago(through)}.`
  return {
    document: { advertiser: advertiser.name, by, from, counted_through: through, rows },
    text: `${table(rows.map(lineOf), 'Nothing was recommended in this time.')}\n\n${counted}`,
  }
}

interface NamedRow extends Omit<ReportRow, 'key'> {
  id: string | null
  name: string
  limitedBy: string | undefined
}

async function namedRows(db: Db, by: ReportKey, rows: readonly ReportRow[]): Promise<NamedRow[]> {
  const ids = rows.flatMap(({ key }) => key ?? [])
  const names = by === 'campaign' || by === 'offer' ? await namesOf(db, by, ids) : undefined
  const funds = by === 'campaign' ? await readFunds(db, ids) : undefined
  return rows.map(({ key, ...row }) => ({
    id: key,
    name: nameOf(by, key, names),
    ...row,
    limitedBy: funds && key !== null ? limitedBy(funds.get(key)) : undefined,
  }))
}

function nameOf(by: ReportKey, key: string | null, names: ReadonlyMap<string, string> | undefined): string {
  if (key === null) return 'all others'
  if (names) return names.get(key) ?? `removed (${key})`
  if (key !== '') return key
  return by === 'hint' ? "the offer's own words" : 'none'
}

function lineOf({ name, serves, validClicks, otherClicks, spentNanos, averageNanos, limitedBy: limit }: NamedRow) {
  const others = Object.entries(otherClicks ?? {}).map(([verdict, times]) => `${times} ${verdict.replaceAll('_', ' ')}`)
  return {
    name,
    serves: serves ?? `fewer than ${SERVES_MIN}`,
    clicks: validClicks,
    'not paid for': others.length === 0 ? null : others.join(', '),
    spent: formatCredits(spentNanos),
    'per click': averageNanos === null ? null : formatCredits(averageNanos),
    ...(limit !== undefined && { 'limited by': limit }),
  }
}
