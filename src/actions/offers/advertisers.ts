import { uuidv7 } from '../../platform/uuid.ts'
import type { AdvertiserStatus } from '../../rules/accounts/advertisers.ts'
import { proofIn, type Findings } from '../../rules/projects/domains.ts'
import type { Tx } from '../../store/database.ts'
import {
  insertAdvertiser,
  lockAdvertiser,
  setAdvertiserDomainProven,
  setAdvertiserStatus as setStatus,
  setTrackingTemplate as setTemplate,
  type NewAdvertiser,
} from '../../store/offers/advertisers.ts'
import type { Actor } from '../actor.ts'
import { auditAdvertiser, auditInstallation } from '../audit.ts'
import { conflict, notThere } from '../refusals.ts'

export async function createAdvertiser(
  tx: Tx,
  actor: Actor,
  advertiser: Omit<NewAdvertiser, 'id'>,
): Promise<NewAdvertiser> {
  const made = { ...advertiser, id: uuidv7() }
  await insertAdvertiser(tx, made)
  const { id, name, domain, status } = made
  await auditInstallation(tx, actor, 'advertiser.created', { subject: name, details: { id, domain, status } })
  return made
}

/** Whether anything of it is recommended. Not before its domain is verified, or an operator says that it is theirs. */
export async function setAdvertiserStatus(
  tx: Tx,
  actor: Actor,
  input: { advertiser: { id: string; name: string }; status: AdvertiserStatus; isVouched?: boolean },
): Promise<void> {
  const { advertiser, status, isVouched = false } = input
  const before = await lockAdvertiser(tx, advertiser.id)
  if (!before) throw notThere('advertiser')
  if (status === 'active' && before.domain_verified_at === null) {
    if (!isVouched) throw conflict(`${before.domain} is not verified yet, and no one has vouched for it.`)
    await setAdvertiserDomainProven(tx, advertiser.id, 'operator')
  }
  await setStatus(tx, advertiser.id, status)
  const change = { subject: advertiser.name, details: { id: advertiser.id, ...(isVouched && { isVouched }) } }
  await auditInstallation(tx, actor, `advertiser.${status}`, change)
}

/** The redirect that its links pass through from now on; null: none. */
export async function setTrackingTemplate(
  tx: Tx,
  actor: Actor,
  { advertiser, template }: { advertiser: { id: string; name: string }; template: string | null },
): Promise<void> {
  await setTemplate(tx, advertiser.id, template)
  const details = { id: advertiser.id, ...(template !== null && { template }) }
  const action = template === null ? 'advertiser.tracking_removed' : 'advertiser.tracking_set'
  await auditInstallation(tx, actor, action, { subject: advertiser.name, details })
}

interface FinishedCheck {
  advertiserId: string
  /** The token that was looked for. */
  token: string
  findings: Findings
}

/** Writes down that a check found a proof. What is verified stays so: the operator decides over who is active. */
export async function recordAdvertiserCheck(
  tx: Tx,
  actor: Actor,
  { advertiserId, token, findings }: FinishedCheck,
): Promise<void> {
  const provenBy = proofIn(findings)
  const advertiser = await lockAdvertiser(tx, advertiserId)
  if (!provenBy || !advertiser || advertiser.domain_verified_at || advertiser.domain_token !== token) return
  await setAdvertiserDomainProven(tx, advertiserId, provenBy)
  const change = { subject: advertiser.domain, details: { provenBy } }
  await auditAdvertiser(tx, actor, advertiserId, 'advertiser.domain_verified', change)
}
