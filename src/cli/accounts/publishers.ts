import { Argument, type Command } from 'commander'
import { createPublisher, setPublisherActivated } from '../../actions/accounts/publishers.ts'
import { createSandbox } from '../../actions/sandbox.ts'
import { formatCredits } from '../../rules/money.ts'
import { listPublishers } from '../../store/accounts/publishers.ts'
import { tenantNameOf } from '../arguments.ts'
import { CliError, expectId, orUnknown } from '../failures.ts'
import { facts, listing, type Output } from '../print.ts'
import { projectOf } from '../project-at-hand.ts'
import { addChange, addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

export function addPublisherCommands(program: Command): void {
  const publisher = program.command('publisher').description('the companies that use Parley and pay for it')
  addChange(publisher, 'create', 'add a publisher', 'parley publisher create "Example News" --activate')
    .addArgument(new Argument('<name>', 'its name').argParser(tenantNameOf))
    .option('--email <address>', 'where to reach it')
    .option('--activate', 'let it make requests immediately')
    .action(withStore(create))
  addCommand(publisher, 'list', 'show all publishers', 'parley publisher list').action(withStore(list))
  addChange(publisher, 'activate', 'let a publisher make requests', `parley publisher activate ${EXAMPLE_ID}`)
    .argument('<id>')
    .action(withStore((session, id: string) => setActivated(session, id, true)))
  addChange(publisher, 'deactivate', 'refuse its requests (403)', `parley publisher deactivate ${EXAMPLE_ID}`)
    .argument('<id>')
    .action(withStore((session, id: string) => setActivated(session, id, false)))
  addChange(
    publisher,
    'sandbox',
    'give a publisher its sandbox, if it was activated before there were any',
    `parley publisher sandbox ${EXAMPLE_ID}`,
  )
    .argument('<id>')
    .action(withStore(openSandbox))
}

async function create(
  { config, actor, change }: Session,
  name: string,
  options: { email?: string; activate?: boolean },
): Promise<Output> {
  const email = options.email ?? null
  if (email !== null && (!email.includes('@') || email.length > 320)) {
    throw new CliError(`"${email}" is not an email address. Use the form editor@example.com.`)
  }
  const isActivated = options.activate ?? false
  const publisher = await change((tx) =>
    createPublisher(tx, actor, { name, email, isActivated, sandboxDomain: config.PARLEY_SANDBOX_DOMAIN }),
  )
  const next = options.activate
    ? `parley project create "Website" --publisher ${publisher.id} --domain example.com`
    : `parley publisher activate ${publisher.id}`
  return {
    document: { id: publisher.id, name, email, activated_at: publisher.activatedAt },
    text: `${facts({ id: publisher.id, name, email, activated: publisher.activatedAt })}\n\nNext: ${next}`,
  }
}

/** For those that were activated before there were any. */
async function openSandbox({ config, db, actor, change }: Session, id: string): Promise<Output> {
  expectId('publisher', id)
  const sandboxDomain = config.PARLEY_SANDBOX_DOMAIN
  if (sandboxDomain === undefined) throw new CliError('Sandboxes are switched off. Set PARLEY_SANDBOX_DOMAIN first.')
  const made = await change((tx) => createSandbox(tx, actor, { publisherId: id, sandboxDomain })).catch(
    orUnknown('publisher', id),
  )
  if (!made)
    throw new CliError(
      `Publisher ${id} is not activated, or already has or had its one sandbox. See: parley project list --publisher ${id}`,
    )
  const project = await projectOf(db, made.id)
  const { name, domain, balance_nanos: balance } = project
  return { document: project, text: facts({ id: made.id, name, domain, balance: formatCredits(balance) }) }
}

async function list({ db }: Session): Promise<Output> {
  const publishers = await listPublishers(db)
  return {
    document: publishers,
    text: listing(
      publishers.map(({ id, name, email, activated_at, projects }) => {
        return { id, name, email, activated: activated_at, projects }
      }),
      'There are no publishers yet. Add one with: parley publisher create "Example News"',
    ),
  }
}

async function setActivated({ config, actor, change }: Session, id: string, isActivated: boolean): Promise<Output> {
  expectId('publisher', id)
  const input = { publisherId: id, isActivated, sandboxDomain: config.PARLEY_SANDBOX_DOMAIN }
  const activatedAt = await change((tx) => setPublisherActivated(tx, actor, input)).catch(orUnknown('publisher', id))
  return {
    document: { id, activated_at: activatedAt },
    text: `Publisher ${id} is ${isActivated ? 'activated' : 'no longer activated: its requests are refused'}.`,
  }
}
