import { Argument, type Command } from 'commander'
import type { Config } from '../../config.ts'
import { formatCredits, type Nanos } from '../../rules/money.ts'
import { centsOf } from '../../rules/billing/payments.ts'
import { creditsOf } from '../arguments.ts'
import { CliError } from '../failures.ts'
import { facts, type Output } from '../print.ts'
import { addChange, EXAMPLE_ID, withStore, type Session } from '../session.ts'
import { projectAtHand, projectOf } from '../project-at-hand.ts'

export function addCheckoutCommand(wallet: Command): void {
  addChange(wallet, 'checkout', 'create a Stripe payment page for credit', `parley wallet checkout ${EXAMPLE_ID} 25`)
    .argument('<project>')
    .addArgument(new Argument('<amount>', 'in credits, for example 25 or 9.99').argParser(creditsOf))
    .action(withStore(checkout))
}

async function checkout({ config, db, actor, change }: Session, projectId: string, amount: Nanos): Promise<Output> {
  const project = projectAtHand(await projectOf(db, projectId))
  if (centsOf(amount) === undefined) {
    throw new CliError('A payment is in whole cents, from 0.50 to 999999.99. Choose another amount.')
  }
  // Loaded here: no other command should wait for the payment provider's library.
  const { openCheckout } = await import('../../actions/billing/checkout.ts')
  const { sessionId, url } = await openCheckout(change, actor, { project, amount, ...paymentsOf(config) })
  return {
    document: { project_id: projectId, amount_nanos: amount, session_id: sessionId, url },
    text: `${facts({ amount: formatCredits(amount), checkout: sessionId })}\n\nPay here, within a day:\n${url}`,
  }
}

function paymentsOf(config: Config) {
  const { PARLEY_STRIPE_SECRET_KEY: secretKey, PARLEY_CHECKOUT_SUCCESS_URL: successUrl } = config
  if (secretKey === undefined || successUrl === undefined) {
    throw new CliError('Payments are not configured. Set PARLEY_STRIPE_SECRET_KEY and PARLEY_CHECKOUT_SUCCESS_URL.')
  }
  const stripe = { secretKey, apiBase: config.PARLEY_STRIPE_API_BASE, hasTax: config.PARLEY_STRIPE_TAX }
  return { stripe, successUrl, cancelUrl: config.PARLEY_CHECKOUT_CANCEL_URL }
}
