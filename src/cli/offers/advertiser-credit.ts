import { Argument, type Command } from 'commander'
import { creditAdvertiser, reverseClick } from '../../actions/offers/advertiser-credit.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import { formatCredits, type Nanos } from '../../rules/money.ts'
import { findAdvertiserBalance, movementRefusalOf } from '../../store/billing/wallets.ts'
import { creditsOf, reasonOf } from '../arguments.ts'
import { CliError, codeOf, isId } from '../failures.ts'
import { facts, type Output } from '../print.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'
import { advertiserOf } from './advertisers.ts'
import { addClickReceiptCommand } from './click-receipt.ts'

/** Commands for what advertisers prepay, and what they get back. */
export function addAdvertiserCreditCommands(program: Command, advertiser: Command): void {
  addCredit(advertiser, 'topup', 'add credit that the advertiser has paid for', '500 --reference invoice-42')
  addCredit(advertiser, 'grant', 'add credit as a gift', '50 --reason "first campaign"')
  const click = program.command('click').description('clicks on recommendations')
  addClickReceiptCommand(click)
  addCommand(
    click,
    'reverse',
    'take a paid click back: the advertiser gets its price again',
    `parley click reverse ${EXAMPLE_ID} --reason "click farm"`,
  )
    .argument('<click>', 'its id')
    .requiredOption('--reason <text>', 'for the ledger', reasonOf)
    .action(withStore(reverse))
}

function addCredit(advertiser: Command, kind: 'topup' | 'grant', summary: string, example: string): void {
  addCommand(advertiser, kind, summary, `parley advertiser ${kind} "Acme Audio" ${example}`)
    .argument('<advertiser>', 'its name or id')
    .addArgument(new Argument('<amount>', 'in credits, for example 500 or 0.5').argParser(creditsOf))
    .option('--reference <id>', 'the same reference moves money only once (default: generated)')
    .option('--reason <text>', 'for the ledger', reasonOf)
    .action(withStore((session, which: string, amount: Nanos, how: How) => credit(session, kind, which, amount, how)))
}

interface How {
  reference?: string
  reason?: string
}

async function credit(session: Session, kind: 'topup' | 'grant', which: string, amount: Nanos, how: How) {
  const { db, actor, change } = session
  const advertiser = await advertiserOf(db, which)
  const id = uuidv7()
  const { reference = `cli:${id}`, reason = null } = how
  const movement = { id, advertiserId: advertiser.id, amount, kind, reference, reason }
  const posted = await change((tx) => creditAdvertiser(tx, actor, { advertiser, movement })).catch((error: unknown) => {
    if (movementRefusalOf(error) !== 'reference_taken') throw error
    throw new CliError(
      `Reference ${reference} was already used for another amount or wallet, nothing changed. Use another reference.`,
    )
  })
  const balance = await findAdvertiserBalance(db, advertiser.id)
  const said = posted ? `${formatCredits(amount)} credited.` : 'This reference was already posted, nothing changed.'
  return {
    document: { posted, advertiser_id: advertiser.id, kind, amount_nanos: amount, reference, balance_nanos: balance },
    text: `${said}\n\n${facts({ advertiser: advertiser.name, balance: formatCredits(balance), reference })}`,
  }
}

/** PostgreSQL's code for what is not there. */
const NO_DATA_FOUND = 'P0002'

async function reverse({ actor, change }: Session, id: string, { reason }: { reason: string }): Promise<Output> {
  if (!isId(id)) throw new CliError(`"${id}" is not the id of a click, which is a uuid.`)
  const reversed = await change((tx) => reverseClick(tx, actor, { id, reason })).catch((error: unknown) => {
    if (codeOf(error) === NO_DATA_FOUND)
      throw new CliError(`There is no paid click ${id}, so there is nothing to take back.`)
    throw error
  })
  return {
    document: { id, reversed },
    text: reversed ? `Click ${id} was taken back.` : `Click ${id} was already taken back, so nothing changed.`,
  }
}
