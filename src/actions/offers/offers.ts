import type { Tx } from '../../store/database.ts'
import { reviewOffers as review } from '../../store/offers/offers.ts'
import type { Actor } from '../actor.ts'
import { auditInstallation } from '../audit.ts'
import { conflict } from '../refusals.ts'

interface Decision {
  ids: readonly string[]
  decision: 'approved' | 'rejected'
  /** For the advertiser. */
  reason: string | null
}

const NAMED_MAX = 20

/** What a person decided on offers that wait for one: on all of them, or on none. */
export async function reviewOffers(tx: Tx, actor: Actor, { ids, decision, reason }: Decision): Promise<void> {
  const count = await review(tx, ids, { review: decision, reason })
  if (count !== ids.length)
    throw conflict(
      `${ids.length - count} of these ids are no offers, so nothing was decided. List them with: parley offers list --review pending`,
    )
  const details = { offers: ids.length, ids: ids.slice(0, NAMED_MAX) }
  await auditInstallation(tx, actor, `offers.${decision}`, { details })
}
