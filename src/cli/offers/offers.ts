import { Argument, Option, type Command } from 'commander'
import { reviewOffers, type ReadOffer } from '../../actions/offers/offers.ts'
import type { Db } from '../../store/database.ts'
import { findFeed, listFeedRuns, type Rejection } from '../../store/offers/feeds.ts'
import { findOffer, listOffers, type Review } from '../../store/offers/offers.ts'
import { advertiserOf } from './advertisers.ts'
import { rowsOf } from '../arguments.ts'
import { CliError, isId, unknownId } from '../failures.ts'
import { addOfferImportCommand } from './feed-import.ts'
import { facts, table, type Output } from '../print.ts'
import { addOfferReportsCommand } from './reports.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

const REVIEWS: readonly Review[] = ['approved', 'pending', 'rejected']
const ROWS_SHOWN = 50
const REASON_CHARS_MAX = 500

export function addOfferCommands(program: Command): void {
  const offers = program.command('offers').description("advertisers' products")
  addOfferImportCommand(offers)
  addCommand(offers, 'list', 'show offers, the oldest first', 'parley offers list --advertiser "Acme Audio"')
    .option('--advertiser <advertiser>', 'only those of this advertiser: its name or id')
    .addOption(new Option('--review <state>', 'only those in this state').choices(REVIEWS))
    .option('--removed', 'include offers that are no longer in their feeds')
    .option('--limit <rows>', `how many (default: ${ROWS_SHOWN})`, rowsOf)
    .action(withStore(list))
  addCommand(
    offers,
    'show',
    'show one offer as readers see it, and whether it can be recommended',
    'parley offers show QC45-BLK --advertiser "Acme Audio"',
  )
    .argument('<offer>', "its id, or the advertiser's own id for it")
    .option('--advertiser <advertiser>', "whose it is, if you give the advertiser's id")
    .action(withStore(show))
  addCommand(
    offers,
    'review',
    'decide on offers that need a person, or that readers reported; it holds until their text changes',
    `parley offers review approve ${EXAMPLE_ID}`,
  )
    .addArgument(new Argument('<decision>').choices(['approve', 'reject']))
    .argument('<offers...>', 'their ids, as "parley offers list --review pending" prints them')
    .option('--reason <text>', 'for the advertiser')
    .action(withStore(review))
  addOfferReportsCommand(offers)
  addCommand(offers, 'runs', 'show the last imports', 'parley offers runs --advertiser "Acme Audio" --feed main')
    .option('--advertiser <advertiser>', 'whose feed, with --feed')
    .option('--feed <name>', 'only those of this feed')
    .option('--limit <rows>', `how many (default: ${ROWS_SHOWN})`, rowsOf)
    .action(withStore(runs))
}

interface ListOptions {
  advertiser?: string
  review?: Review
  removed?: boolean
  limit?: number
}

async function list({ db }: Session, options: ListOptions): Promise<Output> {
  const advertiser = options.advertiser === undefined ? undefined : await advertiserOf(db, options.advertiser)
  const offers = await listOffers(db, {
    ...(advertiser && { advertiserId: advertiser.id }),
    ...(options.review && { review: options.review }),
    isRemovedToo: options.removed ?? false,
    limit: options.limit ?? ROWS_SHOWN,
  })
  return {
    document: offers.map(withReviewId),
    text: table(
      offers.map((offer) => ({
        id: offer.review === 'pending' ? reviewIdOf(offer) : offer.id,
        advertiser: offer.advertiser,
        item: offer.item_id,
        headline: offer.headline,
        price: priceOf(offer),
        availability: offer.availability,
        review: offer.review === 'approved' ? offer.review : `${offer.review} (${offer.review_reason ?? '-'})`,
        removed: offer.removed_at,
      })),
      'There are no such offers. Import a feed with: parley offers import --help',
    ),
  }
}

/** Names an offer and the words of it that were read, so that they cannot be exchanged before the decision. */
function reviewIdOf({ id, words_mark: mark }: { id: string; words_mark: string }): string {
  return `${id}.${mark}`
}

function withReviewId<Row extends { id: string; words_mark: string }>({ words_mark, ...offer }: Row) {
  return { ...offer, review_id: reviewIdOf({ id: offer.id, words_mark }) }
}

function priceOf({ price, currency }: { price: string | null; currency: string | null }): string | null {
  return price === null ? null : `${price} ${currency ?? ''}`.trim()
}

type Offer = NonNullable<Awaited<ReturnType<typeof findOffer>>>

async function offerOf(db: Db, which: string, advertiser: string | undefined): Promise<Offer> {
  if (advertiser !== undefined) {
    const { id: advertiserId, name } = await advertiserOf(db, advertiser)
    const found = await findOffer(db, { advertiserId, itemId: which })
    if (found) return found
    throw new CliError(`${name} has no item "${which}". List them with: parley offers list`)
  }
  const [id = ''] = which.split('.')
  if (!isId(id)) {
    throw new CliError(
      `Name the advertiser of "${which}" with --advertiser, or give the offer's id: parley offers list`,
    )
  }
  const found = await findOffer(db, { id })
  if (!found) throw unknownId('offer', which)
  return found
}

async function show({ db }: Session, which: string, options: { advertiser?: string }): Promise<Output> {
  const offer = await offerOf(db, which, options.advertiser)
  const obstacles = obstaclesOf(offer)
  const { content_hash: _, text_hash: __, changed_in: ___, ...document } = offer
  return {
    document: { ...withReviewId(document), is_recommendable: obstacles.length === 0, obstacles },
    text: facts({
      id: offer.id,
      advertiser: offer.advertiser,
      campaign: offer.campaign,
      feed: offer.feed,
      item: offer.item_id,
      headline: offer.headline,
      benefit: offer.benefit,
      price: priceOf(offer),
      link: offer.link,
      category: offer.category,
      availability: offer.availability,
      review: offer.review,
      'review reason': offer.review_reason,
      'id for review': reviewIdOf(offer),
      'fresh until': offer.expires_at,
      recommendable: obstacles.length === 0 ? 'yes, where it fits' : `no: ${obstacles.join('; ')}`,
    }),
  }
}

/** All that keeps it from being recommended, and that an operator or an advertiser can mend. */
function obstaclesOf(offer: Offer): string[] {
  const checks: [boolean, string][] = [
    [offer.removed_at !== null, 'no longer in its feed'],
    [offer.review !== 'approved', `its review is ${offer.review}`],
    [offer.availability !== 'in_stock', `it is ${offer.availability.replaceAll('_', ' ')}`],
    [offer.expires_at === null || offer.expires_at.getTime() < Date.now(), 'its feed is older than 30 days'],
    [offer.campaign_status !== 'active', `its campaign is ${offer.campaign_status}`],
    [offer.advertiser_status !== 'active', `its advertiser is ${offer.advertiser_status}`],
  ]
  return checks.flatMap(([isObstacle, words]) => (isObstacle ? [words] : []))
}

async function review(
  { actor, change }: Session,
  decision: 'approve' | 'reject',
  ids: string[],
  options: { reason?: string },
): Promise<Output> {
  const reason = options.reason ?? null
  if (reason !== null && (reason === '' || reason.length > REASON_CHARS_MAX)) {
    throw new CliError(`A reason has 1 to ${REASON_CHARS_MAX} characters. Correct it.`)
  }
  const verdict = decision === 'approve' ? 'approved' : 'rejected'
  const offers = [...new Set(ids.map((id) => id.toLowerCase()))].map(readOfferOf)
  await change((tx) => reviewOffers(tx, actor, { offers, decision: verdict, reason }))
  return {
    document: { review: verdict, reason, offers: offers.map(({ id }) => id) },
    text: `${offers.length} ${verdict}.`,
  }
}

function readOfferOf(text: string): ReadOffer {
  const [id = '', wordsMark] = text.split('.')
  if (isId(id)) return { id, wordsMark }
  throw new CliError(`"${text}" is not the id of an offer. List them with: parley offers list --review pending`)
}

interface RunsOptions {
  advertiser?: string
  feed?: string
  limit?: number
}

async function runs({ db }: Session, options: RunsOptions): Promise<Output> {
  const found = await listFeedRuns(db, {
    ...(options.feed !== undefined && { feedId: await feedIdOf(db, options.feed, options.advertiser) }),
    limit: options.limit ?? ROWS_SHOWN,
  })
  const [latest] = found
  const rejections = options.feed === undefined || latest === undefined ? [] : (latest.rejections as Rejection[])
  const rows = table(
    found.map((run) => ({
      started: run.started_at,
      advertiser: run.advertiser,
      feed: run.feed,
      format: run.format,
      state: run.state,
      rows: run.rows_read,
      added: run.added,
      changed: run.changed,
      unchanged: run.unchanged,
      rejected: run.rejected,
      missing: run.missing,
      removed: run.removed,
      reason: run.reason,
    })),
    'No feed was imported yet. Run "parley offers import --help" to see how.',
  )
  return {
    document: found,
    text: rejections.length === 0 ? rows : `${rows}\n\nRejected by the last run:\n${rejectionTable(rejections)}`,
  }
}

async function feedIdOf(db: Db, name: string, advertiser: string | undefined): Promise<string> {
  if (advertiser === undefined) throw new CliError('Name the advertiser of the feed with --advertiser.')
  const { id } = await advertiserOf(db, advertiser)
  const feed = await findFeed(db, id, name)
  if (!feed) throw unknownId('feed', `"${name}"`)
  return feed.id
}

function rejectionTable(rejections: readonly Rejection[]): string {
  return table(
    rejections.map(({ row, item, reason }) => ({ row, item, reason })),
    '',
  )
}
