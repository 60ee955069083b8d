import { Argument, InvalidArgumentError, type Command } from 'commander'
import { createAdvertiser, setAdvertiserStatus, setTrackingTemplate } from '../../actions/offers/advertisers.ts'
import type { AdvertiserStatus } from '../../rules/accounts/advertisers.ts'
import { trackingTemplateProblemOf, withTracking } from '../../rules/clicks/tracking-template.ts'
import { formatCredits } from '../../rules/money.ts'
import { ParleyError } from '../../rules/errors.ts'
import { shownNameProblemOf } from '../../rules/offers/shown-name.ts'
import { findAdvertiser, listAdvertisers } from '../../store/offers/advertisers.ts'
import type { Db } from '../../store/database.ts'
import { domainOf, nameOf } from '../arguments.ts'
import { CliError, codeOf, isId, UNIQUE_VIOLATION, unknownId } from '../failures.ts'
import { facts, listing, type Output } from '../print.ts'
import { addChange, addCommand, withStore, type Session } from '../session.ts'

export function addAdvertiserCommands(program: Command): Command {
  const advertiser = program.command('advertiser').description('the companies whose products are recommended')
  addChange(
    advertiser,
    'create',
    'add an advertiser; its name precedes each of its recommendations',
    'parley advertiser create "Acme Audio" --domain acme-audio.example --activate',
  )
    .addArgument(new Argument('<name>', 'as readers know it, at most 60 characters').argParser(shownNameOf))
    .requiredOption('--domain <name>', 'where its products are sold; you have checked that it is theirs', domainOf)
    .option('--legal-name <name>', 'of the company', nameOf)
    .option('--activate', 'let its offers be recommended immediately')
    .action(withStore(create))
  addCommand(advertiser, 'list', 'show all advertisers', 'parley advertiser list').action(withStore(list))
  addChange(advertiser, 'activate', 'let its offers be recommended', 'parley advertiser activate "Acme Audio"')
    .argument('<advertiser>', 'its name or id')
    .option('--vouch', 'confirm that you have checked that its domain is theirs')
    .action(
      withStore((session, which: string, { vouch = false }: { vouch?: boolean }) =>
        setStatus(session, which, 'active', vouch),
      ),
    )
  addChange(
    advertiser,
    'suspend',
    'stop recommending its offers, within seconds',
    'parley advertiser suspend "Acme Audio"',
  )
    .argument('<advertiser>', 'its name or id')
    .action(withStore((session, which: string) => setStatus(session, which, 'suspended')))
  addChange(
    advertiser,
    'tracking',
    "set the affiliate network's redirect that its links pass through",
    'parley advertiser tracking "Acme Audio" \'https://network.example/click?id=42&url={lpurl}\'',
  )
    .argument('<advertiser>', 'its name or id')
    .addArgument(
      new Argument('<template>', 'its address, with {lpurl} for the address of the offer; "off" for none').argParser(
        templateOf,
      ),
    )
    .action(withStore(setTracking))
  return advertiser
}

type Advertiser = NonNullable<Awaited<ReturnType<typeof findAdvertiser>>>

/** By its id or its name. */
export async function advertiserOf(db: Db, which: string): Promise<Advertiser> {
  const found = await findAdvertiser(db, isId(which) ? { id: which } : { name: which })
  if (!found) throw unknownId('advertiser', isId(which) ? which : `"${which}"`)
  return found
}

function shownNameOf(text: string): string {
  const name = text.trim()
  const problem = shownNameProblemOf(name)
  if (problem !== undefined) throw new InvalidArgumentError(problem)
  return name
}

function templateOf(text: string): string | null {
  const template = text.trim()
  if (template === 'off') return null
  const problem = trackingTemplateProblemOf(template)
  if (problem !== undefined) throw new InvalidArgumentError(problem)
  return template
}

type CreateOptions = { domain: string; legalName?: string; activate?: boolean }

async function create({ actor, change }: Session, name: string, options: CreateOptions): Promise<Output> {
  const { domain, legalName = null, activate = false } = options
  const status = activate ? 'active' : 'pending'
  const wanted = { name, legalName, domain, status } as const
  const { id } = await change((tx) => createAdvertiser(tx, actor, wanted)).catch((error: unknown) => {
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error
    throw new CliError(`There is already an advertiser "${name}". Give this one another name.`)
  })
  const next = [
    ...(activate ? [] : [`parley advertiser activate "${name}"`]),
    `parley campaign create "Everything" --advertiser "${name}" --bid 0.40`,
  ]
  return {
    document: { id, name, legal_name: legalName, domain, status },
    text: `${facts({ id, name, 'legal name': legalName, domain, status })}\n\nNext: ${next.join('\n      ')}`,
  }
}

async function list({ db }: Session): Promise<Output> {
  const advertisers = await listAdvertisers(db)
  return {
    document: advertisers,
    text: listing(
      advertisers.map(({ id, name, domain, status, balance, campaigns, offers }) => {
        return { id, name, domain, status, balance: formatCredits(balance ?? 0n), campaigns, offers }
      }),
      'There are no advertisers yet. Run "parley advertiser create --help" to see how to add one.',
    ),
  }
}

async function setStatus(
  { db, actor, change }: Session,
  which: string,
  status: AdvertiserStatus,
  isVouched = false,
): Promise<Output> {
  const advertiser = await advertiserOf(db, which)
  await change((tx) => setAdvertiserStatus(tx, actor, { advertiser, status, isVouched })).catch((error: unknown) => {
    if (!(error instanceof ParleyError)) throw error
    throw new CliError(`${error.message} Add --vouch if you have checked that it is theirs.`)
  })
  const { id, name } = advertiser
  const outcome =
    status === 'active' ? 'its offers may be recommended' : 'nothing of it is recommended within 5 seconds'
  return { document: { id, name, status }, text: `Advertiser ${name} is ${status}: ${outcome}.` }
}

async function setTracking({ db, actor, change }: Session, which: string, template: string | null): Promise<Output> {
  const advertiser = await advertiserOf(db, which)
  await change((tx) => setTrackingTemplate(tx, actor, { advertiser, template }))
  const { id, name, domain } = advertiser
  const text =
    template === null
      ? `Links of ${name} lead straight to its offers.`
      : `Links of ${name} pass through the network, like this:\n${withTracking(template, `https://${domain}/product`)}`
  return { document: { id, name, tracking_template: template }, text }
}
