import { Argument, type Command } from 'commander'
import { uuidv7 } from '../platform/uuid.ts'
import { formatCredits, type Nanos } from '../rules/money.ts'
import { isUnavailable, type Db } from '../store/database.ts'
import { creditWallet, findWallet, listEntries } from '../store/wallets.ts'
import { creditsOf, rowsOf } from './arguments.ts'
import { CliError, expectId, codeOf, UNIQUE_VIOLATION, unknownId } from './failures.ts'
import { facts, table, type Output } from './print.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from './session.ts'

export function addWalletCommands(program: Command): void {
  const wallet = program.command('wallet').description("a project's prepaid credit (1 credit = 1 US dollar)")
  addCommand(wallet, 'show', 'show balance, held and available credit', `parley wallet show ${EXAMPLE_ID}`)
    .argument('<project>')
    .action(withStore(show))
  addCreditCommand(wallet, 'topup', 'add credit that was paid for', `--reference invoice-42`)
  addCreditCommand(wallet, 'grant', 'add credit as a gift', `--reason "welcome"`)
  addCommand(wallet, 'ledger', 'show the newest movements', `parley wallet ledger ${EXAMPLE_ID} --limit 20`)
    .argument('<project>')
    .option('--limit <n>', 'how many', rowsOf, 50)
    .action(withStore(ledger))
}

function addCreditCommand(wallet: Command, kind: 'topup' | 'grant', summary: string, example: string): void {
  addCommand(wallet, kind, summary, `parley wallet ${kind} ${EXAMPLE_ID} 25 ${example}`)
    .argument('<project>')
    .addArgument(new Argument('<amount>', 'in credits, for example 25 or 0.5').argParser(creditsOf))
    .option('--reference <id>', 'the same reference credits only once, however often it is sent; made up if left out')
    .option('--reason <text>', 'for the ledger')
    .action(
      withStore((session, project: string, amount: Nanos, options: CreditOptions) =>
        credit(session, kind, project, amount, options),
      ),
    )
}

async function walletOf(db: Db, projectId: string) {
  expectId('project', projectId)
  const wallet = await findWallet(db, projectId)
  if (!wallet) throw unknownId('project', projectId)
  const { balance_nanos, held_nanos, open_holds } = wallet
  return { project_id: projectId, balance_nanos, held_nanos, available_nanos: balance_nanos - held_nanos, open_holds }
}

async function show({ db }: Session, projectId: string): Promise<Output> {
  const wallet = await walletOf(db, projectId)
  return {
    document: wallet,
    text: facts({
      project: projectId,
      balance: formatCredits(wallet.balance_nanos),
      held: `${formatCredits(wallet.held_nanos)} by ${wallet.open_holds} running calls`,
      available: formatCredits(wallet.available_nanos),
    }),
  }
}

interface CreditOptions {
  reference?: string
  reason?: string
}

async function credit(
  { db }: Session,
  kind: 'topup' | 'grant',
  projectId: string,
  amount: Nanos,
  options: CreditOptions,
): Promise<Output> {
  await walletOf(db, projectId)
  const id = uuidv7()
  const reference = options.reference ?? `cli:${id}`
  if (reference === '' || reference.length > 255 || (options.reason?.length ?? 0) > 500) {
    throw new CliError('A reference has 1 to 255 characters and a reason at most 500. Shorten it.')
  }
  const isNew = await creditOnce(db, { id, projectId, amount, kind, reference, reason: options.reason ?? null })
  const wallet = await walletOf(db, projectId)
  const changed = isNew ? `${formatCredits(amount)} credited.` : 'This reference was already credited, nothing changed.'
  return {
    document: { credited: isNew, reference, kind, amount_nanos: amount, ...wallet },
    text: `${changed}\n\n${facts({ reference, balance: formatCredits(wallet.balance_nanos) })}`,
  }
}

async function creditOnce(db: Db, movement: Parameters<typeof creditWallet>[1]): Promise<boolean> {
  try {
    return await creditWallet(db, movement)
  } catch (error) {
    const { reference } = movement
    if (isUnavailable(error)) {
      throw new CliError(
        `The database went away and may or may not have credited. Run it again with --reference "${reference}": it credits once.`,
      )
    }
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error
    throw new CliError(
      `Reference ${reference} was already used for another amount or wallet, nothing changed. Use another reference.`,
    )
  }
}

async function ledger({ db }: Session, projectId: string, options: { limit: number }): Promise<Output> {
  await walletOf(db, projectId)
  const entries = await listEntries(db, projectId, options.limit)
  return {
    document: entries,
    text: table(
      entries.map((entry) => ({
        time: entry.created_at,
        kind: entry.kind,
        amount: formatCredits(entry.delta_nanos ?? 0n),
        id: entry.id,
      })),
      `Nothing has moved yet. Add credit with: parley wallet topup ${projectId} 25`,
    ),
  }
}
