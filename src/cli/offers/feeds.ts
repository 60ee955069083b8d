import { InvalidArgumentError, Option, type Command } from 'commander'
import { addFeed, changeFeed, runFeed, stopFeed } from '../../actions/offers/feeds.ts'
import { FEED_INTERVALS, feedUrlOf, type FeedInterval } from '../../rules/offers/feed-schedule.ts'
import type { Db } from '../../store/database.ts'
import { listFeeds } from '../../store/offers/feed-schedule.ts'
import { currencyOf, nameOf } from '../arguments.ts'
import { CliError, unknownId } from '../failures.ts'
import { ago, table, type Output } from '../print.ts'
import { addChange, addCommand, withStore, type Session } from '../session.ts'
import { advertiserOf } from './advertisers.ts'
import { campaignOf } from './campaigns.ts'

export function addFeedCommands(program: Command): void {
  const feed = program.command('feed').description('product feeds that a worker fetches from an address')
  addChange(
    feed,
    'add',
    'have a feed fetched regularly; the first time within seconds',
    'parley feed add main --advertiser "Acme Audio" --campaign "Headphones" --url https://acme-audio.example/feed.xml --every daily',
  )
    .argument('<name>', 'a new one, or one whose files were imported by hand', nameOf)
    .requiredOption('--advertiser <advertiser>', 'its name or id')
    .requiredOption('--campaign <campaign>', 'its name or id: all offers of the feed belong to it')
    .requiredOption('--url <url>', 'where the file is: https, at a public address', urlOf)
    .addOption(new Option('--every <interval>', 'how often').choices(FEED_INTERVALS).default('daily'))
    .option('--currency <code>', 'for prices without one, as in Shopify files', currencyOf)
    .action(withStore(add))
  addChange(
    feed,
    'set',
    'change where or how often a feed is fetched',
    'parley feed set main --advertiser "Acme Audio" --every hourly',
  )
    .argument('<name>', 'its name')
    .requiredOption('--advertiser <advertiser>', 'its name or id')
    .option('--campaign <campaign>', 'its name or id')
    .option('--url <url>', 'where the file is, or "none" to stop fetching it', (text) =>
      text === 'none' ? text : urlOf(text),
    )
    .addOption(new Option('--every <interval>', 'how often').choices(FEED_INTERVALS))
    .option('--currency <code>', 'for prices without one', currencyOf)
    .action(withStore(set))
  addCommand(feed, 'list', 'show all feeds and how fetching them went', 'parley feed list --advertiser "Acme Audio"')
    .option('--advertiser <advertiser>', 'only those of this advertiser: its name or id')
    .action(withStore(list))
  addChange(feed, 'run', 'have a feed fetched now', 'parley feed run main --advertiser "Acme Audio"')
    .argument('<name>', 'its name')
    .requiredOption('--advertiser <advertiser>', 'its name or id')
    .option('--confirm-removal', 'continue even if more than 30% of the offers would be removed')
    .action(withStore(run))
}

function urlOf(text: string): string {
  const found = feedUrlOf(text)
  if ('problem' in found) throw new InvalidArgumentError(found.problem)
  return found.url
}

interface FeedOptions {
  advertiser: string
  campaign?: string
  url?: string
  every?: FeedInterval
  currency?: string
}

async function add(
  { db, actor, change }: Session,
  name: string,
  options: Required<Omit<FeedOptions, 'currency'>> & Pick<FeedOptions, 'currency'>,
): Promise<Output> {
  const advertiser = await advertiserOf(db, options.advertiser)
  const campaign = await ownCampaignOf(db, options.campaign, advertiser)
  const former = (await listFeeds(db, advertiser.id)).find((feed) => feed.name === name)
  if (former && former.source_url !== null)
    throw new CliError(`The feed "${name}" is already fetched. Change it with: parley feed set`)
  const source = { sourceUrl: options.url, interval: options.every, currency: options.currency ?? null }
  await change((tx) => addFeed(tx, actor, { advertiser, campaign, name, source }))
  return output(db, advertiser.id, name, 'It is fetched within seconds. See the result with: parley feed list')
}

async function set({ db, actor, change }: Session, name: string, options: FeedOptions): Promise<Output> {
  const advertiser = await advertiserOf(db, options.advertiser)
  const feed = await feedOf(db, advertiser.id, name)
  if (options.url === 'none') {
    await change((tx) => stopFeed(tx, actor, { id: feed.id, name, advertiser }))
    return output(db, advertiser.id, name, 'It is no longer fetched. Its offers stay until they are 30 days old.')
  }
  const { url = feed.source_url, every = feed.fetch_every, currency = feed.currency } = options
  if (url === null) throw new CliError('This feed has no address yet. Give it with --url.')
  const campaign = await ownCampaignOf(db, options.campaign ?? feed.campaign_id, advertiser)
  const source = { sourceUrl: url, interval: (every ?? 'daily') as FeedInterval, currency }
  await change((tx) => changeFeed(tx, actor, { id: feed.id, advertiser, campaign, name, source }))
  return output(db, advertiser.id, name, 'It is fetched within seconds.')
}

async function run(
  { db, actor, change }: Session,
  name: string,
  options: FeedOptions & { confirmRemoval?: boolean },
): Promise<Output> {
  const advertiser = await advertiserOf(db, options.advertiser)
  const feed = await feedOf(db, advertiser.id, name)
  const isRemovalConfirmed = options.confirmRemoval ?? false
  await change((tx) => runFeed(tx, actor, { id: feed.id, name, advertiser, isRemovalConfirmed }))
  return output(db, advertiser.id, name, 'It is fetched within seconds. See the result with: parley feed list')
}

async function ownCampaignOf(db: Db, which: string, advertiser: { id: string; name: string }) {
  const campaign = await campaignOf(db, which, advertiser.id)
  if (campaign.advertiser_id === advertiser.id) return campaign
  throw new CliError(`This campaign does not belong to ${advertiser.name}. List campaigns with: parley campaign list`)
}

type Listed = Awaited<ReturnType<typeof listFeeds>>[number]

async function feedOf(db: Db, advertiserId: string, name: string): Promise<Listed> {
  const found = (await listFeeds(db, advertiserId)).find((feed) => feed.name === name)
  if (!found) throw unknownId('feed', `"${name}"`)
  return found
}

async function output(db: Db, advertiserId: string, name: string, next: string): Promise<Output> {
  const feed = await feedOf(db, advertiserId, name)
  return { document: feed, text: `${textOf([feed])}\n\n${next}` }
}

async function list({ db }: Session, options: { advertiser?: string }): Promise<Output> {
  const advertiser = options.advertiser === undefined ? undefined : await advertiserOf(db, options.advertiser)
  const feeds = await listFeeds(db, advertiser?.id)
  return { document: feeds, text: textOf(feeds) }
}

function textOf(feeds: readonly Listed[]): string {
  return table(
    feeds.map((feed) => ({
      advertiser: feed.advertiser,
      campaign: feed.campaign,
      name: feed.name,
      every: feed.is_paused ? 'paused' : (feed.fetch_every ?? 'by hand'),
      address: feed.source_url,
      'last fetched': feed.last_fetch_at && ago(feed.last_fetch_at),
      outcome: feed.last_error === null ? feed.last_fetch : `${feed.last_fetch}: ${feed.last_error}`,
      next: feed.next_fetch_at,
      'fresh until': feed.expires_at,
    })),
    'There are no feeds yet. Run "parley feed add --help" to see how to add one.',
  )
}
