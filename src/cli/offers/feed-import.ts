import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Option, type Command } from 'commander'
import { MINUTE_MS } from '../../rules/durations.ts'
import { recordPublishedFeed } from '../../actions/offers/feeds.ts'
import { FEED_FORMATS, FEED_FORMAT_WORDS, type FeedFormat } from '../../recommend/feeds/feed-format.ts'
import { FeedError } from '../../rules/offers/feed-error.ts'
import { importFeed, type ImportResult, type Progress } from '../../recommend/feeds/import-feed.ts'
import { currencyOf, nameOf } from '../arguments.ts'
import { advertiserOf } from './advertisers.ts'
import { campaignOf } from './campaigns.ts'
import { CliError, codeOf } from '../failures.ts'
import { facts, table, type Output } from '../print.ts'
import { addChange, withStore, type Session } from '../session.ts'

const REJECTIONS_SHOWN = 20
const PROGRESS_EVERY_MS = 1_000
/** Publishing a million offers is one statement after another, each of up to a minute. */
const STATEMENT_TIMEOUT_MS = 30 * MINUTE_MS

export function addOfferImportCommand(offers: Command): void {
  addChange(
    offers,
    'import',
    "import an advertiser's feed: all of it is published together, or none of it",
    'parley offers import --advertiser "Acme Audio" --campaign "Headphones" --feed main products.tsv.gz',
  )
    .argument('<file>', 'the feed, optionally gzipped; "-" reads standard input')
    .requiredOption('--advertiser <advertiser>', 'its name or id')
    .requiredOption('--campaign <campaign>', 'its name or id: all offers of the feed belong to it')
    .requiredOption('--feed <name>', 'use the same name every time: offers no longer in the feed are removed', nameOf)
    .addOption(new Option('--format <format>', 'default: detected').choices(['auto', ...FEED_FORMATS]).default('auto'))
    .option('--currency <code>', 'for prices without one, as in Shopify files', currencyOf)
    .option('--dry-run', 'show what would happen, and change nothing')
    .option('--confirm-removal', 'continue even if more than 30% of the offers would be removed')
    .action(withStore(importOffers, { statementTimeoutMs: STATEMENT_TIMEOUT_MS }))
}

interface ImportOptions {
  advertiser: string
  campaign: string
  feed: string
  format: FeedFormat | 'auto'
  currency?: string
  dryRun?: boolean
  confirmRemoval?: boolean
}

async function importOffers({ db, actor }: Session, file: string, options: ImportOptions): Promise<Output> {
  const advertiser = await advertiserOf(db, options.advertiser)
  const campaign = await campaignOf(db, options.campaign, advertiser.id)
  if (campaign.advertiser_id !== advertiser.id) {
    throw new CliError(`This campaign does not belong to ${advertiser.name}. List campaigns with: parley campaign list`)
  }
  // Loads tables for a third of a second, for which no other command should wait.
  const { foreignLanguageOf } = await import('../../recommend/feeds/item-language.ts')
  const progress = progressReport()
  try {
    const result = await importFeed({
      db,
      feed: { advertiserId: advertiser.id, campaignId: campaign.id, name: options.feed },
      terms: {
        domain: advertiser.domain,
        languageOf: foreignLanguageOf,
        ...(options.currency !== undefined && { currency: options.currency }),
      },
      bytes: await bytesOf(file),
      ...(options.format !== 'auto' && { format: options.format }),
      isDryRun: options.dryRun ?? false,
      isRemovalConfirmed: options.confirmRemoval ?? false,
      onProgress: progress.see,
      onPublished: (tx, counts) => recordPublishedFeed(tx, actor, { advertiser, feed: options.feed, counts }),
    })
    progress.end()
    return outputOf(result, options, progress.rowsPerSecond())
  } catch (error) {
    progress.end()
    throw error instanceof FeedError ? new CliError(error.message) : error
  }
}

async function bytesOf(file: string): Promise<AsyncIterable<Buffer>> {
  if (file === '-') return process.stdin
  try {
    if ((await stat(file)).isDirectory()) throw new CliError(`${file} is a directory. Name the file of the feed.`)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    throw new CliError(`There is no file ${file}. Check the path.`)
  }
  return createReadStream(file)
}

/** One line that is written over on a terminal, and one every second in a log. Short imports say nothing. */
function progressReport() {
  const startedMs = Date.now()
  let saidMs = startedMs
  let rows = 0
  let hasSaid = false
  const isTerminal = process.stderr.isTTY
  const rowsPerSecond = () => Math.round(rows / Math.max(0.001, (Date.now() - startedMs) / 1_000))
  return {
    rowsPerSecond,
    see(progress: Progress) {
      rows = progress.rows
      if (Date.now() - saidMs < PROGRESS_EVERY_MS) return
      saidMs = Date.now()
      hasSaid = true
      const line = `${rows} rows read, ${progress.rejected} rejected, ${rowsPerSecond()} rows/s`
      process.stderr.write(isTerminal ? `\r${line}   ` : `${line}\n`)
    },
    end() {
      if (hasSaid && isTerminal) process.stderr.write('\n')
    },
  }
}

function outputOf(result: ImportResult, options: ImportOptions, rowsPerSecond: number): Output {
  const { counts, rejections, format, runId, refusal, isPublished, pending } = result
  const summary = facts({
    format: FEED_FORMAT_WORDS[format],
    rows: counts.rows,
    added: counts.added,
    changed: counts.changed,
    unchanged: counts.unchanged,
    rejected: counts.rejected,
    removed: counts.removed,
    missing: counts.missing,
    'to be reviewed': pending,
    'rows per second': rowsPerSecond,
  })
  const parts = [summary, rejectionText(result), ...notesOf(result), endOf(result, options)]
  return {
    document: {
      run_id: runId ?? null,
      format,
      published: isPublished,
      ...counts,
      pending,
      refusal: refusal ?? null,
      rejections,
    },
    text: parts.filter((part) => part !== '').join('\n\n'),
    ...(refusal !== undefined && { exitCode: 1 }),
  }
}

function rejectionText({ rejections, counts }: ImportResult): string {
  const shown = rejections.slice(0, REJECTIONS_SHOWN)
  if (shown.length === 0) return ''
  const rows = table(
    shown.map(({ row, item, reason }) => ({ row, item, reason })),
    '',
  )
  const more = counts.rejected - shown.length
  return more > 0 ? `${rows}\n… and ${more} more.` : rows
}

function notesOf({ counts, pending, isPublished }: ImportResult): string[] {
  return [
    counts.missing > 0
      ? `${counts.missing} offers are not in this run. They are removed if they are missing from the next run too.`
      : '',
    pending > 0 && isPublished ? `Review what is pending: parley offers list --review pending` : '',
  ]
}

function endOf({ refusal, isPublished }: ImportResult, { dryRun }: ImportOptions): string {
  if (refusal !== undefined) return `${refusal} If that is meant, say --confirm-removal.`
  if (dryRun) return 'Nothing was changed: this was a dry run.'
  return isPublished ? 'Published. Matchers follow within seconds.' : 'Nothing was changed.'
}
