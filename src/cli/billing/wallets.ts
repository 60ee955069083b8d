import type { Command } from 'commander'
import { formatCredits } from '../../rules/money.ts'
import { listPayments } from '../../store/billing/payments.ts'
import { listEntries } from '../../store/billing/wallets.ts'
import { rowsOf } from '../arguments.ts'
import { addCheckoutCommand } from './wallet-checkout.ts'
import { addMovementCommands } from './wallet-movements.ts'
import { facts, table, type Output } from '../print.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'
import { walletOf } from './wallet-state.ts'

export function addWalletCommands(program: Command): void {
  const wallet = program.command('wallet').description("a project's prepaid credit (1 credit = 1 US dollar)")
  addCommand(wallet, 'show', 'show balance, held, available and owed credit', `parley wallet show ${EXAMPLE_ID}`)
    .argument('<project>')
    .action(withStore(show))
  addMovementCommands(wallet)
  addCommand(wallet, 'ledger', 'show the latest ledger entries', `parley wallet ledger ${EXAMPLE_ID} --limit 20`)
    .argument('<project>')
    .option('--limit <n>', 'how many', rowsOf, 50)
    .action(withStore(ledger))
  addCheckoutCommand(wallet)
  addCommand(wallet, 'payments', 'show the latest checkouts', `parley wallet payments ${EXAMPLE_ID} --limit 20`)
    .argument('<project>')
    .option('--limit <n>', 'how many', rowsOf, 50)
    .action(withStore(payments))
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
      ...(wallet.owed_nanos > 0n && {
        owed: `${formatCredits(wallet.owed_nanos)}: no call is answered until it is paid`,
      }),
    }),
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
        reference: entry.reference,
        corrects: entry.corrects,
        reason: entry.reason,
      })),
      `No transactions yet. Add credit with: parley wallet topup ${projectId} 25`,
    ),
  }
}

async function payments({ db }: Session, projectId: string, options: { limit: number }): Promise<Output> {
  await walletOf(db, projectId)
  const rows = await listPayments(db, projectId, options.limit)
  return {
    document: rows,
    text: table(
      rows.map((payment) => ({
        time: payment.created_at,
        amount: formatCredits(payment.amount_nanos),
        state: payment.state,
        paid: payment.paid_at,
        checkout: payment.session_id,
        'payment intent': payment.payment_intent,
        problem: payment.problem,
      })),
      `No payments yet. Create one with: parley wallet checkout ${projectId} 25`,
    ),
  }
}
