import { Argument, type Command } from 'commander'
import type { Config } from '../../config.ts'
import { formatCredits, type Nanos } from '../../rules/money.ts'
import { centsOf } from '../../rules/billing/payments.ts'
import type { Db } from '../../store/database.ts'
import { creditsOf } from '../arguments.ts'
import { CliError } from '../failures.ts'
import { facts, type Output } from '../print.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'
import { walletOf } from './wallet-state.ts'

/** Asks the payment provider for a page, which this plane does not know: main.ts hands it in. */
export type OpenCheckout = (
  db: Db,
  provider: { secretKey: string; apiBase: string | undefined; successUrl: string; cancelUrl: string | undefined },
  order: { projectId: string; amount: Nanos },
) => Promise<{ sessionId: string; url: string }>

export function addCheckoutCommand(wallet: Command, openCheckout: OpenCheckout): void {
  addCommand(
    wallet,
    'checkout',
    'make a Stripe page on which credit is paid',
    `parley wallet checkout ${EXAMPLE_ID} 25`,
  )
    .argument('<project>')
    .addArgument(new Argument('<amount>', 'in credits, for example 25 or 9.99').argParser(creditsOf))
    .action(
      withStore((session, projectId: string, amount: Nanos) => checkout(session, openCheckout, projectId, amount)),
    )
}

async function checkout(
  { config, db }: Session,
  openCheckout: OpenCheckout,
  projectId: string,
  amount: Nanos,
): Promise<Output> {
  await walletOf(db, projectId)
  if (centsOf(amount) === undefined) {
    throw new CliError('A payment is in whole cents, from 0.50 to 999999.99. Choose another amount.')
  }
  const { sessionId, url } = await openCheckout(db, providerOf(config), { projectId, amount })
  return {
    document: { project_id: projectId, amount_nanos: amount, session_id: sessionId, url },
    text: `${facts({ amount: formatCredits(amount), checkout: sessionId })}\n\nPay here, within a day:\n${url}`,
  }
}

function providerOf(config: Config): Parameters<OpenCheckout>[1] {
  const { PARLEY_STRIPE_SECRET_KEY: secretKey, PARLEY_CHECKOUT_SUCCESS_URL: successUrl } = config
  if (secretKey === undefined || successUrl === undefined) {
    throw new CliError('Payments are not configured. Set PARLEY_STRIPE_SECRET_KEY and PARLEY_CHECKOUT_SUCCESS_URL.')
  }
  return { secretKey, successUrl, apiBase: config.PARLEY_STRIPE_API_BASE, cancelUrl: config.PARLEY_CHECKOUT_CANCEL_URL }
}
