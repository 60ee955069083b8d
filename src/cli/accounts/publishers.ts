import { Argument, type Command } from 'commander'
import { createPublisher, setPublisherActivated } from '../../actions/accounts/publishers.ts'
import { listPublishers } from '../../store/accounts/publishers.ts'
import { tenantNameOf } from '../arguments.ts'
import { CliError, expectId, orUnknown } from '../failures.ts'
import { facts, table, type Output } from '../print.ts'
import { addChange, addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

export function addPublisherCommands(program: Command): void {
  const publisher = program.command('publisher').description('who uses Parley and pays for it')
  addChange(publisher, 'create', 'add a publisher', 'parley publisher create "Example News" --activate')
    .addArgument(new Argument('<name>', 'how people call it').argParser(tenantNameOf))
    .option('--email <address>', 'where to reach it')
    .option('--activate', 'let it make requests at once')
    .action(withStore(create))
  addCommand(publisher, 'list', 'show all publishers', 'parley publisher list').action(withStore(list))
  addChange(publisher, 'activate', 'let a publisher make requests', `parley publisher activate ${EXAMPLE_ID}`)
    .argument('<id>')
    .action(withStore((session, id: string) => setActivated(session, id, true)))
  addChange(publisher, 'deactivate', 'refuse its requests (403)', `parley publisher deactivate ${EXAMPLE_ID}`)
    .argument('<id>')
    .action(withStore((session, id: string) => setActivated(session, id, false)))
}

async function create(
  { actor, change }: Session,
  name: string,
  options: { email?: string; activate?: boolean },
): Promise<Output> {
  const email = options.email ?? null
  if (email !== null && (!email.includes('@') || email.length > 320)) {
    throw new CliError(`"${email}" is not an e-mail address. Write it like editor@example.com.`)
  }
  const isActivated = options.activate ?? false
  const publisher = await change((tx) => createPublisher(tx, actor, { name, email, isActivated }))
  const next = options.activate
    ? `parley project create "Website" --publisher ${publisher.id} --domain example.com`
    : `parley publisher activate ${publisher.id}`
  return {
    document: { id: publisher.id, name, email, activated_at: publisher.activatedAt },
    text: `${facts({ id: publisher.id, name, email, activated: publisher.activatedAt })}\n\nNext: ${next}`,
  }
}

async function list({ db }: Session): Promise<Output> {
  const publishers = await listPublishers(db)
  return {
    document: publishers,
    text: table(
      publishers.map(({ id, name, email, activated_at, projects }) => {
        return { id, name, email, activated: activated_at, projects }
      }),
      'There are no publishers yet. Add one with: parley publisher create "Example News"',
    ),
  }
}

async function setActivated({ actor, change }: Session, id: string, isActivated: boolean): Promise<Output> {
  expectId('publisher', id)
  const activatedAt = await change((tx) => setPublisherActivated(tx, actor, { publisherId: id, isActivated })).catch(
    orUnknown('publisher', id),
  )
  return {
    document: { id, activated_at: activatedAt },
    text: `Publisher ${id} is ${isActivated ? 'activated' : 'no longer activated: its requests are refused'}.`,
  }
}
