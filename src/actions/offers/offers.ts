import type { Tx } from '../../store/database.ts'
import { lockOffers, reviewOffers as review } from '../../store/offers/offers.ts'
import { resolveReports } from '../../store/recommendations/reader-reports.ts'
import type { Actor } from '../actor.ts'
import { auditInstallation } from '../audit.ts'
import { conflict } from '../refusals.ts'

interface Decision {
  offers: readonly ReadOffer[]
  decision: 'approved' | 'rejected'
  /** For the advertiser. */
  reason: string | null
}

export interface ReadOffer {
  id: string
  /** The mark of the words that were read. Without it, the decision is on the words as they are now. */
  wordsMark: string | undefined
}

/** The log names at most this many offers. */
const NAMED_MAX = 20
const QUOTED_MAX = 5

/** Records a person's decision on offers that wait for one: on all of them, or on none. */
export async function reviewOffers(tx: Tx, actor: Actor, { offers, decision, reason }: Decision): Promise<void> {
  const ids = [...new Set(offers.map(({ id }) => id))]
  const found = await lockOffers(tx, ids)
  if (found.length !== ids.length)
    throw conflict(
      `${ids.length - found.length} of these ids are no offers, so nothing was decided. List them with: parley offers list --review pending`,
    )
  const marks = new Map(found.map(({ id, words_mark: mark }) => [id, mark]))
  const changed = offers.find(({ id, wordsMark }) => wordsMark !== undefined && wordsMark !== marks.get(id))
  if (changed)
    throw conflict(
      `The words of ${changed.id} have changed since you read them, so nothing was decided. Read them again with: parley offers show ${changed.id}`,
    )
  await review(tx, ids, { review: decision, reason })
  await resolveReports(tx, ids, decision === 'approved')
  const details = {
    offers: ids.length,
    ids: ids.slice(0, NAMED_MAX),
    headlines: found.slice(0, QUOTED_MAX).map(({ headline }) => headline),
  }
  await auditInstallation(tx, actor, `offers.${decision}`, { details })
}
