import { formatCredits } from '../../rules/money.ts'
import * as wallets from '../../store/billing/wallets.ts'
import type { AdvertiserCredit } from '../../store/billing/wallets.ts'
import type { Tx } from '../../store/database.ts'
import * as clicks from '../../store/recommendations/clicks.ts'
import type { Actor } from '../actor.ts'
import { auditInstallation } from '../audit.ts'

/** False: its reference was posted before, and nothing has changed. */
export async function creditAdvertiser(
  tx: Tx,
  actor: Actor,
  { advertiser, movement }: { advertiser: { id: string; name: string }; movement: AdvertiserCredit },
): Promise<boolean> {
  if (!(await wallets.creditAdvertiser(tx, movement))) return false
  const { amount, reference, reason, kind } = movement
  const action = kind === 'topup' ? 'advertiser.topped_up' : 'advertiser.granted'
  const details = { id: advertiser.id, amount: formatCredits(amount), reference, ...(reason !== null && { reason }) }
  await auditInstallation(tx, actor, action, { subject: advertiser.name, details })
  return true
}

/** False: it was reversed before. */
export async function reverseClick(
  tx: Tx,
  actor: Actor,
  { id, reason }: { id: string; reason: string },
): Promise<boolean> {
  if (!(await clicks.reverseClick(tx, id, reason))) return false
  await auditInstallation(tx, actor, 'click.reversed', { subject: id, details: { reason } })
  return true
}
