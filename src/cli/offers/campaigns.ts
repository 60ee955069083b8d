import { Argument, InvalidArgumentError, Option, type Command } from 'commander'
import { changeCampaign, createCampaign } from '../../actions/offers/campaigns.ts'
import { formatCredits, type Nanos } from '../../rules/money.ts'
import { bidProblemOf, hintProblemOf, HINTS_MAX } from '../../rules/offers/campaign-settings.ts'
import { cleanCopy } from '../../rules/offers/copy.ts'
import type { CampaignLimit } from '../../rules/recommendations/chances.ts'
import { PACINGS, type Pacing } from '../../rules/recommendations/pacing.ts'
import { readLimits, type Limited } from '../../store/offers/campaign-limits.ts'
import { findCampaign, listCampaigns, type CampaignSettings } from '../../store/offers/campaigns.ts'
import type { Db } from '../../store/database.ts'
import { advertiserOf } from './advertisers.ts'
import { creditsOf, nameOf, timeOf } from '../arguments.ts'
import { CliError, isId, unknownId } from '../failures.ts'
import { facts, listing, type Output } from '../print.ts'
import { addChange, addCommand, withStore, type Session } from '../session.ts'

export function addCampaignCommands(program: Command): void {
  const campaign = program.command('campaign').description('what an advertiser pays, and who its offers are for')
  addSettings(
    addChange(
      campaign,
      'create',
      'add a campaign; feeds are imported into it',
      'parley campaign create "Headphones" --advertiser "Acme Audio" --bid 0.40 --hint "for people distracted by noise at home"',
    )
      .addArgument(new Argument('<name>', 'for you and the advertiser').argParser(nameOf))
      .requiredOption('--advertiser <advertiser>', 'its name or id')
      .requiredOption('--bid <credits>', 'the most it pays for a click', bidOf),
  ).action(withStore(create))
  addCommand(campaign, 'list', 'show campaigns', 'parley campaign list')
    .option('--advertiser <advertiser>', 'only those of this advertiser: its name or id')
    .action(withStore(list))
  addSettings(
    addChange(
      campaign,
      'set',
      'change its bid, dates and audience; matchers follow within seconds',
      'parley campaign set "Headphones" --advertiser "Acme Audio" --bid 0.55 --ends 2026-12-31',
    )
      .argument('<campaign>', 'its name or id')
      .option('--advertiser <advertiser>', 'whose it is, if you give a name')
      .option('--bid <credits>', 'the most it pays for a click', bidOf)
      .option('--clear-hints', 'remove all hints of both kinds'),
  ).action(withStore(set))
  for (const [verb, summary, status] of [
    ['pause', 'stop recommending its offers, within seconds', 'paused'],
    ['resume', 'resume it', 'active'],
  ] as const) {
    addChange(campaign, verb, summary, `parley campaign ${verb} "Headphones" --advertiser "Acme Audio"`)
      .argument('<campaign>', 'its name or id')
      .option('--advertiser <advertiser>', 'whose it is, if you give a name')
      .action(
        withStore(async ({ db, actor, change }: Session, which: string, options: { advertiser?: string }) => {
          const found = await campaignOf(db, which, options.advertiser)
          await change((tx) => changeCampaign(tx, actor, { campaign: found, settings: { status } }))
          return output(db, await campaignOf(db, found.id))
        }),
      )
  }
}

function addSettings(command: Command): Command {
  return command
    .option('--daily-budget <credits>', 'what may be spent in a day (UTC), or "none"', budgetOf)
    .option('--total-budget <credits>', 'what may be spent in total, or "none"', budgetOf)
    .addOption(
      new Option('--pacing <pacing>', 'how it spreads its daily budget over the day; even at first').choices(PACINGS),
    )
    .option('--starts <time>', 'when it begins, for example 2026-12-01, or "none"', endOf)
    .option('--ends <time>', 'when it ends, or "none"', endOf)
    .option('--hint <text>', 'who it is for, in plain words; can be repeated, and replaces all hints', hintsOf)
    .option(
      '--negative-hint <text>',
      'what it must not appear next to; can be repeated, and replaces all such hints',
      hintsOf,
    )
}

interface SettingsOptions {
  bid?: Nanos
  dailyBudget?: Nanos | 'none'
  totalBudget?: Nanos | 'none'
  pacing?: Pacing
  starts?: Date | 'none'
  ends?: Date | 'none'
  hint?: string[]
  negativeHint?: string[]
  clearHints?: boolean
}

function bidOf(text: string): Nanos {
  const bid = creditsOf(text)
  const problem = bidProblemOf(bid)
  if (problem !== undefined) throw new InvalidArgumentError(problem)
  return bid
}

function budgetOf(text: string): Nanos | 'none' {
  return text === 'none' ? text : creditsOf(text)
}

function endOf(text: string): Date | 'none' {
  return text === 'none' ? text : timeOf(text)
}

function hintsOf(text: string, former: string[] = []): string[] {
  const problem = hintProblemOf(text)
  if (problem !== undefined) throw new InvalidArgumentError(problem)
  if (former.length === HINTS_MAX) throw new InvalidArgumentError(`A campaign has at most ${HINTS_MAX} hints.`)
  return [...former, cleanCopy(text)]
}

function settingsOf(options: SettingsOptions): CampaignSettings {
  const { bid, dailyBudget, totalBudget, pacing, starts, ends, hint, negativeHint, clearHints } = options
  return {
    ...(bid !== undefined && { bid_nanos: bid }),
    ...(dailyBudget !== undefined && { daily_budget_nanos: orNull(dailyBudget) }),
    ...(totalBudget !== undefined && { total_budget_nanos: orNull(totalBudget) }),
    ...(pacing !== undefined && { pacing }),
    ...(starts !== undefined && { starts_at: orNull(starts) }),
    ...(ends !== undefined && { ends_at: orNull(ends) }),
    ...(clearHints && { context_hints: [], negative_hints: [] }),
    ...(hint !== undefined && { context_hints: hint }),
    ...(negativeHint !== undefined && { negative_hints: negativeHint }),
  }
}

function orNull<T>(value: T | 'none'): T | null {
  return value === 'none' ? null : value
}

type Listed = Awaited<ReturnType<typeof listCampaigns>>[number]
type Campaign = NonNullable<Awaited<ReturnType<typeof findCampaign>>>

/** By its id, or by its name and its advertiser: two advertisers may use the same name. */
export async function campaignOf(db: Db, which: string, advertiser?: string): Promise<Campaign> {
  if (isId(which)) {
    const found = await findCampaign(db, { id: which })
    if (!found) throw unknownId('campaign', which)
    return found
  }
  if (advertiser === undefined) {
    throw new CliError(
      `Name the advertiser of "${which}" with --advertiser, or give the campaign's id: parley campaign list`,
    )
  }
  const { id: advertiserId, name } = await advertiserOf(db, advertiser)
  const found = await findCampaign(db, { advertiserId, name: which })
  if (!found) throw new CliError(`${name} has no campaign "${which}". List them with: parley campaign list`)
  return found
}

type CreateOptions = SettingsOptions & { advertiser: string; bid: Nanos }

async function create({ db, actor, change }: Session, name: string, options: CreateOptions): Promise<Output> {
  const advertiser = await advertiserOf(db, options.advertiser)
  const campaign = { name, ...settingsOf(options), bid_nanos: options.bid }
  const id = await change((tx) => createCampaign(tx, actor, { advertiser, campaign }))
  const { document, text } = await output(db, await campaignOf(db, id))
  const next = `parley offers import --advertiser "${advertiser.name}" --campaign "${name}" --feed main FILE`
  return { document, text: `${text}\n\nNext: ${next}` }
}

async function set(
  { db, actor, change }: Session,
  which: string,
  options: SettingsOptions & { advertiser?: string },
): Promise<Output> {
  const campaign = await campaignOf(db, which, options.advertiser)
  const settings = settingsOf(options)
  if (Object.keys(settings).length === 0) {
    throw new CliError('Nothing to change. Run "parley campaign set --help" to see the options.')
  }
  await change((tx) => changeCampaign(tx, actor, { campaign, settings }))
  return output(db, await campaignOf(db, campaign.id))
}

async function list({ db }: Session, options: { advertiser?: string }): Promise<Output> {
  const advertiser = options.advertiser === undefined ? undefined : await advertiserOf(db, options.advertiser)
  const campaigns = await listCampaigns(db, advertiser?.id)
  const ids = campaigns.map(({ id }) => id)
  const limits = await readLimits(db, ids, Date.now())
  return {
    document: campaigns,
    text: listing(
      campaigns.map((campaign) => lineOf(campaign, limits.get(campaign.id))),
      'There are no campaigns yet. Run "parley campaign create --help" to see how to add one.',
      'Name an advertiser with --advertiser to see all of theirs.',
    ),
  }
}

function lineOf(campaign: Listed, limited: Limited | undefined) {
  return {
    id: campaign.id,
    advertiser: campaign.advertiser,
    name: campaign.name,
    status: campaign.status,
    bid: formatCredits(campaign.bid_nanos),
    ...spendingOf(limited),
    starts: campaign.starts_at,
    ends: campaign.ends_at,
    hints: campaign.context_hints.length,
    offers: campaign.offers,
  }
}

const LIMITED_BY: Record<CampaignLimit, string> = {
  credit: 'credit of the advertiser',
  total_budget: 'total budget',
  daily_budget: 'daily budget',
  pacing: 'pacing',
  fit: 'fit',
  bid: 'bid',
}

/** Returns the reason why a campaign is not recommended more often now. */
export function limitedBy(limited: Limited | undefined): string {
  return limited?.limit === undefined ? 'nothing' : LIMITED_BY[limited.limit]
}

function spendingOf(limited: Limited | undefined): Record<string, string> {
  if (!limited) return {}
  const { funds } = limited
  return {
    'spent today': formatCredits(funds.spentTodayNanos),
    spent: formatCredits(funds.spentNanos),
    'limited by': limitedBy(limited),
  }
}

async function output(db: Db, campaign: Campaign): Promise<Output> {
  const { id, advertiser, name, status, bid_nanos: bid, starts_at: starts, ends_at: ends } = campaign
  return {
    document: campaign,
    text: facts({
      id,
      advertiser,
      name,
      status,
      bid: formatCredits(bid),
      'daily budget': budgetText(campaign.daily_budget_nanos),
      'total budget': budgetText(campaign.total_budget_nanos),
      pacing: campaign.pacing,
      ...spendingOf((await readLimits(db, [id], Date.now())).get(id)),
      starts,
      ends,
      hints: campaign.context_hints,
      'negative hints': campaign.negative_hints,
    }),
  }
}

function budgetText(nanos: bigint | null): string {
  return nanos === null ? 'none' : formatCredits(nanos)
}
