import { Argument, type Command } from 'commander'
import { adjustWallet, creditWallet, refundCall, refundWallet, reverseTransfer } from '../../actions/billing/wallets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import { formatCredits, type Nanos } from '../../rules/money.ts'
import { callIdOf } from '../../rules/billing/receipts.ts'
import { ID_EXAMPLES } from '../../rules/endpoints.ts'
import { mayBeDone, type Db } from '../../store/database.ts'
import {
  effectOf,
  findTransfer,
  movementRefusalOf,
  type Movement,
  type MovementRefusal,
} from '../../store/billing/wallets.ts'
import { archivedTableOf, findArchivedDay } from '../../store/billing/sealed-days.ts'
import { creditsOf, signedCreditsOf } from '../arguments.ts'
import { CliError, expectId, unknownId } from '../failures.ts'
import { facts, type Output } from '../print.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'
import { projectAtHand, projectOf } from '../project-at-hand.ts'
import { walletOf } from './wallet-state.ts'

/** Money that an operator moves. Nothing is edited: what was wrong is corrected by another movement. */
export function addMovementCommands(wallet: Command): void {
  addMovement(wallet, 'topup', 'add credit that was paid for', '25 --reference invoice-42')
    .option('--reason <text>', 'for the ledger')
    .action(withStore((session, id: string, amount: Nanos, how: How) => credit(session, 'topup', id, amount, how)))
  addMovement(wallet, 'grant', 'add credit as a gift', '25 --reason "welcome"')
    .option('--reason <text>', 'for the ledger')
    .action(withStore((session, id: string, amount: Nanos, how: How) => credit(session, 'grant', id, amount, how)))
  addMovement(wallet, 'refund', 'take away credit whose price was refunded', '5 --reason "account closed"')
    .requiredOption('--reason <text>', 'for the ledger')
    .option('--call <id>', 'give back what this call was charged instead: all of it, or a part')
    .option('--owed', OWED)
    .action(withStore(refund))
  addCommand(wallet, 'adjust', 'correct a balance manually', `parley wallet adjust ${EXAMPLE_ID} -2.5 --reason "typo"`)
    .argument('<project>')
    .addArgument(new Argument('<amount>', 'in credits; a negative amount is taken away').argParser(signedCreditsOf))
    .option('--reference <id>', REFERENCE)
    .requiredOption('--reason <text>', 'for the ledger')
    .action(withStore(adjust))
  addCommand(wallet, 'reverse', 'undo a transfer', `parley wallet reverse ${EXAMPLE_ID} --reason "wrong project"`)
    .argument('<transfer>', 'its id, from "parley wallet ledger"')
    .option('--reference <id>', REFERENCE)
    .requiredOption('--reason <text>', 'for the ledger')
    .option('--owed', OWED)
    .action(withStore(reverse))
}

const OWED = 'take it even if it was spent: the project owes the rest, and no call is answered until it is paid'
const REFERENCE = 'the same reference moves money only once, however often it is sent (default: generated)'

function addMovement(wallet: Command, name: string, summary: string, example: string): Command {
  return addCommand(wallet, name, summary, `parley wallet ${name} ${EXAMPLE_ID} ${example}`)
    .argument('<project>')
    .addArgument(new Argument('<amount>', 'in credits, for example 25 or 0.5').argParser(creditsOf))
    .option('--reference <id>', REFERENCE)
}

/** How a movement is told apart from others and explained. */
interface How {
  reference?: string
  reason?: string
}

async function credit(session: Session, kind: 'topup' | 'grant', projectId: string, amount: Nanos, how: How) {
  const { db, actor, change } = session
  const project = projectAtHand(await projectOf(db, projectId))
  const order = orderOf(projectId, amount, how)
  const posted = await postOnce(order, () =>
    change((tx) => creditWallet(tx, actor, { project, movement: order, kind })),
  )
  return outputOf(db, { ...order, kind }, posted, `${formatCredits(amount)} credited.`)
}

interface RefundOptions extends How {
  owed?: true
  call?: string
}

async function refund({ db, actor, change }: Session, projectId: string, amount: Nanos, how: RefundOptions) {
  const project = projectAtHand(await projectOf(db, projectId))
  const order = orderOf(projectId, amount, how)
  const input = { project, movement: order }
  if (how.call === undefined) {
    const mayOwe = how.owed ?? false
    const posted = await postOnce(order, () => change((tx) => refundWallet(tx, actor, { ...input, mayOwe })), {
      not_available: () => shortOf(db, order, '--owed'),
    })
    return outputOf(db, { ...order, kind: 'refund' }, posted, `${formatCredits(amount)} refunded and taken away.`)
  }
  const callId = callIdOf(how.call.toLowerCase())
  if (callId === undefined) throw new CliError(`"${how.call}" is not the id of a call: give ${ID_EXAMPLES}, or a uuid.`)
  const posted = await postOnce(order, () => change((tx) => refundCall(tx, actor, { ...input, callId })), {
    not_found: async () => {
      const day = await findArchivedDay(db, callId)
      if (day === undefined) {
        return `This project has no finished call ${callId}. See: parley receipt ${callId}`
      }
      const what = `The calls of ${day} are archived (${archivedTableOf(day)}), so what ${callId} cost cannot be checked: nothing changed.`
      return `${what} Look it up there, and use: parley wallet adjust`
    },
    corrected_before: async () => {
      const left = formatCredits(-(await effectOf(db, projectId, callId)))
      return `Of call ${callId} only ${left} is left to refund, nothing changed. See: parley receipt ${callId}`
    },
  })
  return outputOf(db, { ...order, kind: 'refund', corrects: callId }, posted, `${formatCredits(amount)} given back.`)
}

async function adjust({ db, actor, change }: Session, projectId: string, amount: Nanos, how: How): Promise<Output> {
  const project = projectAtHand(await projectOf(db, projectId))
  const order = orderOf(projectId, amount, how)
  const posted = await postOnce(order, () => change((tx) => adjustWallet(tx, actor, { project, movement: order })), {
    not_available: () => shortOf(db, order),
  })
  return outputOf(db, { ...order, kind: 'adjustment' }, posted, `Adjusted by ${formatCredits(amount)}.`)
}

async function reverse(session: Session, transferId: string, how: How & { owed?: true }): Promise<Output> {
  const { db, actor, change } = session
  expectId('transfer', transferId)
  const original = await findTransfer(db, transferId)
  if (!original) throw unknownId('transfer', transferId)
  const { debit_account: debit, credit_account: credited, amount_nanos: amount, kind } = original
  if (kind === 'owed' || kind === 'collection') {
    throw new CliError(
      `Transfer ${transferId} is an advance or its repayment, which is not undone: credit the project instead (wallet adjust).`,
    )
  }
  const order = orderOf(credited, amount, how)
  const reversal = { original, movement: order, mayOwe: how.owed ?? false }
  const posted = await postOnce(order, () => change((tx) => reverseTransfer(tx, actor, reversal)), {
    not_available: () => shortOf(db, order, '--owed'),
    reversed_before: () => `Transfer ${transferId} was already reversed; nothing changed.`,
    is_reversal: () =>
      `Transfer ${transferId} is a reversal, which is final. Post the correct amount as a new transfer.`,
    corrected_before: () =>
      `Transfer ${transferId} was already partly corrected, so it cannot be undone in full. Use: parley wallet adjust`,
  })
  const { reference } = order
  return {
    document: {
      posted,
      kind: 'reversal',
      reference,
      corrects: transferId,
      debit,
      credit: credited,
      amount_nanos: amount,
    },
    text: `${posted ? `${formatCredits(amount)} moved back.` : POSTED_BEFORE}\n\n${facts({ reverses: kind, transfer: transferId, reference })}`,
  }
}

function orderOf(projectId: string, amount: Nanos, how: How): Movement {
  const id = uuidv7()
  const { reference = `cli:${id}`, reason = null } = how
  const isFitting = reference !== '' && reference.length <= 255 && reason !== '' && (reason?.length ?? 0) <= 500
  if (!isFitting) throw new CliError('A reference has 1 to 255 characters and a reason 1 to 500. Correct it.')
  return { id, projectId, amount, reference, reason }
}

type Sentences = Partial<Record<MovementRefusal, () => string | Promise<string>>>

async function postOnce({ reference }: Movement, work: () => Promise<boolean>, refusals: Sentences = {}) {
  try {
    return await work()
  } catch (error) {
    if (mayBeDone(error)) {
      throw new CliError(
        `The connection to the database was lost, so it may or may not have been posted. Run it again with --reference "${reference}": it counts once.`,
      )
    }
    const refusal = movementRefusalOf(error)
    if (refusal === 'reference_taken') {
      throw new CliError(
        `Reference ${reference} was already used for another amount or wallet, nothing changed. Use another reference.`,
      )
    }
    const sentence = refusal && refusals[refusal]
    throw sentence ? new CliError(await sentence()) : error
  }
}

async function shortOf(db: Db, { projectId, amount }: Movement, instead?: string): Promise<string> {
  const { available_nanos } = await walletOf(db, projectId)
  const wanted = formatCredits(amount < 0n ? -amount : amount)
  const sentence = `Only ${formatCredits(available_nanos)} is available, so ${wanted} cannot be taken away: nothing changed.`
  return instead === undefined ? sentence : `${sentence} Use ${instead} to let the project owe the rest.`
}

function amountsOf({ balance_nanos, owed_nanos }: Awaited<ReturnType<typeof walletOf>>) {
  const owed = owed_nanos > 0n ? { owed: formatCredits(owed_nanos) } : {}
  return { balance: formatCredits(balance_nanos), ...owed }
}

const POSTED_BEFORE = 'This reference was already posted, nothing changed.'

async function outputOf(
  db: Db,
  movement: Movement & { kind: string; corrects?: string },
  posted: boolean,
  done: string,
): Promise<Output> {
  const { projectId, amount, reference, kind, corrects } = movement
  const wallet = await walletOf(db, projectId)
  return {
    document: { posted, kind, amount_nanos: amount, reference, corrects, ...wallet },
    text: `${posted ? done : POSTED_BEFORE}\n\n${facts({ reference, ...amountsOf(wallet) })}`,
  }
}
